package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

func (a *Verbs) getCmd() *cobra.Command {
	return a.client(verb{
		use: "get [GRAPH]", short: "List graphs, or one of them", check: cobra.MaximumNArgs(1), watch: true,
		long: `List graphs, or one of them. get GRAPH -o yaml prints the graph's declaration, byte
for byte as it was applied; what is told of the graph is that of describe, and of
get GRAPH -o json.`,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 1 && a.Format == terminal.FormatYAML {
				return a.printDeclaration(ctx, c, args[0])
			}
			if len(args) == 1 {
				g, err := c.Graph(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printGraph(&g)
			}
			graphs, err := c.Graphs(ctx)
			if err != nil {
				return err
			}
			return a.Print(api.Page[api.GraphSummary]{Items: graphs}, func() error {
				if len(graphs) == 0 {
					a.Say("no graphs yet: graphd apply -f FILE")
					return nil
				}
				return a.Table(a.graphTable(graphs))
			})
		},
	})
}

// printGraph prints one graph as a line, or in full as JSON or YAML.
func (a *Verbs) printGraph(g *api.GraphSummary) error {
	return a.Print(g, func() error { return a.Table(a.graphTable([]api.GraphSummary{*g})) })
}

func (a *Verbs) graphTable(graphs []api.GraphSummary) *terminal.Table {
	head := []string{"GRAPH", "HEALTH", "EPOCH", "LAST FIRED", "RECEIVED", "QUEUED", "DEAD", "REASON"}
	if a.Wide() {
		head = append(head, "REVISION", "CHECKPOINT", "FILTERED", "CONFLATED", "REJECTED", "CONSUMED")
	}
	t := terminal.NewTable(head...).Numbers(2, 4, 5, 6, 8, 9, 10, 11, 12, 13).Color(1, terminal.HealthTone)
	for i := range graphs {
		g := &graphs[i]
		n := &g.Counters
		cells := []string{g.Graph, healthWord(g), terminal.Number(g.Epoch), a.Ago(g.LastFiredAt),
			terminal.Number(n.Received), terminal.Number(n.Queued), terminal.Number(g.DeadLettered()),
			a.Clip(reasonText(g.HealthReason), 60)}
		if a.Wide() {
			cells = append(cells, terminal.Number(g.Revision), terminal.Number(g.Durability.CheckpointEpoch),
				terminal.Number(n.Filtered), terminal.Number(n.Conflated), terminal.Number(n.Rejected),
				terminal.Number(n.Consumed))
		}
		t.Row(cells...)
	}
	return t
}

// healthWord is the state and the flag beside it.
func healthWord(g *api.GraphSummary) string {
	if g.Paused {
		return g.Health + " (paused)"
	}
	return g.Health
}

func reasonText(r *api.Reason) string {
	switch {
	case r == nil:
		return "-"
	case r.Detail == "":
		return r.Code
	}
	return r.Code + ": " + r.Detail
}

func (a *Verbs) describeCmd() *cobra.Command {
	return a.client(verb{
		use: "describe GRAPH", short: "Tell everything about a graph", check: cobra.ExactArgs(1), watch: true,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			g, err := c.Graph(ctx, args[0])
			if err != nil {
				return err
			}
			return a.Print(&g, func() error { return a.describe(&g) })
		},
	})
}

