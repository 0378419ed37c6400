package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
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
	f := cmd.Flags()
	f.StringVar(&c.Data, "data", "graphd-data", "folder of the embedded store")
	f.StringVar(&c.Store, "store", "", "postgres://USER@HOST/DATABASE or sqlite:PATH (default a SQLite file in --data)")
	return cmd
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
			"the daemon itself", what, path, flag))
	}
	return nil
}
