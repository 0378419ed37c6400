package window

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// Counts folds events into windows of so many events of a key: it hands over the newest of them, each time that so many
// have come (M3). It knows no time: what a window has is by the order in which the events came.
//
// An event is taken into one *part*, of as many events as divide both numbers. A window is parts put together: of
// those that are complete, what was there at some moment is kept as it adds up from each of them on, and what has come
// since adds up from there. So a part costs the same however many a window has. The sums are made of the parts, which a
// state has alone: of what is listed a sum has as much as all parts behind it, see [Program.checkSums].
type Counts struct {
	base
	shelf pane.Shelf[*tally]
	step  int64 // events in a part
	whole int   // parts in a window
}

// tally is what a key has: its pane's cells are of the part that is open, and what it owes are the events since it was
// handed over last.
type tally struct {
	pane.Pane
	seen int64 // events in all
	// parts are complete, the oldest first, and not written to. sums are of the first of them: each is what is in it
	// and in those behind it, up to the last that has one.
	parts, sums [][]aggregate.Cell
	rest        []aggregate.Cell // the others together; the part itself when it is one, nil when there is none
}

// NewCounts makes an empty fold.
func NewCounts(p *Program) *Counts {
	c := &Counts{base: newBase(p), shelf: pane.NewShelf[*tally](), step: int64(p.partOf())}
	c.whole = p.Count / int(c.step)
	return c
}

// partOf is how many events a part of a window of so many events has.
func (c *Declared) partOf() int {
	a, b := c.Count, c.CountEvery
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Add implements [fold.Folder].
func (c *Counts) Add(_ time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	f := in.Facts
	if text := c.p.calls.Check(f.Args); text != "" {
		in.Bad = &fold.BadEvent{Stage: stage, Code: expression.CodeTypeError, Text: text}
		return out, fold.Refused
	}
	hash := c.hash(f)
	slot := c.shelf.Find(hash, f.Key)
	if slot < 0 {
		if most := MaxPanes / c.whole; c.shelf.Len() >= most {
			in.Bad = &fold.BadEvent{Stage: "window", Code: "window_full", Text: fmt.Sprintf(
				"more than %d groups would be open, of %d parts each; let every be larger, or give fewer keys", most,
				c.whole)}
			return out, fold.Refused
		}
		g := pane.Pane{Gen: c.gen, Hash: hash, Key: f.Key.Compact(), Cells: c.cells()}
		slot = c.shelf.Add(&tally{Pane: g}, c.gen)
	}
	x := c.shelf.Own(slot, c.gen)
	if x.Owes == 0 {
		x.First, x.At, x.Links = in.Event.Pos, in.At.UnixNano(), nil
	}
	x.seen++
	x.Owes++
	c.owed++
	x.At, x.Last = max(x.At, in.At.UnixNano()), in.Event.Pos
	x.Links = x.Links.Join(in.Event.Links)
	c.p.calls.Add(x.Cells, x.seen, f.Args)
	if x.Owes%c.step == 0 {
		c.complete(x)
	}
	if x.Owes == int64(c.p.CountEvery) {
		out = c.emit(slot, x, out)
	}
	return out, fold.Folded
}

func (c *Counts) cells() []aggregate.Cell { return make([]aggregate.Cell, c.p.calls.Len()) }

// complete puts the open part with the others.
func (c *Counts) complete(x *tally) {
	x.parts = append(x.parts, x.Cells)
	c.grow(x, x.Cells)
	x.Cells = c.cells()
}

// grow adds what is behind the parts that are added up, of which part is now the last.
func (c *Counts) grow(x *tally, part []aggregate.Cell) {
	switch len(x.parts) - len(x.sums) {
	case 1:
		x.rest = part
	case 2:
		x.rest = aggregate.Clone(x.rest) // it was the part before
		fallthrough
	default:
		c.p.calls.Join(x.rest, part)
	}
}

// emit hands the newest events of a key over, and lets go of what no later window has.
func (c *Counts) emit(slot int32, x *tally, out []boundary.Boundary) []boundary.Boundary {
	g := x.Pane
	if g.Cells = x.rest; len(x.sums) > 0 {
		g.Cells = aggregate.Clone(x.sums[0])
		c.p.calls.Join(g.Cells, x.rest)
	}
	out = c.hand(&g, 0, 0, moodFinal, x.Owes, out)
	c.owed -= x.Owes
	x.Owes = 0
	kept := c.whole - c.p.CountEvery/int(c.step)
	if kept == 0 {
		c.shelf.Remove(slot, c.gen)
		return out
	}
	for len(x.parts) > kept {
		if len(x.sums) == 0 {
			// The first is not asked for any more: it goes at once.
			x.sums, x.rest = c.addUp(append([][]aggregate.Cell{nil}, x.parts[1:]...)), nil
		}
		x.parts[0], x.sums[0] = nil, nil
		x.parts, x.sums = x.parts[1:], x.sums[1:]
	}
	return out
}

// addUp makes of parts what they add up to from each of them on; nil stays nil.
func (c *Counts) addUp(parts [][]aggregate.Cell) [][]aggregate.Cell {
	for i := len(parts) - 2; i >= 0 && parts[i] != nil; i-- {
		sum := aggregate.Clone(parts[i])
		c.p.calls.Join(sum, parts[i+1])
		parts[i] = sum
	}
	return parts
}

// Owned implements [pane.Shelved].
func (x *tally) Owned(gen *fold.Generation) *tally {
	t := new(*x)
	t.Gen, t.Cells = gen, aggregate.Clone(x.Cells)
	t.parts = append(make([][]aggregate.Cell, 0, len(x.parts)+1), x.parts...)
	t.sums = slices.Clone(x.sums)
	if len(x.parts)-len(x.sums) > 1 {
		t.rest = aggregate.Clone(x.rest)
	}
	return t
}

// Due implements [fold.Folder]: never.
func (c *Counts) Due() (time.Time, bool) { return time.Time{}, false }

// Tick implements [fold.Folder].
func (c *Counts) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }

// End implements [fold.Folder]: what has not come is waited for, and the end of an input is no event.
func (c *Counts) End(out []boundary.Boundary) []boundary.Boundary { return out }
