package main

import (
	"errors"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func lintCmd(t *terminal.Terminal) *cobra.Command {
	var given func([]string) []string
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
			found := graphd.Diagnostics{}
			for _, path := range paths {
				d, err := graphd.ReadDeclaration(path)
				if err != nil {
					return broken(t, err)
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
	given = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input")
	return cmd
}

// difference is what diff prints.
type difference struct {
	Changes []string `json:"changes"`
	Kept    []string `json:"kept"`
	Dropped []string `json:"dropped"`
}

func diffCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Say how two declarations differ in meaning, and what of the state an update would keep",
		Long: `Say how two declarations differ in meaning: order, comments and what is written out
although it is the default make no difference. Then, what of its state a graph
would keep and drop that goes on as B after A. The exit code is 1 when they differ.`,
		Args:                  terminal.Positional(cobra.ExactArgs(2)),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			var sides [2]*graphd.Declaration
			for i, path := range args {
				d, err := graphd.ReadDeclaration(path)
				if err != nil {
					return broken(t, err)
				}
				sides[i] = d
			}
			var d difference
			d.Changes, d.Kept, d.Dropped = sides[0].Diff(sides[1])
			if err := t.Print(d, func() error { return printDifference(t, &d) }); err != nil {
				return err
			}
			if len(d.Changes) > 0 {
				return terminal.ErrSaid
			}
			return nil
		},
	}
}

func printDifference(t *terminal.Terminal, d *difference) error {
	if len(d.Changes) == 0 {
		return t.Line("they mean the same")
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"", d.Changes}, {"an update drops the state of:", d.Dropped}, {"an update keeps the state of:", d.Kept}} {
		if len(part.lines) == 0 {
			continue
		}
		indent := ""
		if part.title != "" {
			indent = "  "
			if err := errors.Join(t.Line(""), t.Line("%s", part.title)); err != nil {
				return err
			}
		}
		for _, line := range part.lines {
			if err := t.Line("%s%s", indent, line); err != nil {
				return err
			}
		}
	}
	return nil
}
