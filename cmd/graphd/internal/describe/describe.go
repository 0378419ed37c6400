// Package describe is what the command line shows of graphs: a line for each, or everything about one.
package describe

import (
	"cmp"
	"fmt"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// Graphs prints graphs, a line each.
func Graphs(term *terminal.Terminal, graphs []api.GraphSummary) error {
	head := []string{"GRAPH", "HEALTH", "EPOCH", "LAST FIRED", "RECEIVED", "QUEUED", "DEAD", "REASON"}
	if term.Wide() {
		head = append(head, "REVISION", "CHECKPOINT", "FILTERED", "CONFLATED", "REJECTED", "CONSUMED",
			"SHARDS LIVE")
	}
	t := terminal.NewTable(head...).Numbers(2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14).Color(1, terminal.HealthTone)
	for i := range graphs {
		g := &graphs[i]
		n := &g.Counters
		cells := []string{g.Graph, Health(g), epochs(g), term.Ago(g.LastFiredAt),
			terminal.Number(n.Received), terminal.Number(n.Queued), terminal.Number(g.DeadLettered()),
			term.Clip(Reason(g.HealthReason), 60)}
		if term.Wide() {
			cells = append(cells, terminal.Number(g.Revision), terminal.Number(g.Durability.CheckpointEpoch),
				terminal.Number(n.Filtered), terminal.Number(n.Conflated), terminal.Number(n.Rejected),
				terminal.Number(n.Consumed), shardsLive(g))
		}
		t.Row(cells...)
	}
	return term.Table(t)
}

// epochs is the number of the last epoch; of a graph with shards, each of which has its own, their sum, and of how
// many.
func epochs(g *api.GraphSummary) string {
	if n := len(g.Shards); n > 1 {
		return fmt.Sprintf("%d in %d", g.Epoch, n)
	}
	return terminal.Number(g.Epoch)
}

// shardsWord follows on epochs in a sentence.
func shardsWord(g *api.GraphSummary) string {
	if len(g.Shards) > 1 {
		return " shards together"
	}
	return ""
}

// position is where an input's source has come to.
func position(g *api.GraphSummary, a *api.AccumulatorSummary) string {
	if len(g.Shards) > 1 && a.Position == "" && a.Counters.Received > 0 && a.Health != "socket_only" && a.From == "" {
		return "by shard, see --shard"
	}
	return terminal.Or(a.Position, "-")
}

// Health is the state and the flag beside it.
func Health(g *api.GraphSummary) string {
	if g.Paused {
		return g.Health + " (paused)"
	}
	return g.Health
}

// Reason is why a graph or an input is in its health, "-" where there is nothing to say.
func Reason(r *api.Reason) string {
	switch {
	case r == nil:
		return "-"
	case r.Detail == "":
		return r.Code
	}
	return r.Code + ": " + r.Detail
}

// Graph tells everything about one graph.
func Graph(term *terminal.Terminal, g *api.GraphSummary) error {
	if err := term.Table(overview(term, g)); err != nil {
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
			health = stopped(term, s.Stopped)
		}
		source := s.Source
		if s.From != "" {
			source += " " + s.From
		}
		accs.Row(s.Name, s.Kind, source, strategy, health, terminal.Number(s.Depth)+"/"+terminal.Number(s.Capacity),
			full,
			terminal.Number(s.Counters.Received), terminal.Number(s.Counters.DeadLettered), term.Ago(s.LastEventAt),
			term.Clip(position(g, s), 40))
	}
	outs := terminal.NewTable("OUTPUT", "FROM", "SINK", "PATH", "EMITTED", "FILTERED", "PENDING", "FAILED",
		"TROUBLE").Numbers(4, 5, 6, 7)
	for i := range g.Outputs {
		o := &g.Outputs[i]
		trouble := terminal.Or(o.Error, "-")
		if o.Stopped != nil {
			trouble = stopped(term, o.Stopped)
		}
		outs.Row(o.Name, o.From, o.Sink, o.Path, terminal.Number(o.Emitted), terminal.Number(o.Filtered),
			terminal.Number(o.Pending), terminal.Number(o.Failed), term.Clip(trouble, 60))
	}
	for _, t := range []*terminal.Table{accs, calls(term, g), outs, followers(g)} {
		if err := term.Section(t); err != nil {
			return err
		}
	}
	if len(g.Shards) < 2 {
		return nil
	}
	return Shards(term, g.Shards)
}

