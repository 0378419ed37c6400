package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// Taker does with events what is the same whatever came before them, ahead of their being folded: it decodes them,
// finds their time, asks `where`, makes what `emit` says, finds their key and what the fold looks at. What it has made
// lasts as long as anybody keeps it, but for a fold's arguments where events are not dealt: those last until the same
// Taken is used again. It belongs to one goroutine, which need not be the Core's: several may each have
// a Taker of the same program.
type Taker struct {
	d      *Dealer
	whole  bool // nothing but the folding is left to do
	shards int
	args   []boundary.Value // what is left of the memory for arguments
}

// argsAtOnce is for how many events memory for arguments is allocated: one that is kept holds on to the others.
const argsAtOnce = 64

// Taken is what a Taker has made of an event, for [Core.Taken].
type Taken struct {
	Dated Dated
	// Undated says why the time of the event cannot be used: it is for [Core.AddBad] then.
	Undated *BadEvent
	// Shard is where the event belongs, and Vouched whether it will be folded there and its time counts for all;
	// see [Dealer.Deal].
	Shard   int32
	Vouched bool

	whole, keep bool
	value       boundary.Value
	key         boundary.Key
	bad         *BadEvent
	facts       fold.Facts
	args        []boundary.Value // memory for those of facts, used again
}

// NewTaker makes a Taker of p's events, which are dealt to so many shards; 1 or less: they are not dealt.
func NewTaker(p *Program, lim Limits, shards int) *Taker {
	t := &Taker{d: NewDealer(p, lim), shards: shards}
	t.whole = !p.looksOnly || p.folds.FactsOnly
	// What is still to be looked at is not lent: it would have to be given back.
	t.d.in.lasting = !t.whole
	return t
}

// Take makes of ev what can be made of it. Where that is not all there is to do the decoded value is left in ev.
func (t *Taker) Take(ev *boundary.Event, out *Taken) {
	in := t.d.in
	out.reset(t.whole, in.p.folds != nil)
	in.loan, in.of = nil, nil
	if in.p.time != nil {
		at, bad := in.nanos(ev)
		if out.Undated = bad; bad != nil {
			ev.Value = boundary.Value{}
			return
		}
		out.Dated.At, out.Dated.Timed = at, true
	}
	if !t.whole {
		t.decode(ev, out)
		return
	}
	in.dated, in.of = out.Dated, ev
	out.value, out.keep, out.bad = in.value(ev)
	ev.Value = boundary.Value{} // it may have been lent
	if out.bad != nil || !out.keep {
		out.value = boundary.Value{}
		return
	}
	if in.p.looksOnly && in.made == nil && in.p.emitWhole == nil {
		if in.p.asides {
			out.value = in.keep(out.value)
		} else {
			out.value = boundary.Value{} // the fold looks at the facts alone
		}
	}
	out.key = in.key
	if in.p.folds != nil {
		out.facts = in.facts
		out.facts.Env, out.facts.Args = nil, t.keepArgs(in.facts.Args, out)
	}
	if t.shards > 1 {
		t.deal(out)
	}
}

// reset forgets what was made of an event before, but for the memory for arguments. The facts, which are the larger
// part, are none where nothing is folded.
func (t *Taken) reset(whole, folds bool) {
	t.Dated, t.Undated, t.Shard, t.Vouched = Dated{At: timeline.Never}, nil, 0, false
	t.whole, t.keep, t.value, t.key, t.bad = whole, false, boundary.Value{}, "", nil
	if folds {
		t.facts = fold.Facts{}
	}
}

// decode leaves the decoded value in ev, and says where it belongs. Why an event cannot be read is said by folding it.
func (t *Taker) decode(ev *boundary.Event, out *Taken) {
	if t.shards > 1 {
		shard, vouched := t.d.Deal(ev, out.Dated, nil, t.shards)
		out.Shard, out.Vouched = int32(shard), vouched
		return
	}
	if v, bad := t.d.in.decode(ev); bad == nil {
		ev.Value = v
	}
}

// deal says where the event belongs that was made last.
func (t *Taker) deal(out *Taken) {
	in := t.d.in
	if in.p.folds == nil {
		out.Shard, out.Vouched = int32(in.p.dealtBy.Shard(in.keys.bytes(), t.shards)), in.p.side
		return
	}
	out.Shard = int32(max(t.d.grouped(t.shards), 0))
	out.Vouched = t.d.vouches != nil && t.d.vouches.Vouches(&in.facts)
}

// keepArgs copies arguments into memory that lasts, or into that of out.
func (t *Taker) keepArgs(args []boundary.Value, out *Taken) []boundary.Value {
	n := len(args)
	if n == 0 {
		return nil
	}
	if t.shards <= 1 {
		out.args = append(out.args[:0], args...)
		return out.args
	}
	if len(t.args) < n {
		t.args = make([]boundary.Value, argsAtOnce*n)
	}
	kept := t.args[:n:n]
	copy(kept, args)
	t.args = t.args[n:]
	return kept
}

// At is the event's own time, if it has one.
func (t *Taken) At() (at time.Time, ok bool) {
	if !t.Dated.Timed {
		return time.Time{}, false
	}
	return time.Unix(0, t.Dated.At).UTC(), true
}

// Taken says what a Taker has made of ev, which must be the next event that is added, so that it is not made again.
// Both must be good until then.
func (c *Core) Taken(ev *boundary.Event, t *Taken) {
	if c.in.dated, c.in.of = t.Dated, ev; t.whole {
		c.in.taken = t
	}
}

// take is what a Taker has made of the present event.
func (in *intake) take() (v boundary.Value, keep bool, bad *BadEvent) {
	t := in.taken
	in.taken = nil
	if in.p.folds != nil {
		in.facts = t.facts
		in.facts.Env = &in.env
	}
	in.key = t.key
	return t.value, t.keep, t.bad
}
