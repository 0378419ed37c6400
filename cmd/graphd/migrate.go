package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/schema"
	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

func migrateCmd(t *terminal.Terminal) *cobra.Command {
	var c graphd.Config
	var status, dry bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store to this release's schema",
		Long: `Bring the store to this release's schema, as the daemon does at its start, without
starting one. A store that a newer release has written is refused and left as it is.

--status lists the migrations that the store has, and those that it lacks: with one
the exit code is 4. --dry-run prints the SQL that would be run, which an administrator
may run instead. Both change nothing, and a daemon may be running. A store that this
release cannot use is exit code 78, one that cannot be reached 69.`,
		Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			if status && dry {
				return terminal.Usage(cmd, errors.New("--status and --dry-run: say one of them"))
			}
			if _, err := storeSettings(cmd, t.Getenv, &c); err != nil {
				return err
			}
			if err := storeIsThere(&c); err != nil {
				return err
			}
			if status || dry {
				return schemaOf(cmd.Context(), t, c, dry)
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
	cmd.Flags().BoolVar(&status, "status", false, "list the migrations that the store has and lacks; change nothing")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the SQL of those that it lacks; change nothing")
	return cmd
}

// schemaOf tells how the store's schema stands to this release; dry prints what would be run.
func schemaOf(ctx context.Context, t *terminal.Terminal, c graphd.Config, dry bool) error {
	s, err := graphd.SchemaOf(ctx, c)
	if err != nil {
		return local(err)
	}
	view := schema.View(s)
	switch {
	case dry && s.Refused == nil:
		err = t.Print(view, func() error { return t.Document([]byte(s.Script)) })
	case !dry:
		view.Script = ""
		err = t.Print(view, func() error { return t.Table(view.Table()) })
	}
	if err != nil {
		return err
	}
	if s.Refused != nil {
		return local(s.Refused)
	}
	t.Say("%s", view.Verdict())
	if n := len(s.Missing); n > 0 && !dry {
		return terminal.Exit(terminal.ExitConflict, terminal.ErrSaid)
	}
	return nil
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
	if _, err := fillServe(cmd, getenv, c); err != nil {
		return false, err
	}
	named = c.Store != "" || cmd.Flag("data").Changed || c.Data != cmd.Flag("data").DefValue
	*c = graphd.Config{Data: c.Data, Store: c.Store}
	return named, nil
}

// fillServe fills in the flags of graphd serve, by those of [storeFlags] that cmd has, else by the environment, else by
// the file of --config.
func fillServe(cmd *cobra.Command, getenv func(string) string, c *graphd.Config) (*cobra.Command, error) {
	var log telemetry.LogConfig
	serve := &cobra.Command{}
	serveFlags(serve, c, &log)
	all := serve.Flags()
	for _, name := range []string{settings.ConfigFlag, "data", "store"} {
		if f := cmd.Flag(name); f.Changed {
			if err := all.Set(name, f.Value.String()); err != nil {
				return serve, err
			}
		}
	}
	return serve, settings.Fill(all, getenv)
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
