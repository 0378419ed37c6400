package redeal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// ErrApart says that the old shards have not read the same of their sources.
var ErrApart = errors.New("the shards have not read equally far")

// apart refuses shards that do not stand at one cut.
func (d *dealer) apart() error {
	for _, in := range d.g.Inputs {
		for _, o := range d.old {
			if !Alike(d.old[0].positions(in.Name), o.positions(in.Name)) {
				return fmt.Errorf("%w: input %s", ErrApart, in.Name)
			}
		}
	}
	return nil
}

func (o *old) positions(input string) []boundary.Position {
	if a := o.accs[input]; a != nil {
		return a.Mark.Positions
	}
	return nil
}

// Alike reports whether two lists have the same positions, in whatever order.
func Alike(a, b []boundary.Position) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(p boundary.Position) bool { return !slices.Contains(b, p) })
}

// furthest is the old shard that has taken in most of an input that all share: all have, but for what was pushed and
// was lost in some of them with a process.
func (d *dealer) furthest(input string) (found *old) {
	most := int64(-1)
	for _, o := range d.old {
		n := int64(0)
		if a := o.accs[input]; a != nil {
			c := &a.Mark.Counters
			n = c.Received - c.Rejected - c.DeadLettered
		}
		if o.shared[input] != nil && n > most {
			found, most = o, n
		}
	}
	return found
}

// newest is the slot of an input that all share; nil where nothing was ever there.
func (d *dealer) newest(input string) *form.Slot {
	if o := d.furthest(input); o != nil {
		return o.shared[input]
	}
	return nil
}

// taken reports whether some old shard has cut the newest value of an input that all share.
func (d *dealer) taken(input string) bool {
	newest := d.newest(input)
	for _, o := range d.old {
		s := o.shared[input]
		if s != nil && s.Pend == nil && (newest.Pend == nil || s.At == newest.Pend.Last &&
			boundary.Equal(s.Cur, newest.Pend.Value)) {
			return true
		}
	}
	return false
}

// lined is the place in line of what waits of an input that all share, and the old shard whose place it is; ok is false
// where nothing waits, or an earlier release has not said.
func (d *dealer) lined(in *Input) (shard int, seq uint64, ok bool) {
	o := d.furthest(in.Name)
	if !in.Global || o == nil || o.shared[in.Name].Pend == nil || d.taken(in.Name) {
		return 0, 0, false
	}
	seq, ok = o.meta.Since[in.Name]
	return slices.Index(d.old, o), seq, ok
}

// places are the places in line of what waits for all keys, by input, as the new shards number them; nil for none.
func (d *dealer) places() (since map[string]uint64) {
	for k := range d.g.Inputs {
		in := &d.g.Inputs[k]
		shard, seq, ok := d.lined(in)
		if !ok {
			continue
		}
		if since == nil {
			since = make(map[string]uint64)
		}
		since[in.Name] = d.seqs.of[shard][seq]
	}
	return since
}

// dealShared gives each new shard what all keys share: the newest, taken where any old shard has taken it.
func (d *dealer) dealShared() {
	for _, in := range d.g.Inputs {
		newest := d.newest(in.Name)
		if !in.Global || newest == nil {
			continue
		}
		slot := *newest
		if slot.Pend != nil && d.taken(in.Name) {
			slot.Cur, slot.At, slot.Pend = slot.Pend.Value, slot.Pend.Last, nil
			slot.Version, slot.Given, slot.Stands = 2, true, 0 // it has a level
		}
		if slot.Version > 1 {
			for n, input := range d.levels.inputs {
				if input == in.Name {
					slot.Version = d.levels.of(d.stamps, n)
				}
			}
		}
		for _, n := range d.next {
			n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellInput, Name: in.Name,
				Data: slot.AppendShared(nil)})
		}
	}
}

// sum adds what accumulators have counted.
func sum(a, b accumulator.Counters) accumulator.Counters {
	return accumulator.Counters{Received: a.Received + b.Received, Filtered: a.Filtered + b.Filtered,
		Rejected: a.Rejected + b.Rejected, DeadLettered: a.DeadLettered + b.DeadLettered}
}
