package main

import (
	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func lintCmd(t *terminal.Terminal) *cobra.Command {
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "lint FILE…",
		Short: "List what in declarations is valid, but hardly meant",
		Long: `List what in declarations is valid, but hardly meant: nodes that nothing comes of,
routes that are never taken, inputs that do not go together. Each finding has a
stable code; graphd explain CODE says more. The exit code is 1 when there are any, and
78 when there is a mistake in a declaration, which is listed too. A folder stands for
every declaration in and below it.`,
		Args:                  terminal.Positional(cobra.ArbitraryArgs),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			paths, err := terminal.Declarations(given(args), true)
			if err != nil {
				return err
			}
			vars, err := set()
			if err != nil {
				return err
			}
			return readAll(t, paths, vars, func(_ string, d *graphd.Declaration) graphd.Diagnostics { return d.Lint() })
		},
	}
	given, set = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input"), terminal.Vars(cmd)
	return cmd
}