func (a *Verbs) describe(g *api.GraphSummary) error {
	if err := a.Table(a.overview(g)); err != nil {
		return err
	}
	accs := terminal.NewTable("ACCUMULATOR", "KIND", "SOURCE", "STRATEGY", "HEALTH", "QUEUE", "FULL IN", "RECEIVED",
		"DEAD", "LAST EVENT", "POSITION").
		Numbers(7, 8).Color(4, terminal.HealthTone)
	for i := range g.Accumulators {
		s := &g.Accumulators[i]
		strategy := s.Strategy
		switch {
		case !s.Triggers:
			strategy += ", passive"
		case strategy == "latest":
			strategy += ", may conflate"
		}
		full := "-"
		if s.SecondsToFull != nil {
			full = fmt.Sprintf("%.0fs", *s.SecondsToFull)
		}
		health := s.Health
		if s.Stopped != nil {
			health = a.stopped(s.Stopped)
		}
		source := s.Source
		if s.From != "" {
			source += " " + s.From
		}
		accs.Row(s.Name, s.Kind, source, strategy, health, terminal.Number(s.Depth)+"/"+terminal.Number(s.Capacity),
			full,
			terminal.Number(s.Counters.Received), terminal.Number(s.Counters.DeadLettered), a.Ago(s.LastEventAt),
			a.Clip(terminal.Or(s.Position, "-"), 40))
	}
	outs := terminal.NewTable("OUTPUT", "FROM", "SINK", "PATH", "EMITTED", "FILTERED", "PENDING", "FAILED",
		"TROUBLE").Numbers(4, 5, 6, 7)
	for i := range g.Outputs {
		o := &g.Outputs[i]
		trouble := terminal.Or(o.Error, "-")
		if o.Stopped != nil {
			trouble = a.stopped(o.Stopped)
		}
		outs.Row(o.Name, o.From, o.Sink, o.Path, terminal.Number(o.Emitted), terminal.Number(o.Filtered),
			terminal.Number(o.Pending), terminal.Number(o.Failed), a.Clip(trouble, 60))
	}
	for _, t := range []*terminal.Table{accs, outs} {
		if err := a.Section(t); err != nil {
			return err
		}
	}
	return nil
}

// stopped says who has stopped a part, and since when.
func (a *Verbs) stopped(s *api.Stopped) string {
	text := "stopped by " + terminal.Or(s.By, "an operator")
	if s.Since.IsZero() {
		return text
	}
	return text + " at " + terminal.Moment(s.Since) + ", " + a.Ago(&s.Since)
}

// overview is what describes the graph as a whole, a fact a line.
func (a *Verbs) overview(g *api.GraphSummary) *terminal.Table {
	t := terminal.NewTable("", "").Color(1, func(text string) terminal.Tone {
		if text == healthWord(g) {
			return terminal.HealthTone(text)
		}
		return terminal.Plain
	})
	t.Row("graph", g.Graph)
	t.Row("tenant", g.Tenant)
	if g.Description != "" {
		t.Row("description", g.Description)
	}
	t.Row("health", healthWord(g))
	if g.HealthReason != nil {
		t.Row("reason", reasonText(g.HealthReason))
	}
	for i := range g.Accumulators {
		if r := g.Accumulators[i].HealthReason; r != nil {
			t.Row("trouble", "accumulator "+g.Accumulators[i].Name+": "+reasonText(r))
		}
	}
	for i := range g.Outputs {
		if o := &g.Outputs[i]; o.FailingSince != nil {
			t.Row("trouble", "output "+o.Name+" "+o.Trouble())
		}
	}
	if g.Paused && g.PausedBy != "" {
		t.Row("paused by", g.PausedBy)
	}
	if len(g.Degraded) > 0 {
		t.Row("degraded", terminal.List(g.Degraded))
	}
	if len(g.WaitingFor) > 0 {
		t.Row("waiting for", terminal.List(g.WaitingFor))
	}
	addKeys(t, g)
	addVersions(t, g)
	t.Row("revision", terminal.Number(g.Revision))
	if u := g.Update; u != nil && !u.OK {
		t.Row("not updated", u.At.Format(time.RFC3339)+" from "+u.Origin+": "+u.Detail)
	}
	t.Row("instance", g.Instance+", incarnation "+terminal.Number(g.Incarnation))
	if g.Clock != "" {
		t.Row("clock", clock(g))
		if g.ClockBy != "" {
			t.Row("clock by", g.ClockBy)
		}
	}
	t.Row("epoch", terminal.Number(g.Epoch)+", last fired "+a.Ago(g.LastFiredAt))
	if g.DueAt != nil {
		t.Row("next due", g.DueAt.Format(time.RFC3339Nano))
	}
	t.Row("durability", durability(&g.Durability))
	c := &g.Counters
	t.Row("events",
		fmt.Sprintf(
			"%d received = %d filtered + %d conflated + %d rejected + %d dead-lettered + %d consumed + %d queued",
			c.Received, c.Filtered, c.Conflated, c.Rejected, c.DeadLettered, c.Consumed, c.Queued))
	if cost := &g.Cost; cost.BusySeconds > 0 {
		busy := time.Duration(cost.BusySeconds * float64(time.Second)).Round(time.Millisecond)
		t.Row("cost", fmt.Sprintf("%v busy, %d bytes of events, %d bytes stored", busy, cost.EventBytes,
			cost.StoredBytes))
	}
	for i := range g.Outputs {
		if promise := g.Guarantees[g.Outputs[i].Name]; promise != "" {
			t.Row("guarantee", g.Outputs[i].Name+": "+promise)
		}
	}
	return t
}

