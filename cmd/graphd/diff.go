package main

import (
	"context"
	"errors"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/remote"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

// difference is what diff prints.
type difference struct {
	Changes []string `json:"changes"`
	Kept    []string `json:"kept"`
	Dropped []string `json:"dropped"`
	// Missing says that there is no graph to compare with.
	Missing bool `json:"missing,omitempty"`
}

func diffCmd(t *terminal.Terminal, verbs *remote.Verbs) *cobra.Command {
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "diff [A] B",
		Short: "Say how two declarations differ in meaning, and what of the state an update would keep",
		Long: `Say how two declarations differ in meaning: order, comments and what is written out
although it is the default make no difference. Then, what of its state a graph
would keep and drop that goes on as B after A. With one file, A is the graph of
its name as the daemon runs it. --set is for B. The exit code is 1 when they differ.`,
		Args:                  terminal.Positional(cobra.MaximumNArgs(2)),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			files := given(args)
			if len(files) < 1 || len(files) > 2 {
				return terminal.Usage(cmd, errors.New("say what to compare: one file, or two"))
			}
			vars, err := set()
			if err != nil {
				return err
			}
			d, err := differ(cmd.Context(), t, verbs, files, vars)
			if err != nil {
				return err
			}
			if err := t.Print(d, func() error { return printDifference(t, d) }); err != nil {
				return err
			}
			if d.Missing || len(d.Changes) > 0 {
				return terminal.ErrSaid
			}
			return nil
		},
	}
	given, set = terminal.Files(cmd, "declaration, or - for standard input"), terminal.Vars(cmd)
	return cmd
}

// differ compares two files, or one with the graph that runs. The vars are set in the one that comes after.
func differ(ctx context.Context, t *terminal.Terminal, verbs *remote.Verbs, args []string, vars map[string]string) (
	*difference, error) {
	if len(args) == 1 {
		found, err := verbs.Against(ctx, args[0], vars)
		if err != nil {
			return nil, err
		}
		if found.Created {
			t.Say("there is no graph %s yet: apply would make it", found.Graph)
		}
		return &difference{found.Changes, found.Kept, found.Dropped, found.Created}, nil
	}
	var sides [2]*graphd.Declaration
	for i, path := range args {
		set := vars
		if i == 0 {
			set = nil
		}
		d, err := graphd.ReadDeclarationWith(path, set)
		if err != nil {
			return nil, broken(t, path, err)
		}
		sides[i] = d
	}
	var d difference
	d.Changes, d.Kept, d.Dropped = sides[0].Diff(sides[1])
	return &d, nil
}

func printDifference(t *terminal.Terminal, d *difference) error {
	if d.Missing {
		return nil
	}
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
