package main

import (
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
