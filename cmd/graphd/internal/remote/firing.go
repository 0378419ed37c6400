package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/cmd/graphd/internal/whys"
	"github.com/graphd/graphd/internal/api"
)

// firing tells one epoch in full.
func (a *Verbs) firing(ctx context.Context, c *client.Client, graph string, shard int, epoch int64) error {
	f, err := c.FiringOf(ctx, graph, shard, epoch)
	if err != nil {
		return err
	}
	return a.Print(&f, func() error {
		if err := a.Table(a.why(&f)); err != nil {
			return err
		}
		for _, t := range []*terminal.Table{a.saw(&f), a.did(&f), a.gave(&f)} {
			if err := a.Section(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// why says how the epoch came about and how it ended.
func (a *Verbs) why(f *api.FiringDetail) *terminal.Table {
	t := terminal.NewTable("", "").Color(1, func(text string) terminal.Tone {
		if text == result(&f.Firing) {
			return terminal.HealthTone(text)
		}
		return terminal.Plain
	})
	t.Row("epoch", epochText(&f.Firing, f.Shard > 0))
	t.Row("result", result(&f.Firing))
	if f.Error != nil {
		t.Row("error", *f.Error)
	}
	t.Row("why", whys.Cause(f.Cause))
	if len(f.Lanes) > 0 {
		t.Row("ticks of", fmt.Sprintf("%s, %d dropped", terminal.List(f.Lanes), f.DroppedTicks))
	}
	if len(f.Key) > 0 && string(f.Key) != "null" {
		t.Row("key", a.Value(f.Key, detailWidth))
	}
	if len(f.Degraded) > 0 {
		t.Row("degraded by", terminal.List(f.Degraded))
	}
	t.Row("at", terminal.Moment(f.At)+", "+a.Ago(&f.At))
	t.Row("took", terminal.Short(time.Duration(f.DurationUS)*time.Microsecond)+overran[f.Overran])
	t.Row("incarnation", terminal.Number(f.Incarnation))
	return t
}

// saw is what the cut took and what the epoch read beside it.
func (a *Verbs) saw(f *api.FiringDetail) *terminal.Table {
	t := terminal.NewTable("SAW", "WHICH WAS", "EVENTS", "POSITION", "VALUE").Numbers(2)
	names := make(map[string]bool)
	for name := range f.Cut {
		names[name] = true
	}
	for name := range f.Inputs {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		cut := f.Cut[name]
		was, value := "cached", f.Inputs[name]
		switch _, arrived := f.Inputs[name]; {
		case cut.Taken:
			was = "new"
		case !arrived || cut.Absent:
			was, value = "absent", nil
		}
		t.Row(name, was, terminal.Number(cut.Events), a.Clip(terminal.Or(cut.Position, "-"), 40),
			a.Value(value, detailWidth))
	}
	return t
}

var overran = map[bool]string{true: ", over its budget"}

// did is what every node did.
func (a *Verbs) did(f *api.FiringDetail) *terminal.Table {
	t := terminal.NewTable("NODE", "DID", "TOOK", "VALUE").Numbers(2).Color(1, terminal.HealthTone)
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		n := f.Nodes[name]
		took := "-"
		if n.DurationUS != nil {
			took = terminal.Short(time.Duration(*n.DurationUS * float64(time.Microsecond)))
		}
		took += overran[n.Overran]
		if n.Iterations > 0 {
			took += fmt.Sprintf(", %s of its loop (%s)", terminal.Plural(n.Iterations, "iteration"), n.Ended)
		}
		text := a.nodeValue(n.Value)
		if n.Error != nil {
			text = a.Clip(*n.Error, detailWidth)
		}
		t.Row(name, n.Status, took, text)
	}
	return t
}

func (a *Verbs) nodeValue(raw json.RawMessage) string {
	if string(raw) == "null" { // also what an absent value is
		return "-"
	}
	return a.Value(raw, detailWidth)
}

// gave is what came out.
func (a *Verbs) gave(f *api.FiringDetail) *terminal.Table {
	t := terminal.NewTable("OUTPUT", "VALUE")
	for _, name := range slices.Sorted(maps.Keys(f.Outputs)) {
		t.Row(name, a.Value(f.Outputs[name], detailWidth))
	}
	return t
}
