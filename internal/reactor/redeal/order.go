package redeal

import (
	"cmp"
	"slices"

	"github.com/graphd/graphd/internal/reactor/form"
)

// Each shard has counted for itself what it has admitted, and the stamps of its epochs. What is compared of them is
// compared within one key, but for two things: keys are forgotten in the order of their last arrivals, and a key has
// seen what all share or has not.

// numbers are admission sequences of the new shards: those of each old shard in their order, and those of several in
// the order of engine time.
type numbers struct {
	of   []map[uint64]uint64 // by old shard
	last uint64
}

// number numbers all that waits or has arrived anew.
func (d *dealer) number() {
	type admitted struct {
		shard int
		seq   uint64
		at    int64
	}
	var all []admitted
	d.seqs.of = make([]map[uint64]uint64, len(d.old))
	for i, o := range d.old {
		at := map[uint64]int64{} // never where it is not known
		note := func(seq uint64, t int64) { at[seq] = max(t, at0(at, seq)) }
		for k := range o.keys {
			key := &o.keys[k]
			note(key.head.Arrival, key.head.At[0])
			for s := range key.slots {
				if key.slots[s].Pend != nil {
					note(key.slots[s].Since, form.Never)
				}
			}
		}
		for k := range o.queues {
			q := &o.queues[k].Queued
			note(q.Seq, form.Never)
			note(q.Since, q.At)
		}
		for k := range d.g.Inputs {
			if shard, seq, waits := d.lined(&d.g.Inputs[k]); waits && shard == i {
				note(seq, form.Never)
			}
		}
		seqs := make([]uint64, 0, len(at))
		for seq := range at {
			seqs = append(seqs, seq)
		}
		slices.Sort(seqs)
		now := int64(form.Never)
		for _, seq := range seqs {
			now = max(now, at[seq])
			all = append(all, admitted{i, seq, now})
		}
		d.seqs.of[i] = make(map[uint64]uint64, len(seqs))
	}
	slices.SortFunc(all, func(a, b admitted) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.shard, b.shard), cmp.Compare(a.seq, b.seq))
	})
	for _, a := range all {
		d.seqs.last++
		d.seqs.of[a.shard][a.seq] = d.seqs.last
	}
	for _, o := range d.old {
		d.stamps = max(d.stamps, o.meta.Stamp)
	}
	d.levels = d.findLevels()
}

func at0(at map[uint64]int64, seq uint64) int64 {
	if t, ok := at[seq]; ok {
		return t
	}
	return form.Never
}

// unseen is the version of a value that no key of a shard has seen yet.
const unseen = ^uint64(0)

// levels are the values that all keys share, in the order in which they came to be those of the graph: a key that has
// seen one has seen those before it. A key's stamp says how many it has seen.
type levels struct {
	inputs []string
	// version is, per old shard and along inputs, that of the value there.
	version [][]uint64
}

// findLevels orders the values that all share. Versions 0 and 1, of none and of a default, stay what they are.
func (d *dealer) findLevels() (l levels) {
	for _, in := range d.g.Inputs {
		if in.Global && d.newest(in.Name) != nil {
			l.inputs = append(l.inputs, in.Name)
		}
	}
	version := func(o *old, input string) uint64 {
		s := o.shared[input]
		switch {
		case s == nil:
			return 0
		case s.Pend != nil && d.taken(input):
			return unseen
		}
		return s.Version
	}
	l.inputs = slices.DeleteFunc(l.inputs, func(input string) bool {
		return !slices.ContainsFunc(d.old, func(o *old) bool { return version(o, input) > 1 })
	})
	slices.SortStableFunc(l.inputs, func(a, b string) int {
		for _, o := range d.old {
			if c := cmp.Compare(version(o, a), version(o, b)); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, o := range d.old {
		var own []uint64
		for _, input := range l.inputs {
			own = append(own, version(o, input))
		}
		l.version = append(l.version, own)
	}
	return l
}

// seen is how many of the values a key of an old shard has seen whose last epoch has this stamp.
func (l *levels) seen(shard int, stamp uint64) (n int) {
	for n < len(l.inputs) && l.version[shard][n] <= stamp {
		n++
	}
	return n
}

// of is the version of the n-th value, from 0, above base; a key that has seen n of them has the stamp after.
func (*levels) of(base uint64, n int) uint64    { return base + 2*uint64(n) + 3 }
func (*levels) stamp(base uint64, n int) uint64 { return base + 2*uint64(n) + 2 }

// top is a stamp behind all of them.
func (l *levels) top(base uint64) uint64 { return base + 2*uint64(len(l.inputs)) + 4 }
