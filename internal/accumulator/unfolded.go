package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// unfolded takes an event that the fold did not take.
func (c *Core) unfolded(now time.Time, ev *boundary.Event, pulled bool, said fold.Verdict) Outcome {
	if c.refused != nil && (said != fold.Refused || c.folding.Bad.Code == lateEvent) {
		c.noteLate(now, ev, said)
	}
	switch said {
	case fold.Refused:
		return c.refuse(now, ev, pulled, c.folding.Bad)
	case fold.Aside:
		if bad := c.aside(ev); bad != nil {
			return c.refuse(now, ev, pulled, bad)
		}
	}
	c.receive(now, ev)
	c.mark.Counters.Filtered++
	return Outcome{Status: Filtered}
}

// LateDrops are the events that came too late for the fold and were dropped; ok is false when there are none.
func (c *Core) LateDrops() (l Lateness, ok bool) {
	if f, can := c.fold.(fold.Dropping); can {
		l, ok = f.Lateness()
	}
	return l, ok && l.Events > 0
}

// Late is how many events came too late for the fold since it was made or restored, whatever became of them.
func (c *Core) Late() int64 {
	l, _ := c.LateDrops()
	return l.Events
}

// aside sends an event to the input that the kind has of its own.
func (c *Core) aside(ev *boundary.Event) *BadEvent {
	v := c.in.keep(c.folding.Value) // the event itself leaves the Core, which may have only borrowed it
	b := boundary.Boundary{
		Value: v, First: ev.Pos, Last: ev.Pos, At: c.folding.At, Size: v.Size() + len(ev.Raw), Raw: ev.Raw,
		Origin: ev.Origin, Links: ev.Links,
	}
	if c.in.ownKeys != nil {
		var bad *BadEvent
		if b.Key, bad = c.in.ownKeys.ofBoundary(v); bad != nil {
			return bad
		}
	}
	c.late = append(c.late, b)
	return nil
}

// deadLetterFailures makes dead letters of what the fold could not hand over, and counts what it has forgotten.
func (c *Core) deadLetterFailures(now time.Time) {
	if n := c.failures.Forgotten(); n > 0 {
		c.mark.Counters.Filtered += n
		c.changed = true
	}
	for _, f := range c.failures.Take() {
		c.letters = append(c.letters, checkpoint.DeadLetter{
			At: now, Accumulator: c.p.name, Stage: f.Bad.Stage, Code: f.Bad.Code, Reason: f.Bad.Text,
			Key:    string(f.Key),
			Events: f.Events, Payload: f.Value.AppendJSON(nil), Folded: true, Position: f.Last.String(),
		})
		c.mark.Counters.DeadLettered += f.Events
		c.changed = true
	}
}
