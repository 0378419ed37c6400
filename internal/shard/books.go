package shard

import (
	"cmp"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/virtual"
)

// Totals are a shard's books at the end.
type Totals struct {
	View reactor.View
	late []accumulator.Lateness // by input; none of what drops nothing
	left []Left                 // by input
	// shared is by input what the shard has taken of it, where it is shared by all keys.
	shared []sharedInput
}

// Left is what an input holds open at the end, in events, and of that what time should have completed.
type Left struct{ Open, Overdue int64 }

// LeftOf is what input i of a graph holds open.
func LeftOf(g *virtual.Graph, i int) (l Left) {
	open, timed := g.Left(i)
	if l.Open = open; timed {
		l.Overdue = open
	}
	return l
}

// Open is what all shards hold open of input i.
func Open(all []Totals, i int) (l Left) {
	for k := range all {
		l.Open, l.Overdue = l.Open+all[k].left[i].Open, l.Overdue+all[k].left[i].Overdue
	}
	return l
}

// totals are the shard's books.
func (w *worker) totals() Totals {
	t := Totals{View: w.g.Core().Look(), late: make([]accumulator.Lateness, len(w.made)), shared: w.shared,
		left: make([]Left, len(w.made))}
	for i := range w.made {
		if l, ok := w.g.LateDrops(i); ok {
			t.late[i] = l
		}
		t.left[i] = LeftOf(w.g, i)
	}
	return t
}

// Books are those of input i as one graph would have them: the sum over the shards. What all keys share reaches each
// of them, and is consumed as soon as one epoch of any has taken it (M13).
func Books(all []Totals, i int, global bool) (b reactor.Books, late accumulator.Lateness) {
	if !global {
		for k := range all {
			add(&b, &all[k].View.Inputs[i].Books)
			late = furthest(late, all[k].late[i])
		}
		return b, late
	}
	b = all[0].View.Inputs[i].Books
	last := all[0].shared[i].boundaries
	if last == 0 {
		return b, late
	}
	taken := map[uint64]bool{}
	for k := range all {
		for _, n := range all[k].shared[i].consumed {
			taken[n] = true
		}
	}
	handed := b.Consumed + b.Conflated + b.Queued
	b.Consumed, b.Queued = int64(len(taken)), 0
	if !taken[last] {
		b.Queued = 1
	}
	b.Conflated = handed - b.Consumed - b.Queued
	return b, late
}

func add(b, o *reactor.Books) {
	b.Received += o.Received
	b.Filtered += o.Filtered
	b.Conflated += o.Conflated
	b.Rejected += o.Rejected
	b.DeadLettered += o.DeadLettered
	b.Consumed += o.Consumed
	b.Queued += o.Queued
}

// furthest sums two accounts of late events, and tells of the one that was furthest behind, the first of several.
func furthest(a, b accumulator.Lateness) accumulator.Lateness {
	if a.Events == 0 || b.Events == 0 {
		if a.Events == 0 {
			a = b
		}
		return a
	}
	behindA, behindB := a.MoverAt.Sub(a.WorstAt), b.MoverAt.Sub(b.WorstAt)
	sum := a.Events + b.Events
	if c := cmp.Or(cmp.Compare(behindA, behindB), cmp.Compare(b.Worst, a.Worst), b.WorstAt.Compare(a.WorstAt),
		cmp.Compare(b.Of, a.Of)); c < 0 {
		a = b
	}
	a.Events = sum
	return a
}
