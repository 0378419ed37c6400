package whys

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// keys lists the keys of a graph, of which why, why-not and state ask one.
func keys(t *terminal.Terminal, ask Verb) *cobra.Command {
	var q api.KeyQuery
	cmd := ask("keys GRAPH", "List the keys of a graph with keys",
		`List the keys that a graph with keys has now, those first for which something came
last, a page of them. They are looked at while the graph goes on.`, cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			if q.Limit < 1 {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("--limit %d: it must be 1 or more", q.Limit))
			}
			page, err := c.Keys(ctx, args[0], q)
			if err != nil {
				return err
			}
			return t.Print(&page, func() error { return listed(t, &page, q) })
		})
	cmd.Flags().StringVar(&q.Search, "search", "", "only keys that have this somewhere in what they are written as")
	cmd.Flags().StringVar(&q.Sort, "sort", "", "recent (the default), key, or waiting: those first that have most")
	cmd.Flags().StringVar(&q.Before, "before", "", "the page behind this cursor, which the one before it ends with")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "how many to list; at most 1000")
	return cmd
}

func listed(t *terminal.Terminal, page *api.KeyPage, q api.KeyQuery) error {
	rows := terminal.NewTable("KEY", "SHARD", "LAST", "WAITING").Numbers(1, 3)
	for i := range page.Items {
		k := &page.Items[i]
		rows.Row(t.Clip(string(k.Key), valueWidth), terminal.Number(k.Shard), terminal.Moment(k.LastArrivalAt),
			terminal.Number(k.Waiting))
	}
	if err := t.Table(rows); err != nil {
		return err
	}
	found := ""
	if page.Fitting != page.Keys {
		found = fmt.Sprintf(", %d of which fit", page.Fitting)
	}
	t.Say("%s%s", terminal.Plural(page.Keys, "key"), found)
	for _, n := range page.Unknown {
		t.Say("the keys of shard %d are not known: it does not run, or has not answered", n)
	}
	if page.Next != "" {
		with := "" // a cursor goes on in the same list
		if q.Sort != "" {
			with += " --sort " + q.Sort
		}
		if q.Search != "" {
			with += fmt.Sprintf(" --search %q", q.Search)
		}
		t.Say("more with%s --before %s", with, page.Next)
	}
	return nil
}
