package window

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/boundary"
)

// The first byte of the state of windows of so many events, and the format behind it; see [whole].
const (
	wholeCounts  = 'C'
	headedCounts = 'c'

	countsFormat = 2 // the first had what parts add up to
)

// countsHandle is an immutable handle on the groups of windows of so many events: they are shared.
type countsHandle struct {
	p    *Program
	seed maphash.Seed // of the hashes
	owed int64
	kept pane.Snapshot[*tally]
}

// State implements [fold.Keeper].
func (c *Counts) State() fold.State {
	h := &countsHandle{p: c.p, seed: c.seed, owed: c.owed, kept: c.shelf.Snapshot()}
	c.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
	return h
}

// Resume implements [fold.Keeper].
func (c *Counts) Resume(state fold.State) {
	h := state.(*countsHandle)
	c.gen, c.seed, c.owed = new(fold.Generation), h.seed, h.owed
	c.failures.Take()
	c.shelf.Adopt(&h.kept)
}

// AppendBinary implements [fold.State].
func (h *countsHandle) AppendBinary(dst []byte) []byte {
	return h.kept.AppendPages(h.kept.AppendSize(append(dst, wholeCounts, countsFormat)), h.append)
}

// AppendHead implements [fold.Parted].
func (h *countsHandle) AppendHead(dst []byte) []byte {
	return h.kept.AppendSize(append(dst, headedCounts, countsFormat))
}

// Parts implements [fold.Parted].
func (h *countsHandle) Parts() func(yield func(fold.Part) bool) { return h.kept.Parts(h.append) }

func (h *countsHandle) append(dst []byte, x *tally) []byte {
	dst = binary.AppendVarint(dst, x.seen)
	dst = binary.AppendUvarint(dst, uint64(len(x.sums)))
	dst = binary.AppendUvarint(dst, uint64(len(x.parts)))
	for _, cells := range x.parts {
		dst = h.p.calls.Append(dst, cells)
	}
	return x.Pane.Append(dst, &h.p.calls)
}

// Decode implements [fold.Keeper].
func (c *Counts) Decode(data []byte) (fold.State, error) {
	h := &countsHandle{p: c.p, seed: c.seed}
	if len(data) == 0 {
		return h, nil
	}
	r, parts, err := pane.ReadParts(data, wholeCounts, headedCounts, countsFormat)
	if err != nil {
		return nil, err
	}
	return h, h.kept.Read(r, parts, MaxPanes/c.whole, func(r *fold.Reader) *tally {
		x := c.decode(r)
		h.owed += x.Owes
		return x
	})
}

func (c *Counts) decode(r *fold.Reader) *tally {
	x := &tally{seen: r.Varint()}
	added, n := r.Uvarint(), r.Count()
	if n > uint64(c.whole) || added > n {
		r.Fail(fold.ErrForeign)
	}
	for i := 0; i < int(n) && r.Err() == nil; i++ {
		part := c.cells()
		r.Nested(func(data []byte) (rest []byte, err error) { return c.p.calls.Decode(data, part) })
		if r.Err() != nil {
			break // half a part is not to be put together with others
		}
		x.parts = append(x.parts, part)
		if i+1 == int(added) {
			x.sums = c.addUp(slices.Clone(x.parts))
		} else if i >= int(added) {
			c.grow(x, part)
		}
	}
	if x.Pane = c.readPane(r); x.Owes < 0 || x.Owes >= int64(c.p.CountEvery) {
		r.Fail(fold.ErrForeign)
	}
	return x
}

// tallyBytes is about what a group takes beside its key and its cells: itself, its slot and what finds it.
const tallyBytes = 256 + 8 + 4 + 24

// Weight implements [fold.Weighed].
func (h *countsHandle) Weight() int64 {
	return h.kept.Weigh(tallyBytes, func(x *tally) (n int64) {
		for i, cells := range x.parts {
			n += 24 + aggregate.Weight(cells)
			if i < len(x.sums)-1 { // the last is the part itself
				n += 24 + aggregate.JoinedWeight(x.sums[i])
			}
		}
		if len(x.parts)-len(x.sums) > 1 {
			n += aggregate.JoinedWeight(x.rest)
		}
		return n
	})
}

// Deal implements [fold.Dealt].
func (c *Counts) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := NewCounts(c.p)
	for _, state := range states {
		for x := range state.(*countsHandle).kept.All {
			if !mine(x.Key) {
				continue
			}
			x = new(*x)
			x.Gen, x.Hash = nil, pane.Hash(made.seed, x.Key)
			made.shelf.Add(x, made.gen)
			made.owed += x.Owes
		}
	}
	if n, most := made.shelf.Len(), MaxPanes/made.whole; n > most {
		return nil, fmt.Errorf("%w: %d groups of windows, and it may have %d", fold.ErrTooMany, n, most)
	}
	return made.State(), nil
}
