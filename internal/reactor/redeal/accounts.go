package redeal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/form"
)

// readPart takes in a part of a fold's state.
func (o *old) readPart(c *checkpoint.Cell) {
	input, part, _ := strings.Cut(c.Name, "/")
	if o.parts[input] == nil {
		o.parts[input] = map[string][]byte{}
	}
	o.parts[input][part] = c.Data
}

// state is the state of a fold in one piece.
func (o *old) state(input string) []byte {
	a := o.accs[input]
	if a == nil || len(a.State) == 0 || len(o.parts[input]) == 0 {
		if a == nil {
			return nil
		}
		return a.State
	}
	return fold.Join(a.State, o.parts[input])
}

// dealAccounts gives the new shards what is counted, where they go on to read, and what is folded. The first has the
// sums of what the old ones have counted; of the others each has received what is open or waits in it: so the books of
// each balance, and the sums stay.
func (d *dealer) dealAccounts() error {
	for i := range d.g.Inputs {
		in := &d.g.Inputs[i]
		if in.Global {
			d.copyAccount(in)
			continue
		}
		if err := d.dealAccount(in); err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
	}
	first := &d.next[0].meta
	first.Emitted, first.Filtered, first.Refused = map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, o := range d.old {
		first.Evicted += o.meta.Evicted
		first.Overflowed += o.meta.Overflowed
		for _, c := range [...]struct{ to, from map[string]int64 }{{first.Emitted, o.meta.Emitted},
			{first.Filtered, o.meta.Filtered}, {first.Refused, o.meta.Refused}} {
			for name, n := range c.from {
				c.to[name] += n
			}
		}
	}
	return nil
}

// books are those of a new shard's input.
func (n *next) books(input string, b form.Books) {
	if n.meta.Books == nil {
		n.meta.Books = map[string]form.Books{}
	}
	n.meta.Books[input] = b
}

// copyAccount gives every new shard the account of an input that all share, which the first counts for the graph.
func (d *dealer) copyAccount(in *Input) {
	from := d.furthest(in.Name)
	if from == nil {
		from = d.old[0]
	}
	for i, n := range d.next {
		of := from
		if i == 0 && d.old[0].accs[in.Name] != nil {
			of = d.old[0]
		}
		if b, known := of.meta.Books[in.Name]; known { // else the input is new, and the shards are to see that
			if s := of.shared[in.Name]; s != nil && s.Pend != nil && d.taken(in.Name) {
				b.Consumed += s.Pend.Events
			}
			n.books(in.Name, b)
		}
		a, state := of.accs[in.Name], from.accs[in.Name]
		if a == nil || state == nil {
			continue
		}
		own := *a
		own.State, own.Mark.Positions = state.State, state.Mark.Positions
		n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellAccount, Name: in.Name, Data: own.Append(nil, false)})
		for _, part := range slices.Sorted(maps.Keys(from.parts[in.Name])) {
			n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellPart, Name: in.Name + "/" + part,
				Data: from.parts[in.Name][part]})
		}
	}
}

// dealAccount deals an input whose events have keys.
func (d *dealer) dealAccount(in *Input) error {
	all := form.Account{}
	books := form.Books{Reasons: map[string]int64{}}
	for _, o := range d.old {
		b := o.meta.Books[in.Name]
		books.Filtered, books.Conflated = books.Filtered+b.Filtered, books.Conflated+b.Conflated
		books.DeadLettered, books.Consumed = books.DeadLettered+b.DeadLettered, books.Consumed+b.Consumed
		for code, n := range b.Reasons {
			books.Reasons[code] += n
		}
		a := o.accs[in.Name]
		if a == nil {
			continue
		}
		if all.Identity = a.Identity; a.Mark.LastEventAt.After(all.Mark.LastEventAt) {
			all.Mark.LastEventAt = a.Mark.LastEventAt
		}
		all.Mark.Counters, all.Mark.Positions = sum(all.Mark.Counters, a.Mark.Counters), a.Mark.Positions
	}
	d.next[0].books(in.Name, books)
	if all.Identity == "" {
		return nil // nothing has ever come
	}
	states, err := d.dealFold(in)
	if err != nil {
		return err
	}
	left := all.Mark.Counters.Received
	for i := range slices.Backward(d.next) {
		n := d.next[i]
		a := all
		a.Mark.Counters = accumulator.Counters{Received: n.waiting[in.Name] + n.open[in.Name], Open: n.open[in.Name]}
		if left -= a.Mark.Counters.Received; i == 0 {
			a.Mark.Counters = all.Mark.Counters
			a.Mark.Counters.Received, a.Mark.Counters.Open = left+n.waiting[in.Name]+n.open[in.Name], n.open[in.Name]
		}
		if states != nil {
			a.Mark.State = states[i]
		}
		n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellAccount, Name: in.Name, Data: a.Append(nil, false)})
		if parted, ok := a.Mark.State.(fold.Parted); ok {
			for part := range parted.Parts() {
				n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellPart, Name: in.Name + "/" + part.Name,
					Data: part.Append(nil)})
			}
		}
	}
	return nil
}

// dealFold deals what is folded; nil for an input that folds nothing.
func (d *dealer) dealFold(in *Input) ([]fold.State, error) {
	f := accumulator.NewFold(in.Program)
	dealt, ok := f.(fold.Dealt)
	if !ok {
		return nil, nil
	}
	var old []fold.State
	for _, o := range d.old {
		s, err := f.Decode(o.state(in.Name))
		if err != nil {
			return nil, fmt.Errorf("%w: shard %d: %w", reactor.ErrCorrupt, o.index, err)
		}
		old = append(old, s)
	}
	to := accumulator.NewDealer(in.Program, accumulator.Limits{})
	states := make([]fold.State, d.of)
	for i := range states {
		s, err := dealt.Deal(old, func(key boundary.Value) bool { return to.ShardOf(key, d.of) == i }, i == 0)
		if err != nil {
			return nil, err
		}
		f.Resume(s)
		states[i], d.next[i].open[in.Name] = s, f.Open()
	}
	return states, nil
}