// followers are the graphs that follow outputs, a line each.
func followers(g *api.GraphSummary) *terminal.Table {
	t := terminal.NewTable("OUTPUT", "FOLLOWED BY", "ACCUMULATOR", "BEHIND").Numbers(3)
	for i := range g.Outputs {
		for _, f := range g.Outputs[i].Followers {
			behind := "-"
			if f.Behind != nil {
				behind = terminal.Number(*f.Behind)
			}
			t.Row(g.Outputs[i].Name, f.Graph, f.Accumulator, behind)
		}
	}
	return t
}

// calls are what nodes have called, a line for each that calls out.
func calls(term *terminal.Terminal, g *api.GraphSummary) *terminal.Table {
	t := terminal.NewTable("NODE", "CALLS OUT", "WAITING", "ANSWERED", "FAILED", "RETRIES", "REMEMBERED", "TROUBLE").
		Numbers(1, 2, 3, 4, 5, 6)
	for i := range g.Calls {
		c := &g.Calls[i]
		trouble := terminal.Or(c.Error, "-")
		if c.BreakerOpen {
			trouble = "breaker open: " + trouble
		}
		if c.AwaitedSince != nil {
			trouble = "awaited " + term.Ago(c.AwaitedSince) + "; " + trouble
		}
		t.Row(c.Node, terminal.Number(c.Out), terminal.Number(c.Waiting), terminal.Number(c.Answered),
			terminal.Number(c.Failed), terminal.Number(c.Retries), terminal.Number(c.Cached), term.Clip(trouble, 60))
	}
	return t
}

// stopped says who has stopped a part, and since when.
func stopped(term *terminal.Terminal, s *api.Stopped) string {
	text := "stopped by " + terminal.Or(s.By, "an operator")
	if s.Since.IsZero() {
		return text
	}
	return text + " at " + terminal.Moment(s.Since) + ", " + term.Ago(&s.Since)
}

