package window

import (
	"hash/maphash"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// base is what folds of all forms of windows have in common: how far event time has come, and how a pane
// becomes a boundary.
type base struct {
	p    *Program
	seed maphash.Seed // of the index, and seen nowhere else
	env  expression.Env

	gen  *fold.Generation // what newer generations own no snapshot holds, see panes
	wm   watermark.Watermark
	owed int64 // events that no boundary accounts for yet
	// earlyAt is when changed panes are handed over next, in engine time; watermark.NoTime: nothing has changed.
	earlyAt int64
	astray  bool // the watermark is a wrong clock's, until the next tick

	failures fold.Failures
	lateness fold.Lateness
}

func newBase(p *Program) base {
	return base{p: p, seed: maphash.MakeSeed(), gen: new(fold.Generation), wm: watermark.New(p.Lateness, p.Idle),
		earlyAt: watermark.NoTime}
}

// hash is that of a group's key.
func (b *base) hash(f *fold.Facts) uint64 {
	if len(b.p.keys) == 0 {
		return 0
	}
	return hashKey(b.seed, f.Key)
}

// kept is the time before which windows are gone: those that end then or earlier.
func (b *base) kept() int64 {
	if b.p.Late != "update" || b.wm.Mark == watermark.NoTime {
		return b.wm.Mark
	}
	return b.wm.Mark - int64(b.p.Retain)
}

// dueBesides is when the watermark or early results want a tick; false for never.
func (b *base) dueBesides() (at int64, ok bool) {
	at, ok = b.wm.Due()
	if b.earlyAt != watermark.NoTime && (!ok || b.earlyAt < at) {
		at, ok = b.earlyAt, true
	}
	if b.astray {
		at, ok = watermark.NoTime+1, true // at once
	}
	return at, ok
}

// Open implements [fold.Keeper].
func (b *base) Open() int64 { return b.owed }

// Failures implements [fold.Failing]: panes that could not be handed over.
func (b *base) Failures() *fold.Failures { return &b.failures }

// Partition implements [fold.Partitioned]: the stream is waited for.
func (b *base) Partition(stream string, now time.Time) {
	if b.p.timed {
		b.wm.Part(stream, now.UnixNano())
	}
}

// hand makes a boundary of a pane of the window from start to end, which accounts for so many events.
func (b *base) hand(g *pane, start, end int64, m mood, events int64, out []boundary.Boundary) []boundary.Boundary {
	slots := make([]boundary.Value, 0, b.p.shape.Len())
	slots = b.p.keyFields.Append(slots, g.key)
	slots = append(slots, moment1970(start), moment1970(end))
	slots, bad := b.appendResults(slots, g)
	if bad != nil {
		b.fail(g, start, end, m, bad, events)
		return out
	}
	v := boundary.Object(b.p.shape, b.appendMood(slots, m))
	made := boundary.Boundary{
		Value: v, First: g.first, Last: g.last, At: time.Unix(0, g.at).UTC(), Events: events, Size: v.Size(),
		Links: g.links,
	}
	if b.p.givesKey {
		made.Key = boundary.KeyOf(g.key)
	}
	return append(out, made)
}

func (b *base) appendResults(slots []boundary.Value, g *pane) ([]boundary.Value, *fold.BadEvent) {
	for i, r := range b.p.results {
		v, err := b.p.calls.Eval(r, g.cells, &b.env, b.p.outer)
		if err != nil {
			return slots, resultFault(b.p.Aggregate[i].Name, err)
		}
		slots = append(slots, v)
	}
	return slots, nil
}

func (b *base) appendMood(slots []boundary.Value, m mood) []boundary.Value {
	if b.p.Late == "update" {
		slots = append(slots, boundary.Bool(m == moodUpdate))
	}
	if b.p.Early > 0 {
		slots = append(slots, boundary.Bool(m == moodEarly))
	}
	return slots
}

// failedShape is what a dead letter says of a pane without a result.
var failedShape = boundary.NewShape("key", "start", "end")

// fail keeps a pane that has no result for a dead letter. Of an early result none is
// made: the complete one will tell.
func (b *base) fail(g *pane, start, end int64, m mood, bad *fold.BadEvent, events int64) {
	if m == moodEarly {
		return
	}
	f := fold.Failure{Bad: bad, Events: events, Last: g.last}
	f.Value = boundary.Object(failedShape, []boundary.Value{g.key, moment1970(start), moment1970(end)})
	if b.p.givesKey {
		f.Key = boundary.KeyOf(g.key)
	}
	b.failures.Put(f)
}

func moment1970(ns int64) boundary.Value { return boundary.Time(time.Unix(0, ns)) }
