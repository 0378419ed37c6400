package pump

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/pump/share"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/timeline"
)

// QueueFull is the code of an event of a push that its shard had no room for, while a later one of the same push was
// taken by another.
const QueueFull = "queue_full"

// fate is what becomes of the push's n-th event here.
func (p *Push) fate(n int) (f fold.Fate) {
	if p.fates != nil {
		f = p.fates[n]
	}
	return f
}

// own is how many of the events that are not handed over would be folded here.
func (p *Push) own() (n int64) {
	for k := p.done; k < len(p.events); k++ {
		if !p.fate(k).Elsewhere {
			n++
		}
	}
	return n
}

// Deal is how the pushes to one input are dealt to the shards of its graph, each of which has a mailbox. Safe for
// concurrent use.
type Deal struct {
	boxes   []*Mailbox // by shard
	all     bool       // every shard hears of every event: engine time is the events', or a fold goes by their times
	dealers sync.Pool
}

// NewDeal makes a Deal over the shards' mailboxes of an input. dealer makes what finds the shards of events; nil: what
// the input has is for all keys. byEvents says that engine time is that of the events.
func NewDeal(boxes []*Mailbox, dealer func() *accumulator.Dealer, byEvents bool) *Deal {
	d := &Deal{boxes: boxes}
	if dealer != nil {
		d.all = byEvents || dealer().Vouching() != nil
		d.dealers.New = func() any { return dealer() }
	}
	return d
}

// Reach says which shards a push goes to from here. The zero value is all of them, which run here.
type Reach struct {
	// Only says of a shard that the push is for it; nil: it is for all.
	Only func(shard int) bool
	// Away are the members that have the shards which do not run here.
	Away []Away
}

// Away are shards that run at another member.
type Away struct {
	Shards []int
	// Submit is [Mailbox.Submit] there, of events that are as they came. An error that is none of Mailbox's is told
	// to whoever pushes.
	Submit func(ctx context.Context, events []boundary.Event) (Wait, error)
}

// Wait waits for what became of a push; it is called once.
type Wait = func(ctx context.Context) (PushOutcome, error)

// AwayError is [share.AwayError].
type AwayError = share.AwayError

// Refuse counts a push that is not looked at as rejected, by the shards that it is for.
func (d *Deal) Refuse(events []boundary.Event, to *Reach) {
	for _, p := range d.parts(events, to) {
		n := 0
		for k := range p.events {
			if d.dealers.New != nil && !p.fates[k].Elsewhere || d.dealers.New == nil && p.shard == 0 {
				n++ // what the input has for all keys is the first shard's to count
			}
		}
		if p.away == nil && n > 0 {
			d.boxes[p.shard].Reject(n)
		}
	}
}

// Submit is [Mailbox.Submit] to all shards that are concerned: it waits until each has room, or ctx is done. wait,
// called once, waits for the one outcome. Where that says Full, events among the leading ones that their own shards had
// no room for are Rejected as [QueueFull]; after them no shard has taken any. A push with a key of which a shard does
// not run is not taken: it is to come again when idle is closed.
func (d *Deal) Submit(ctx context.Context, events []boundary.Event, to *Reach) (wait Wait, idle <-chan struct{}) {
	parts := d.parts(events, to)
	if err := d.claim(ctx, parts); err != nil {
		if no, is := errors.AsType[*pushkey.Idle](err); is {
			return nil, no.Changed
		}
		return func(context.Context) (PushOutcome, error) { return PushOutcome{Full: ctx.Err() != nil}, err }, nil
	}
	// At one time: a shard that has no room keeps the others from nothing.
	d.each(parts, func(p *part) {
		if p.away != nil {
			p.wait, p.err = p.away.Submit(ctx, p.events)
			return
		}
		n := min(p.claim.Done(), len(p.events))
		push, err := d.boxes[p.shard].submit(ctx, p.events[n:], p.fates[min(n, len(p.fates)):], p.claim)
		if p.err = err; err == nil {
			p.wait = push.Wait
		}
	})
	return func(ctx context.Context) (PushOutcome, error) {
		for i := range parts {
			if p := &parts[i]; p.wait != nil {
				p.out, p.err = p.wait(ctx)
			}
			parts[i].claim.Release(&parts[i].out)
		}
		if d.dealers.New == nil {
			return shared(parts)
		}
		return join(parts, len(events))
	}, nil
}

// shared is the outcome where all have the same: that of the least shard counts, wherever it is. Where another one,
// here or at another member, has not taken what that one has, none of it is: it is to be pushed again.
func shared(parts []part) (out PushOutcome, err error) {
	counts := slices.MinFunc(parts, func(a, b part) int { return cmp.Compare(a.least(), b.least()) })
	out, err = counts.out, counts.err
	for i := range parts {
		p := &parts[i]
		if err != nil || p.err == nil && !p.out.Lacks(&counts.out, QueueFull) {
			continue
		}
		err = p.err
		code, why := p.left()
		again := PushOutcome{Taken: out.Taken, Full: true, RejectedCount: out.Taken, Tickets: out.Tickets}
		for k := range min(out.Taken, pushkey.MaxRejections) {
			again.Rejected = append(again.Rejected, Rejection{Index: k, Code: code,
				Detail: why + "; other shards have taken it"})
		}
		out = again
	}
	return out, err
}

