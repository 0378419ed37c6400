package accumulator

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// unfolded takes an event that the fold did not take.
func (c *Core) unfolded(now time.Time, ev *boundary.Event, pulled bool, said fold.Verdict) Outcome {
	if said == fold.Full {
		return c.refuse(now, ev, pulled, &BadEvent{Stage: "window", Code: "window_full",
			Text: fmt.Sprintf("more than %d windows or %d groups would be open; are the times right?",
				window.MaxWindows, window.MaxPanes)})
	}
	if c.p.window.Late == "side" {
		if bad := c.aside(now, ev); bad != nil {
			return c.refuse(now, ev, pulled, bad)
		}
	}
	if c.p.window.Late == "dead_letter" {
		return c.refuse(now, ev, pulled, &BadEvent{Stage: "window", Code: "late_event",
			Text: "the windows of " + time.Unix(0, c.in.facts.At).UTC().Format(time.RFC3339Nano) + " have closed"})
	}
	c.receive(now, ev)
	c.mark.Counters.Filtered++
	return Outcome{Status: Filtered}
}

// LateDrops are the events that came too late for their windows and were dropped, as `late`
// says; ok is false when there are none.
func (c *Core) LateDrops() (l Lateness, ok bool) {
	w, is := c.fold.(*window.Window)
	if !is || c.p.window.Late == "side" || c.p.window.Late == "dead_letter" {
		return l, false // they are told where they went
	}
	l = w.Lateness()
	return l, l.Events > 0
}

// aside sends a late event to the input for such.
func (c *Core) aside(now time.Time, ev *boundary.Event) *BadEvent {
	v := c.in.dec.Keep(c.folding.Value) // the event itself leaves the Core, which may have only borrowed it
	b := boundary.Boundary{
		Value: v, First: ev.Pos, Last: ev.Pos, At: fold.Arrival(now, ev), Size: v.Size() + len(ev.Raw), Raw: ev.Raw,
		Origin: ev.Origin,
	}
	if c.in.lateKeys != nil {
		var bad *BadEvent
		if b.Key, bad = c.in.lateKeys.ofBoundary(v); bad != nil {
			return bad
		}
	}
	c.late = append(c.late, b)
	return nil
}

// deadLetterFailures makes dead letters of the panes that a window could not hand over.
func (c *Core) deadLetterFailures(now time.Time) {
	for _, f := range c.fold.(*window.Window).Failures() {
		c.letters = append(c.letters, checkpoint.DeadLetter{
			At: now, Accumulator: c.p.name, Stage: f.Bad.Stage, Code: f.Bad.Code, Reason: f.Bad.Text,
			Key:    string(f.Key),
			Events: f.Events, Payload: f.Value.AppendJSON(nil), Folded: true, Position: f.Last.String(),
		})
		c.mark.Counters.DeadLettered += f.Events
		c.changed = true
	}
}
