package remote

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// printDeclaration prints what is deployed, byte for byte as it was sent.
func (a *Verbs) printDeclaration(ctx context.Context, c *client.Client, graph string) error {
	text, err := c.Declaration(ctx, graph)
	if err != nil {
		return err
	}
	return a.Document(text)
}

func (a *Verbs) historyCmd() *cobra.Command {
	return a.client(verb{
		use: "history GRAPH [REVISION]", short: "List what was applied of a graph, by whom and when",
		long: `List the declarations that were applied of a graph, newest first: by whom, when,
and what changed in a word. The newest 50 are kept. With a revision, print that
declaration as it was sent.`,
		check: cobra.RangeArgs(1, 2),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 2 {
				return a.printRevision(ctx, c, args[0], args[1])
			}
			all, err := c.Revisions(ctx, args[0])
			if err != nil {
				return err
			}
			return a.Print(api.Page[api.Revision]{Items: all}, func() error {
				t := terminal.NewTable("REVISION", "WHEN", "WHO", "CHANGE").Numbers(0)
				for i := range all {
					v := &all[i]
					t.Row(terminal.Number(v.Revision), v.At.Format(time.RFC3339), applier(v),
						terminal.Or(v.Change, "-"))
				}
				return a.Table(t)
			})
		},
	})
}

func (a *Verbs) printRevision(ctx context.Context, c *client.Client, graph, revision string) error {
	n, err := revisionNumber(revision)
	if err != nil {
		return err
	}
	v, err := c.Revision(ctx, graph, n)
	if err != nil {
		return err
	}
	if a.Format == terminal.FormatJSON {
		return a.Print(&v, nil)
	}
	return a.Document([]byte(v.Declaration))
}

func revisionNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, terminal.Exit(terminal.ExitUsage, fmt.Errorf("%q is no revision: 'graphd history' lists them", text))
	}
	return n, nil
}

// applier is who has applied a revision, as far as it is known: a file has nobody else.
func applier(v *api.Revision) string {
	who := terminal.Or(v.By.Token, v.By.Agent)
	if v.By.Host != "" {
		who += "@" + v.By.Host
	}
	return terminal.Or(who, v.Origin)
}

func (a *Verbs) rollbackCmd() *cobra.Command {
	var dryRun bool
	cmd := a.client(verb{
		use: "rollback GRAPH [REVISION]", short: "Apply an earlier revision of a graph again",
		long: `Apply an earlier revision of a graph again, by default the one before the present
one. It is an update as any other: the graph goes on from its checkpoint, what
changes is shown, and the result has a revision number of its own.`,
		check: cobra.RangeArgs(1, 2),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			revision := int64(0)
			if len(args) == 2 {
				n, err := revisionNumber(args[1])
				if err != nil {
					return err
				}
				revision = n
			}
			r, err := c.Rollback(ctx, args[0], revision, dryRun)
			if err != nil {
				return err
			}
			a.Say("%s: back to revision %d", args[0], r.Restored)
			t := applyTable()
			a.told(t, args[0], &r)
			if err := a.Print(&r, func() error { return a.Table(t) }); err != nil {
				return err
			}
			return troubled(args[0], &r)
		},
	})
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, but change nothing")
	return cmd
}

// Difference is what applying a declaration to the graph that runs would change.
type Difference struct {
	Graph                  string
	Created                bool
	Changes, Kept, Dropped []string
}

// Against asks the daemon how the declaration in a file differs from the graph of its name.
func (a *Verbs) Against(ctx context.Context, path string, vars map[string]string) (d Difference, err error) {
	c, err := a.dial()
	if err != nil {
		return d, err
	}
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	name, r, err := a.applyFile(ctx, c, path, &applying{vars: vars, dryRun: true})
	if err != nil {
		return d, a.explain(ctx, err)
	}
	d = Difference{Graph: name, Created: r.Created, Changes: r.Diff}
	if r.State != nil {
		d.Kept, d.Dropped = r.State.Kept, r.State.Dropped
	}
	return d, nil
}
