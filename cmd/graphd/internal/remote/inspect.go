package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// How much of a value a line shows; -o json shows all of it.
const (
	listWidth   = 60
	detailWidth = 120
)

func (a *Verbs) stateCmd() *cobra.Command {
	var key, row string
	var shard func() *int
	cmd := a.client(verb{
		use: "state GRAPH", short: "Show what a graph's inputs and nodes hold now", check: cobra.ExactArgs(1),
		long: `Show what a graph's inputs and nodes hold now; of a graph with keys, for --key. Of
one that is dealt to shards --shard shows what waits in one of them.`,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if row != "" {
				return a.row(ctx, c, args[0], row)
			}
			var s api.State
			var err error
			if n := shard(); n != nil {
				s, err = c.ShardState(ctx, args[0], *n)
			} else {
				s, err = c.State(ctx, args[0], key)
			}
			if err != nil {
				return err
			}
			return a.Print(&s, func() error { return a.state(&s) })
		},
	})
	cmd.Flags().StringVar(&key, "key", "", "the key to look at, JSON or plain text")
	cmd.Flags().StringVar(&row, "row", "", "only this row of a table, `TABLE=KEY`; the key is JSON or plain text")
	shard = shardFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("key", "row", "shard")
	return cmd
}

// row shows one row of a table.
func (a *Verbs) row(ctx context.Context, c *client.Client, graph, of string) error {
	table, key, ok := strings.Cut(of, "=")
	if !ok || table == "" || key == "" {
		return terminal.Exit(terminal.ExitUsage, fmt.Errorf("--row %q: it is TABLE=KEY, as in merchants=m1", of))
	}
	r, err := c.Row(ctx, graph, table, key)
	if err != nil {
		return err
	}
	return a.Print(&r, func() error {
		rows := terminal.NewTable("TABLE", "KEY", "ROW")
		rows.Row(table, string(r.Key), a.Value(r.Value, detailWidth))
		if !r.Found {
			a.Say("%s has no row of this key, and %s in all", table, terminal.Plural(r.Rows, "row"))
		}
		return a.Table(rows)
	})
}

func (a *Verbs) state(s *api.State) error {
	paused := ""
	if s.Paused {
		paused = ", paused"
	}
	if err := a.Line("as of epoch %d%s", s.Epoch, paused); err != nil {
		return err
	}
	inputs := terminal.NewTable("INPUT", "DIRTY", "QUEUED", "VALUE").Numbers(2)
	names := make(map[string]bool)
	for name := range s.Cache {
		names[name] = true
	}
	for name := range s.Dirty { // an input without a value yet is only here
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		inputs.Row(name, terminal.YesNo(s.Dirty[name]), terminal.Number(s.Queues[name]),
			a.Value(s.Cache[name], detailWidth))
	}
	nodes := terminal.NewTable("NODE", "VALUE")
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		nodes.Row(name, a.Value(s.Nodes[name], detailWidth))
	}
	for _, t := range []*terminal.Table{inputs, nodes} {
		if err := a.Section(t); err != nil {
			return err
		}
	}
	if len(s.Shards) == 0 {
		return nil
	}
	return describe.Shards(a.Terminal, s.Shards)
}

// pageFlags adds what every list has.
func pageFlags(cmd *cobra.Command, q *api.Query) {
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "how many to list, newest first; at most 1000")
	cmd.Flags().StringVar(&q.Before, "before", "", "go on where an earlier list ended")
}

// checkPage refuses a page of nothing.
func checkPage(q *api.Query) error {
	if q.Limit < 1 {
		return terminal.Exit(terminal.ExitUsage, fmt.Errorf("--limit %d: it must be 1 or more", q.Limit))
	}
	return nil
}

// more says how to see the rest of a list.
func (a *Verbs) more(next string) {
	if next != "" {
		a.Say("more with --before %s", next)
	}
}

func (a *Verbs) firingsCmd() *cobra.Command {
	var q api.Query
	var shard func() *int
	cmd := a.client(verb{
		use: "firings GRAPH [EPOCH]", short: "List what fired, or tell one epoch in full",
		long: `List what fired, newest first. With an EPOCH, tell why it fired, what it saw,
what every node did, and what came out. Shards count their own epochs: 2/17 is
epoch 17 of shard 2.`,
		check: cobra.RangeArgs(1, 2),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			q.Shard = shard()
			if len(args) == 2 {
				of, epoch, ok := parseEpoch(args[1])
				if !ok {
					return terminal.Exit(terminal.ExitUsage, fmt.Errorf("%q is not the number of an epoch", args[1]))
				}
				if q.Shard != nil && !strings.Contains(args[1], "/") {
					of = *q.Shard
				}
				return a.firing(ctx, c, args[0], of, epoch)
			}
			if err := checkPage(&q); err != nil {
				return err
			}
			page, err := c.Firings(ctx, args[0], q)
			if err != nil {
				return err
			}
			return a.Print(&page, func() error { return a.firings(&page) })
		},
	})
	pageFlags(cmd, &q)
	cmd.Flags().StringVar(&q.Key, "key", "", "only this key, JSON or plain text")
	shard = shardFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("key", "shard")
	return cmd
}

// parseEpoch reads "17", or "2/17" of shard 2.
func parseEpoch(text string) (shard int, epoch int64, ok bool) {
	of, number, dealt := strings.Cut(text, "/")
	if !dealt {
		of, number = "0", text
	}
	shard, err := strconv.Atoi(of)
	if err == nil {
		epoch, err = strconv.ParseInt(number, 10, 64)
	}
	return shard, epoch, err == nil && shard >= 0 && epoch >= 1
}

// epochText is an epoch as parseEpoch reads it, where it stands among those of several shards.
func epochText(f *api.Firing, dealt bool) string {
	if !dealt {
		return terminal.Number(f.Epoch)
	}
	return fmt.Sprintf("%d/%d", f.Shard, f.Epoch)
}

func (a *Verbs) firings(page *api.Page[api.Firing]) error {
	if len(page.Items) == 0 {
		a.Say("no epochs yet")
		return nil
	}
	t := terminal.NewTable("EPOCH", "AT", "CAUSE", "KEY", "RESULT", "TOOK", "OUTPUTS").Numbers(0, 5).Color(4,
		terminal.HealthTone)
	dealt := slices.ContainsFunc(page.Items, func(f api.Firing) bool { return f.Shard > 0 })
	for i := range page.Items {
		f := &page.Items[i]
		t.Row(epochText(f, dealt), terminal.Moment(f.At), f.Cause, a.keyText(f), result(f),
			terminal.Short(time.Duration(f.DurationUS)*time.Microsecond), a.outputsText(f))
	}
	if err := a.Table(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}

func (a *Verbs) keyText(f *api.Firing) string {
	if len(f.Key) == 0 || string(f.Key) == "null" {
		return "-"
	}
	return a.Value(f.Key, listWidth/2)
}

func result(f *api.Firing) string {
	switch {
	case !f.OK:
		return "FAILED"
	case len(f.Degraded) > 0:
		return "degraded"
	}
	return "ok"
}

// outputsText is what came out, or why nothing did.
func (a *Verbs) outputsText(f *api.Firing) string {
	if f.Error != nil {
		return a.Clip(*f.Error, listWidth)
	}
	if len(f.Outputs) == 0 {
		return "-"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.Outputs)) {
		parts = append(parts, name+" "+a.Value(f.Outputs[name], listWidth))
	}
	return a.Clip(strings.Join(parts, "  "), listWidth)
}
