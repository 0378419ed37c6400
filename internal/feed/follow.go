package feed

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// Outboxes is where followers read.
type Outboxes interface {
	Outbox(ctx context.Context, id checkpoint.ID, output string, after int64, limit int, maxBytes int64) (
		[]checkpoint.OutboxEntry, error)
}

// Follow is the source of an accumulator that follows an output of another graph: it reads the other's outbox, which
// keeps what is not in a checkpoint here. So it is read again from where it was after any crash, and never twice into
// one state (M29).
func (w *Links) Follow(from api.Ref, output string, to End, store Outboxes) accumulator.Source {
	of := outputOf{from, output}
	return &follower{links: w, of: of, to: to, store: store, k: w.keptOf(of)}
}

// follower is what Follow makes.
type follower struct {
	links *Links
	of    outputOf
	to    End
	store Outboxes
	k     *kept
	read  atomic.Int64 // the last number that was handed over
}

var (
	_ accumulator.Source    = (*follower)(nil)
	_ accumulator.Mirror    = (*follower)(nil)
	_ accumulator.Follower  = (*follower)(nil)
	_ accumulator.LagTeller = (*follower)(nil)
)

const (
	// followPage is how many values are read at once.
	followPage = 1000
	// followWithin bounds one question to the store, followPause how long one that does not answer is left alone.
	followWithin = 10 * time.Second
	followPause  = time.Second
)

// Mirrors implements [accumulator.Mirror]: the other graph keeps what is not durable here.
func (f *follower) Mirrors() bool { return true }

// Durable implements [accumulator.Mirror].
func (f *follower) Durable(at func() []boundary.Position) {
	for _, p := range at() {
		f.k.acknowledge(f.to, p)
	}
}

// Follows implements [accumulator.Follower]: a page that is not full is all there is.
func (f *follower) Follows() bool { return true }

// Lag implements [accumulator.LagTeller].
func (f *follower) Lag() (events int64, known bool) {
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	return max(0, f.k.last-f.read.Load()), f.k.by != nil && f.k.stream != ""
}

// Run implements [accumulator.Source].
func (f *follower) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	f.k.begin(f.to, from)
	r := following{follower: f, from: from, out: out}
	for ctx.Err() == nil {
		changed := f.links.next()
		next, by, stream := f.look()
		more, err := r.step(ctx, by, stream)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if more {
			continue
		}
		var again <-chan time.Time
		if r.failed {
			again = time.After(followPause)
		}
		select {
		case <-next:
		case <-changed:
		case <-again:
		case <-ctx.Done():
		}
	}
	return nil
}

// look is how the output is kept now.
func (f *follower) look() (next <-chan struct{}, by *holder, stream string) {
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	return f.k.next, f.k.by, f.k.stream
}

// following is one run.
type following struct {
	*follower
	from   []boundary.Position
	out    accumulator.Out
	stream string // that is read
	after  int64
	known  bool // after is a position, and not where nothing was read yet
	failed bool // the store has not answered
	health accumulator.Health
	detail string
}

// say tells a change of health.
func (r *following) say(h accumulator.Health, detail string) {
	if r.health != h || r.detail != detail {
		r.health, r.detail = h, detail
		r.out.Health(h, detail)
	}
}

// step hands over a page of what there is; more says that there may be more at once.
func (r *following) step(ctx context.Context, by *holder, stream string) (more bool, err error) {
	r.failed = false
	if by == nil {
		why := r.links.graphs.Upstream(r.of.graph, r.of.output)
		r.say(accumulator.Disconnected, cmp.Or(why, fmt.Sprintf("the output %q of graph %q is not kept for followers "+
			"here: its graph does not run, or its sink is not followers", r.of.output, r.of.graph.Name)))
		return false, nil
	}
	if stream == "" { // nothing has ever been put out
		r.say(accumulator.Live, "")
		accumulator.CaughtUp(r.out, "", true)
		return false, nil
	}
	if err := r.turnTo(ctx, stream); err != nil {
		return false, err
	}
	page, err := r.page(ctx)
	if _, now, _ := r.look(); now != by {
		return true, nil // what was read may be of another instance of the graph
	}
	if err != nil {
		r.failed = true
		r.say(accumulator.Disconnected, fmt.Sprintf("the store cannot be read: %v", err))
		return false, nil
	}
	r.say(accumulator.Live, "")
	if len(page) == 0 {
		accumulator.CaughtUp(r.out, "", true)
		return false, nil
	}
	if r.known && page[0].Seq > r.after+1 {
		return false, &accumulator.DataLost{Want: fmt.Sprintf("%s@%d", stream, r.after+1),
			Have: fmt.Sprintf("values from %d on: those before are not kept any more", page[0].Seq)}
	}
	return true, r.handOver(ctx, page)
}

// turnTo goes on in a stream: that of the instance which runs now.
func (r *following) turnTo(ctx context.Context, stream string) error {
	if r.stream == stream {
		return nil
	}
	r.stream, r.after = stream, offsetOf(r.from, stream)
	r.known = r.after > 0
	r.follower.read.Store(r.after)
	if !r.known {
		return nil
	}
	// So that the next checkpoint says it again to whoever keeps the values: this process may not have been told.
	return r.out.Advance(ctx, boundary.Position{Stream: stream, Offset: r.after})
}

func (r *following) page(ctx context.Context) ([]checkpoint.OutboxEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	id := checkpoint.ID{Tenant: r.of.graph.Tenant, Graph: r.of.graph.Name}
	return r.store.Outbox(ctx, id, r.of.output, r.after, followPage, 0)
}

// handOver hands over the values of a page.
func (r *following) handOver(ctx context.Context, page []checkpoint.OutboxEntry) error {
	batch := accumulator.NewBatch(r.out, len(page))
	for i := range page {
		m, err := reactor.DecodeMessage(uuid.Nil, 0, true, &page[i])
		if err != nil {
			return err
		}
		batch = append(batch, boundary.Event{Value: m.Value, At: m.At,
			Pos: boundary.Position{Stream: r.stream, Offset: m.Seq}})
	}
	accumulator.CaughtUp(r.out, "", false)
	last := page[len(page)-1].Seq
	if err := r.out.Emit(ctx, batch); err != nil {
		return err
	}
	r.after, r.known = last, true
	r.follower.read.Store(last)
	return nil
}
