package main

import (
	"errors"
	"os"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/contexts"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func bootstrapCmd(t *terminal.Terminal) *cobra.Command {
	var c graphd.Config
	var out, name string
	var once, fresh bool
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Write the first token to a file, straight from the store",
		Long: `Make a platform administrator's token in the store, without a daemon, and write it to a
new file that its owner alone can read. It is refused while such a token is good:
make others with that. A SQLite store must not be in use: of a daemon that runs, ask
for the first token with graphd token create NAME --role platform-admin.

The store is that which graphd serve would open, by flags, environment and --config.
Where it was named and is not there, none is made but with --new.

From then on the daemon asks everybody for a token.`,
		Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(out); once && err == nil {
				t.Say("%s is there already: nothing was made", out)
				return nil
			}
			named, err := storeSettings(cmd, t.Getenv, &c)
			if err == nil && named && !fresh {
				err = storeIsThere(&c)
			}
			if err != nil {
				return err
			}
			err = contexts.WriteToken(out, func() (string, error) {
				return graphd.Bootstrap(cmd.Context(), c, name, "graphd token bootstrap")
			})
			if once && errors.Is(err, graphd.ErrConflict) {
				t.Say("there is a platform administrator's token already: nothing was made")
				return nil
			}
			if err != nil {
				return local(err)
			}
			t.Say("%s holds the token; keep it in a context: graphd context add NAME --server SERVER --token-file %s",
				out, out)
			return nil
		},
	}
	storeFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&fresh, "new", false, "make the store that was named, where there is none")
	f.StringVar(&out, "out", "admin.token", "new file to write it to")
	f.BoolVar(&once, "once", false, "where there is a token already, make none and end with 0, as a start script wants")
	f.StringVar(&name, "name", "admin", "what the token is called")
	return cmd
}
