package pump

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
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

// Push is [Mailbox.Push] to all shards that are concerned, with one outcome. Where Full is set, events among the
// leading ones that their own shards had no room for are Rejected as [QueueFull]; after them no shard has taken any.
func (d *Deal) Push(ctx context.Context, events []boundary.Event) (PushOutcome, error) {
	return d.Submit(ctx, events)(ctx)
}

// Submit is [Mailbox.Submit] to all shards that are concerned: it waits until each has room, or ctx is done. wait,
// called once, waits for the one outcome.
func (d *Deal) Submit(ctx context.Context, events []boundary.Event) (
	wait func(ctx context.Context) (PushOutcome, error)) {
	parts := d.parts(events)
	// At one time: a shard that has no room keeps the others from nothing.
	d.each(parts, func(s int, part *part) {
		part.push, part.err = d.boxes[s].submit(ctx, part.events, part.fates)
	})
	return func(ctx context.Context) (PushOutcome, error) {
		for s := range parts {
			if p := &parts[s]; p.push != nil {
				p.out, p.err = p.push.Wait(ctx)
			}
		}
		if d.dealers.New == nil { // all have the same, and the first one counts
			return parts[0].out, parts[0].err
		}
		return join(parts, len(events))
	}
}

// each does something for every shard that a push concerns, and returns when it is done for all.
func (d *Deal) each(parts []part, do func(s int, p *part)) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for s := range parts {
		if len(parts[s].events) > 0 {
			wait.Go(func() { do(s, &parts[s]) })
		}
	}
}

// part is what one shard hears of a push, and what it has said.
type part struct {
	events []boundary.Event
	fates  []fold.Fate
	index  []int // in the push
	push   *Push // on its way; nil where there is nothing to push, or it was refused
	out    PushOutcome
	err    error
}

// parts deals a push. The decoded values are left in the events.
func (d *Deal) parts(events []boundary.Event) []part {
	parts := make([]part, len(d.boxes))
	if d.dealers.New == nil {
		for s := range parts {
			parts[s].events = slices.Clone(events)
		}
		return parts
	}
	dealer, _ := d.dealers.Get().(*accumulator.Dealer)
	deal := &sharer{share: &Share{Of: len(d.boxes), Dealer: func() *accumulator.Dealer {
		return d.dealers.New().(*accumulator.Dealer)
	}}, dealer: dealer}
	for k := range events {
		var f fold.Fate
		of := deal.deal(&events[k], accumulator.Dated{At: timeline.Never}, nil, &f)
		for s := range parts {
			if f.Elsewhere = s != of; f.Elsewhere && !d.all {
				continue
			}
			p := &parts[s]
			p.events, p.fates, p.index = append(p.events, events[k]), append(p.fates, f), append(p.index, k)
		}
	}
	d.dealers.Put(deal.dealer)
	return parts
}

// join makes one outcome of what the shards have said of a push of n events.
func join(parts []part, n int) (out PushOutcome, err error) {
	var errs []error
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
		out.Taken = n
	}
	const full = "the shard of its key had no room in time, and events after it were taken by others; push it again"
	for s := range parts {
		p := &parts[s]
		for k := p.out.Taken; k < len(p.events); k++ {
			if !p.fates[k].Elsewhere && p.index[k] < out.Taken {
				out.RejectedCount++
				out.Rejected = append(out.Rejected, Rejection{Index: p.index[k], Code: QueueFull, Detail: full})
			}
		}
	}
	slices.SortFunc(out.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Index, b.Index) })
	out.Rejected = out.Rejected[:min(len(out.Rejected), maxRejections)]
	return out, errors.Join(errs...)
}