// each does something for everyone that a push concerns, and returns when it is done for all.
func (d *Deal) each(parts []part, do func(p *part)) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for i := range parts {
		if p := &parts[i]; len(p.events) > 0 {
			wait.Go(func() { do(p) })
		}
	}
}

// part is what one shard, or one other member, hears of a push, and what it has said.
type part struct {
	shard  int
	away   *Away // nil of a shard that runs here
	events []boundary.Event
	fates  []fold.Fate
	index  []int // in the push
	claim  *pushkey.Claim
	wait   Wait // for what is on its way; nil where there is nothing, or it was refused
	out    PushOutcome
	err    error
}

// left is why an event of a part was not taken, while later ones of the push were by others: a code and words.
func (p *part) left() (code, why string) {
	const again = ", and events after it were taken by others; push it again"
	away, isAway := errors.AsType[*AwayError](p.err)
	switch {
	case isAway:
		return away.Code, away.Detail
	case errors.Is(p.err, ErrElsewhere):
		return "owner_moved", "the shard of its key has just moved to another daemon, or is about to" + again
	case errors.Is(p.err, ErrClosed):
		return "graph_stopping", "the graph is being stopped" + again
	case errors.Is(p.err, ErrStopped):
		return "input_stopped", "an operator has stopped the input" + again + " when that is undone"
	case errors.Is(p.err, ErrAnew):
		return "graph_restarted", "the shard of its key was taken anew from what was durable" + again
	}
	return QueueFull, "the shard of its key had no room in time" + again
}

// least is the least of the shards that it is.
func (p *part) least() int {
	if p.away != nil {
		return slices.Min(p.away.Shards)
	}
	return p.shard
}

func (p *part) add(k int, ev *boundary.Event, f fold.Fate) {
	p.events, p.fates, p.index = append(p.events, *ev), append(p.fates, f), append(p.index, k)
}

// destinations are who can be concerned by a push, and which of them a shard's events go to; -1: to nobody from here.
func (d *Deal) destinations(to *Reach) (parts []part, of []int) {
	of = slices.Repeat([]int{-1}, len(d.boxes))
	for i := range to.Away {
		parts = append(parts, part{away: &to.Away[i]})
		for _, s := range to.Away[i].Shards {
			of[s] = i
		}
	}
	for s := range of {
		if of[s] < 0 && (to.Only == nil || to.Only(s)) {
			of[s] = len(parts)
			parts = append(parts, part{shard: s})
		}
	}
	return parts, of
}

// parts deals a push. The decoded values are left in the events.
func (d *Deal) parts(events []boundary.Event, to *Reach) []part {
	parts, dest := d.destinations(to)
	if d.dealers.New == nil {
		for i := range parts {
			parts[i].events = slices.Clone(events)
		}
		return parts
	}
	dealer, _ := d.dealers.Get().(*accumulator.Dealer)
	deal := share.With(&Share{Of: len(d.boxes), Dealer: func() *accumulator.Dealer {
		return d.dealers.New().(*accumulator.Dealer)
	}}, dealer)
	for k := range events {
		var f fold.Fate
		shard, _ := deal.Deal(&events[k], accumulator.Dated{At: timeline.Never}, nil, &f)
		of := dest[shard]
		if !d.all {
			if of >= 0 {
				parts[of].add(k, &events[k], f)
			}
			continue
		}
		for i := range parts {
			f.Elsewhere = i != of
			parts[i].add(k, &events[k], f)
		}
	}
	d.dealers.Put(deal.Dealer())
	return parts
}

// join makes one outcome of what the shards have said of a push of n events.
func join(parts []part, n int) (out PushOutcome, err error) {
	var errs []error
	known, heard := true, false
	for s := range parts {
		p := &parts[s]
		if p.err != nil && !slices.ContainsFunc(errs, func(e error) bool { return errors.Is(e, p.err) }) {
			errs = append(errs, p.err)
		}
		out.Accepted += p.out.Accepted
		out.Filtered += p.out.Filtered
		out.RejectedCount += p.out.RejectedCount
		out.Tickets = append(out.Tickets, p.out.Tickets...)
		out.Full = out.Full || p.out.Full
		known, heard = known && (p.out.Known || len(p.events) == 0), heard || len(p.events) > 0
		for _, r := range p.out.Rejected {
			r.Index = p.index[r.Index]
			out.Rejected = append(out.Rejected, r)
		}
		for k := range p.out.Taken {
			if !p.fates[k].Elsewhere {
				out.Taken = max(out.Taken, p.index[k]+1)
			}
		}
	}
	if !out.Full && len(errs) == 0 {
		out.Taken, out.Known = n, known && heard
	}
	for s := range parts {
		p := &parts[s]
		code, why := p.left()
		for k := p.out.Taken; k < len(p.events); k++ {
			if !p.fates[k].Elsewhere && p.index[k] < out.Taken {
				out.RejectedCount++
				out.Rejected = append(out.Rejected, Rejection{Index: p.index[k], Code: code, Detail: why})
			}
		}
	}
	slices.SortFunc(out.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Index, b.Index) })
	out.Rejected = out.Rejected[:min(len(out.Rejected), pushkey.MaxRejections)]
	return out, errors.Join(errs...)
}
