package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

func migrateCmd(t *terminal.Terminal) *cobra.Command {
	var c graphd.Config
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store to this release's schema",
		Long: `Bring the store to this release's schema, as the daemon does at its start, without
starting one. A store that a newer release has written is refused and left as it is.`,
		Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := storeSettings(cmd, t.Getenv, &c); err != nil {
				return err
			}
			if err := storeIsThere(&c); err != nil {
				return err
			}
			kind, err := graphd.Migrate(cmd.Context(), c)
			if err != nil {
				return local(err)
			}
			t.Say("the %s store has this release's schema", kind)
			return nil
		},
	}
	storeFlags(cmd)
	return cmd
}

// storeFlags are those by which a command finds a store as the daemon would.
func storeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String(settings.ConfigFlag, "", "the daemon's YAML file, for data and store in it")
	f.String("data", "graphd-data", "folder of the embedded store")
	f.String("store", "", "postgres://USER@HOST/DATABASE or sqlite:PATH (default a SQLite file in --data)")
}

// storeSettings fills in where the store is that graphd serve would open: by flags, else by the environment, else
// by the file of --config. named says that one of them has named it.
func storeSettings(cmd *cobra.Command, getenv func(string) string, c *graphd.Config) (named bool, err error) {
	var log telemetry.LogConfig
	serve := &cobra.Command{}
	serveFlags(serve, c, &log)
	all := serve.Flags()
	for _, name := range []string{settings.ConfigFlag, "data", "store"} {
		if f := cmd.Flag(name); f.Changed {
			if err := all.Set(name, f.Value.String()); err != nil {
				return false, err
			}
		}
	}
	if err := settings.Fill(all, getenv); err != nil {
		return false, err
	}
	named = c.Store != "" || cmd.Flag("data").Changed || c.Data != cmd.Flag("data").DefValue
	*c = graphd.Config{Data: c.Data, Store: c.Store}
	return named, nil
}

// storeIsThere refuses to make a store where none is: a slip in a path would be one more.
func storeIsThere(c *graphd.Config) error {
	path, flag, what := c.Data, "--data", "folder"
	if c.Store != "" {
		file, sqlite := strings.CutPrefix(c.Store, "sqlite:")
		if !sqlite {
			return nil
		}
		path, flag, what = file, "--store", "file"
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return terminal.Exit(terminal.ExitNotFound, fmt.Errorf("there is no %s %s: correct %s; a new store is made by "+
			"the daemon itself, or by graphd token bootstrap --new", what, path, flag))
	}
	return nil
}