// overview is what describes the graph as a whole, a fact a line.
func overview(term *terminal.Terminal, g *api.GraphSummary) *terminal.Table {
	t := terminal.NewTable("", "").Color(1, func(text string) terminal.Tone {
		if text == Health(g) {
			return terminal.HealthTone(text)
		}
		return terminal.Plain
	})
	t.Row("graph", g.Graph)
	t.Row("tenant", g.Tenant)
	if g.Description != "" {
		t.Row("description", g.Description)
	}
	addShards(t, g.Shards)
	t.Row("health", Health(g))
	if g.HealthReason != nil {
		t.Row("reason", Reason(g.HealthReason))
	}
	for i := range g.Accumulators {
		if r := g.Accumulators[i].HealthReason; r != nil {
			t.Row("trouble", "accumulator "+g.Accumulators[i].Name+": "+Reason(r))
		}
	}
	for i := range g.Outputs {
		o := &g.Outputs[i]
		if o.FailingSince != nil {
			t.Row("trouble", "output "+o.Name+" "+o.Trouble())
		}
		if o.FreshSeconds > 0 {
			t.Row("freshness", freshness(o))
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
	addTimes(t, g)
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
	t.Row("epoch", epochs(g)+shardsWord(g)+perSecond(g.EpochsPerSecond)+", last fired "+term.Ago(g.LastFiredAt))
	if g.DueAt != nil {
		t.Row("next due", g.DueAt.Format(time.RFC3339Nano))
	}
	t.Row("durability", durability(g))
	c := &g.Counters
	t.Row("events",
		fmt.Sprintf(
			"%d received = %d filtered + %d conflated + %d rejected + %d dead-lettered + %d consumed + %d queued",
			c.Received, c.Filtered, c.Conflated, c.Rejected, c.DeadLettered, c.Consumed, c.Queued))
	addCost(t, &g.Cost)
	for i := range g.Outputs {
		if promise := g.Guarantees[g.Outputs[i].Name]; promise != "" {
			t.Row("guarantee", g.Outputs[i].Name+": "+promise)
		}
	}
	return t
}

// addCost tells what the graph costs.
func addCost(t *terminal.Table, c *api.Cost) {
	if c.BusySeconds > 0 {
		busy := time.Duration(c.BusySeconds * float64(time.Second)).Round(time.Millisecond)
		t.Row("cost", fmt.Sprintf("%v busy, %d bytes of events, %d bytes stored", busy, c.EventBytes, c.StoredBytes))
	}
	if m := &c.Memory; c.MemoryBytes > 0 {
		t.Row("memory", fmt.Sprintf("about %s: keys %s, state %s, queues %s, outputs %s, letters %s, records %s",
			terminal.Bytes(c.MemoryBytes), terminal.Bytes(m.Keys), terminal.Bytes(m.State),
			terminal.Bytes(m.Queues), terminal.Bytes(m.Outputs), terminal.Bytes(m.Letters), terminal.Bytes(m.Records)))
	}
}

// addKeys tells what the graph has of keys, and its folds and tables.
func addKeys(t *terminal.Table, g *api.GraphSummary) {
	if g.Keys != nil {
		t.Row("keys", terminal.Number(g.Keys.Count)+" of "+terminal.Number(g.Keys.Max)+", "+
			terminal.Number(g.Keys.Evicted)+" evicted")
		if k := g.Keys; k.Shards > 0 && len(g.Shards) == 0 {
			row := fmt.Sprintf("%d declared, run as one", k.Shards)
			if k.AsOne != "" {
				row += ": " + k.AsOne
			}
			t.Row("shards", row)
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

// addTimes tells how far the time of events has come in inputs, by which partition that goes where there are several,
// and for which of them events have come too late.
func addTimes(t *terminal.Table, g *api.GraphSummary) {
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if w := a.Watermark; w != nil {
			text := a.Name + ": " + w.At.Format(time.RFC3339Nano)
			if w.All > 1 {
				text += fmt.Sprintf(", by %s of %d partitions", cmp.Or(w.HeldBy, "pushes"), w.All)
			}
			t.Row("watermark", text)
		}
		if a.Late > 0 {
			t.Row("late", terminal.Plural(a.Late, "event")+" for the "+a.Kind+" "+a.Name)
		}
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

func durability(g *api.GraphSummary) string {
	d, as := &g.Durability, "epoch "
	if len(g.Shards) > 1 {
		as = "the shards' epochs, together "
	}
	if d.CheckpointAgeSeconds == nil {
		return d.Mode + ", no checkpoint yet"
	}
	text := fmt.Sprintf("%s, as of %s%d, %.1fs ago", d.Mode, as, d.CheckpointEpoch, *d.CheckpointAgeSeconds)
	if d.CheckpointBytes > 0 {
		text += fmt.Sprintf(", the last wrote %d bytes", d.CheckpointBytes)
	}
	return text
}

// Missing names the daemons that have not told of what they run.
func Missing(term *terminal.Terminal, all []api.Missing) error {
	t := terminal.NewTable("NOT TOLD BY", "ADDRESS", "GRAPHS", "WHY").Numbers(2)
	for i := range all {
		m := &all[i]
		address := m.Address
		if address == "" {
			address = "-"
		}
		t.Row(m.Name, address, terminal.Number(int64(len(m.Graphs))), term.Clip(m.Code+": "+m.Detail, 100))
	}
	return term.Section(t)
}

// perSecond is how many epochs there were of late; nothing of a graph that has had none.
func perSecond(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %.3g a second", n)
}

// freshness is how an output does by its objective.
func freshness(o *api.OutputSummary) string {
	span := func(seconds float64) string { return terminal.Short(time.Duration(seconds * float64(time.Second))) }
	text := "output " + o.Name + " is to give something within " + span(o.FreshSeconds)
	switch {
	case o.AgeSeconds == nil:
		return text + "; nothing is due now"
	case o.Stale:
		return text + ", and has given nothing for " + span(*o.AgeSeconds)
	}
	return text + ", and last did " + span(*o.AgeSeconds) + " ago"
}
