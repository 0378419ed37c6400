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
stable code; graphd explain CODE says more. The exit code is 1 when there are any. A
folder stands for every declaration in and below it.`,
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
			found := graphd.Diagnostics{}
			for _, path := range paths {
				d, err := graphd.ReadDeclarationWith(path, vars)
				if err != nil {
					return broken(t, path, err)
				}
				found = append(found, d.Lint()...)
			}
			if err := t.Print(found, func() error {
				for _, m := range found {
					if err := t.Line("%s", m); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
			if len(found) > 0 {
				return terminal.ErrSaid
			}
			return nil
		},
	}
	given, set = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input"), terminal.Vars(cmd)
	return cmd
}
