package accumulator

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// unfolded takes an event that the fold did not take.
func (c *Core) unfolded(now time.Time, ev *boundary.Event, pulled bool, said verdict) Outcome {
	if said == verdictFull {
		return c.refuse(now, ev, pulled, &BadEvent{Stage: "window", Code: "window_full",
			Text: fmt.Sprintf("more than %d windows or %d groups would be open; are the times right?", maxWindows, maxGroups)})
	}
	if c.p.window.Late == "side" {
		if bad := c.aside(now, ev); bad != nil {
			return c.refuse(now, ev, pulled, bad)
		}
	}
	if c.p.window.Late == "dead_letter" {
		return c.refuse(now, ev, pulled, &BadEvent{Stage: "window", Code: "late_event",
			Text: "the windows of " + time.Unix(0, c.in.facts.at).UTC().Format(time.RFC3339Nano) + " have closed"})
	}
	c.receive(now, ev)
	c.mark.Counters.Filtered++
	return Outcome{Status: Filtered}
}

// aside sends a late event to the input for such.
func (c *Core) aside(now time.Time, ev *boundary.Event) *BadEvent {
	v := c.in.dec.Keep(c.folding.value) // the event itself leaves the Core, which may have only borrowed it
	b := boundary.Boundary{
		Value: v, First: ev.Pos, Last: ev.Pos, At: arrival(now, ev), Size: v.Size() + len(ev.Raw), Raw: ev.Raw, Origin: ev.Origin,
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

// bury makes dead letters of the groups that a window could not hand over.
func (c *Core) bury(now time.Time) {
	w := c.fold.(*window)
	for i := range w.failures {
		f := &w.failures[i]
		c.letters = append(c.letters, checkpoint.DeadLetter{
			At: now, Accumulator: c.p.name, Stage: f.bad.Stage, Code: f.bad.Code, Reason: f.bad.Text, Key: string(f.key),
			Events: f.group.owes, Payload: f.value.AppendJSON(nil), Folded: true, Position: f.group.last.String(),
		})
		c.mark.Counters.DeadLettered += f.group.owes
		c.changed = true
	}
	w.failures = nil
}