// addKeys tells what the graph has of keys, and its folds and tables.
func addKeys(t *terminal.Table, g *api.GraphSummary) {
	if g.Keys != nil {
		t.Row("keys", terminal.Number(g.Keys.Count)+" of "+terminal.Number(g.Keys.Max)+", "+
			terminal.Number(g.Keys.Evicted)+" evicted")
		if k := g.Keys; k.Shards > 0 {
			t.Row("shards", fmt.Sprintf("%d declared, live %d for now", k.Shards, k.ShardsRunning))
		}
		if k := g.Keys; k.Waiting > 0 || k.Overflowed > 0 {
			t.Row("waiting in keys", fmt.Sprintf("%d boundaries, %d of %d bytes, %d overflowed",
				k.Waiting, k.WaitingBytes, k.MaxWaitingBytes, k.Overflowed))
		}
	}
	for i := range g.Accumulators {
		if k := g.Accumulators[i].Keys; k != nil {
			t.Row("keys of "+g.Accumulators[i].Name, terminal.Number(k.Count)+" of "+terminal.Number(k.Max)+", "+
				terminal.Number(k.Evicted)+" evicted")
		}
	}
}

// addVersions tells what tables keep of what they were.
func addVersions(t *terminal.Table, g *api.GraphSummary) {
	for i := range g.Accumulators {
		v := g.Accumulators[i].Versions
		if v == nil {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d, some %d bytes", g.Accumulators[i].Name, v.Count, v.Max, v.Bytes)
		if v.Since != nil {
			text += ", since " + v.Since.Format(time.RFC3339Nano)
		}
		t.Row("versions", text)
	}
}

// clock is what the graph's time goes by, and where it is.
func clock(g *api.GraphSummary) string {
	text := g.Clock
	switch {
	case g.EngineTime != nil:
		text += ", at " + g.EngineTime.Format(time.RFC3339Nano)
	case g.Clock == "event":
		text += ", not begun"
	}
	if g.HeldBackBy != "" {
		text += ", held back by " + g.HeldBackBy
	}
	return text
}

func durability(d *api.DurabilityStatus) string {
	if d.CheckpointAgeSeconds == nil {
		return d.Mode + ", no checkpoint yet"
	}
	return fmt.Sprintf("%s, as of epoch %d, %.1fs ago", d.Mode, d.CheckpointEpoch, *d.CheckpointAgeSeconds)
}

func (a *Verbs) deleteCmd() *cobra.Command {
	var state string
	cmd := a.client(verb{
		use: "delete GRAPH --state keep|delete", short: "Stop and remove a graph",
		long: `Stop and remove a graph. What becomes of its state must be said: with
--state keep it is found again when a graph of that name is applied, with
--state delete it is gone.`,
		check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if state != "keep" && state != "delete" {
				return terminal.Exit(terminal.ExitUsage,
					fmt.Errorf("say what becomes of the state of %s: --state keep or --state delete", args[0]))
			}
			if err := c.Delete(ctx, args[0], state == "delete"); err != nil {
				return err
			}
			a.Say("graph %s removed, its state %s", args[0], map[string]string{
				"keep": "kept", "delete": "deleted",
			}[state])
			return nil
		},
	})
	cmd.Flags().StringVar(&state, "state", "", "what becomes of the graph's state: keep or delete")
	choices(cmd, "state", "keep", "delete")
	return cmd
}
