package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// Most events of most bounded runs become a boundary each that is taken at once. It would be folded, put beside others,
// found there and cleared; all that comes of it is in the Taken already.

// Straight is [Core.Add] of an event of which a Taker has made all that there is to make, in a Core whose fold keeps
// nothing and which nobody restores, and [Core.Drain] of what it becomes. b is nil where it was filtered. ok is false,
// and nothing has been done, where that is not so. [Core.StraightGone] says what became of the boundary; until then it
// is the caller's.
func (c *Core) Straight(now time.Time, ev *boundary.Event, t *Taken) (b *boundary.Boundary, m *Mark, ok bool) {
	if c.p.folds != nil || !c.ephemeral || c.p.dates || len(c.out) > 0 || len(c.letters) > 0 || !t.whole ||
		t.bad != nil {
		return nil, nil, false
	}
	c.receive(now, ev)
	if !t.keep {
		c.mark.Counters.Filtered++
		return nil, &c.mark, true
	}
	if b = c.straight; b == nil {
		b = new(boundary.Boundary)
		c.straight = b
	}
	t.becomes(now, ev, b)
	return b, &c.mark, true
}

// becomes fills b, as an accumulator whose fold keeps nothing does.
func (t *Taken) becomes(now time.Time, ev *boundary.Event, b *boundary.Boundary) {
	b.Value, b.Key = t.value, t.key
	b.First, b.Last, b.At, b.Events = ev.Pos, ev.Pos, fold.Arrival(now, ev), 1
	b.Size = t.value.Size() + len(ev.Raw)
	b.Raw, b.Origin, b.Links = ev.Raw, ev.Origin, ev.Links
}

// Scout is a Taker that makes boundaries of events before they are folded; nil where the fold keeps something.
func (c *Core) Scout() *Taker {
	if c.p.folds != nil || c.p.dates {
		return nil
	}
	return NewTaker(c.p, c.lim, 1)
}

// Scout is the boundary that an event will be, which stays as it is, and when it happens; nil where none comes of it.
func (t *Taker) Scout(now time.Time, ev boundary.Event) (b *boundary.Boundary, at int64) {
	var taken Taken
	if t.Take(&ev, &taken); taken.Undated != nil || taken.bad != nil || !taken.keep {
		return nil, timeline.Never
	}
	b = &boundary.Boundary{}
	taken.becomes(now, &ev, b)
	return b, taken.Dated.At
}

// StraightGone says that what Straight has given was taken; with free, that nobody uses it any more.
func (c *Core) StraightGone(free bool) {
	if c.changed = false; free && !c.p.spoils {
		return
	}
	if free {
		*c.straight = spoiledBoundary()
	}
	c.straight = nil
}

// StraightStays says that what Straight has given was not taken: it is handed over with the next Drain.
func (c *Core) StraightStays() {
	if len(c.out) == cap(c.out) {
		c.grow()
	}
	c.out = append(c.out, *c.straight)
}

// One is what [Core.Drain] would hand over, where that is one boundary of a fold that keeps nothing, and nobody
// restores what this Core does; nil otherwise. It is still here: [Core.OneGone] says that it was taken.
func (c *Core) One() (*boundary.Boundary, *Mark) {
	if len(c.out) != 1 || len(c.letters) > 0 || c.p.folds != nil || !c.ephemeral {
		return nil, nil
	}
	return &c.out[0], &c.mark
}

// OneGone says that what One has given was handed over; with free, that nobody uses it any more.
func (c *Core) OneGone(free bool) {
	c.changed = false
	if !free || c.p.spoils {
		if free {
			c.out[0] = spoiledBoundary()
		}
		c.out = c.out[1:]
		return
	}
	c.out[0] = boundary.Boundary{}
	c.out = c.out[:0]
}
