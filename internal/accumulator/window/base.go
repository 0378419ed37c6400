package window

import (
	"hash/maphash"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// base is what folds of all forms of windows have in common: how a pane becomes a boundary.
type base struct {
	p    *Program
	seed maphash.Seed // of the index, and seen nowhere else
	env  expression.Env

	gen  *fold.Generation // what newer generations own no snapshot holds, see package pane
	owed int64            // events that no boundary accounts for yet

	failures fold.Failures
}

func newBase(p *Program) base {
	return base{p: p, seed: maphash.MakeSeed(), gen: new(fold.Generation)}
}

// timely is what those of windows of time have beside: how far event time has come.
type timely struct {
	base
	wm watermark.Watermark
	// earlyAt is when changed panes are handed over next, in engine time; watermark.NoTime: nothing has changed.
	earlyAt int64
	astray  bool // the watermark is a wrong clock's, until the next tick

	lateness fold.Lateness
}

func newTimely(p *Program) timely {
	return timely{base: newBase(p), wm: watermark.New(p.Lateness, p.Idle), earlyAt: watermark.NoTime}
}

// hash is that of a group's key.
func (b *base) hash(f *fold.Facts) uint64 {
	if len(b.p.keys) == 0 {
		return 0
	}
	return pane.Hash(b.seed, f.Key)
}

// kept is the time before which windows are gone: those that end then or earlier.
func (w *timely) kept() int64 {
	if w.p.Late != "update" || w.wm.Mark == watermark.NoTime {
		return w.wm.Mark
	}
	return w.wm.Mark - int64(w.p.Retain)
}

// dueBesides is when the watermark or early results want a tick; false for never.
func (w *timely) dueBesides() (at int64, ok bool) {
	at, ok = w.wm.Due()
	if w.earlyAt != watermark.NoTime && (!ok || w.earlyAt < at) {
		at, ok = w.earlyAt, true
	}
	if w.astray {
		at, ok = watermark.NoTime+1, true // at once
	}
	return at, ok
}

// open is what time goes on for: what is complete, what has early results, and what a wrong clock has opened.
type open interface {
	advance(out []boundary.Boundary) []boundary.Boundary
	early(out []boundary.Boundary) []boundary.Boundary
	setBack(engine int64, out []boundary.Boundary) []boundary.Boundary
	// nextEnd is when the next is complete; false where none is open.
	nextEnd() (int64, bool)
}

// tick has time come to now for what is open.
func (w *timely) tick(now time.Time, all open, out []boundary.Boundary) []boundary.Boundary {
	engine := now.UnixNano()
	moved := w.wm.Tick(engine)
	if w.astray {
		out = all.setBack(engine, out)
	}
	if !w.p.timed {
		moved = w.wm.To(engine - int64(w.p.Lateness))
	}
	if moved {
		out = all.advance(out)
	}
	if w.earlyAt != watermark.NoTime && engine >= w.earlyAt {
		out = all.early(out)
	}
	return out
}

// Open implements [fold.Keeper].
func (b *base) Open() int64 { return b.owed }

// Failures implements [fold.Failing]: panes that could not be handed over.
func (b *base) Failures() *fold.Failures { return &b.failures }

// Partition implements [fold.Partitioned]: the stream is waited for.
func (w *timely) Partition(stream string, now time.Time) {
	if w.p.timed {
		w.wm.Part(stream, now.UnixNano())
	}
}

// hand makes a boundary of a pane of the window from start to end, if it is one of time, which accounts for so many
// events.
func (b *base) hand(g *pane.Pane, start, end int64, m mood, events int64, out []boundary.Boundary) []boundary.Boundary {
	slots := make([]boundary.Value, 0, b.p.shape.Len())
	slots = b.p.keyFields.Append(slots, g.Key)
	if b.p.Count == 0 {
		slots = append(slots, moment1970(start), moment1970(end))
	}
	slots, bad := b.appendResults(slots, g)
	if bad != nil {
		b.fail(g, start, end, m, bad, events)
		return out
	}
	v := boundary.Object(b.p.shape, b.appendMood(slots, m))
	made := boundary.Boundary{
		Value: v, First: g.First, Last: g.Last, At: time.Unix(0, g.At).UTC(), Events: events, Size: v.Size(),
		Links: g.Links,
	}
	if b.p.givesKey {
		made.Key = boundary.KeyOf(g.Key)
	}
	return append(out, made)
}

func (b *base) appendResults(slots []boundary.Value, g *pane.Pane) ([]boundary.Value, *fold.BadEvent) {
	for i, r := range b.p.results {
		v, err := b.p.calls.Eval(r, g.Cells, &b.env, b.p.outer)
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

// What a dead letter says of a pane without a result: of a window of time, and of one of so many events.
var (
	failedShape  = boundary.NewShape("key", "start", "end")
	failedCounts = boundary.NewShape("key")
)

// fail keeps a pane that has no result for a dead letter. Of an early result none is
// made: the complete one will tell.
func (b *base) fail(g *pane.Pane, start, end int64, m mood, bad *fold.BadEvent, events int64) {
	if m == moodEarly {
		return
	}
	f := fold.Failure{Bad: bad, Events: events, Last: g.Last}
	if b.p.Count > 0 {
		f.Value = boundary.Object(failedCounts, []boundary.Value{g.Key})
	} else {
		f.Value = boundary.Object(failedShape, []boundary.Value{g.Key, moment1970(start), moment1970(end)})
	}
	if b.p.givesKey {
		f.Key = boundary.KeyOf(g.Key)
	}
	b.failures.Put(f)
}

func moment1970(ns int64) boundary.Value { return boundary.Time(time.Unix(0, ns)) }
