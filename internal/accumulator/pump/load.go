package pump

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/accumulator/pump/share"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// Load is what a source has given at once: some events of one stream, dated, decoded and dealt, or a position only.
// Several lines or units may have it, those of the shards of a graph, and read it; it is used again when the last one
// has let it go.
type Load struct {
	loader *Loader
	refs   atomic.Int32 // who has it

	kind   ParcelKind // Events or Advance
	events []boundary.Event
	times  []int64
	newest int64                   // the greatest of times
	bads   []*accumulator.BadEvent // by event; nil when all can be used
	fates  []fold.Fate             // by event, but for Elsewhere; empty where nothing is dealt, as are
	shards []int32                 // those that fold them
	chains share.Chains            // of shards, where passing an event is nothing but to be behind it
	bytes  int64
	whole  bool // events is a batch that may be used again
	// own says that times are the events' own, where they are times at all.
	own  bool
	lent bool // the values of events are lent from loan
	loan boundary.Loan
}

// Events are what it holds, for a position an event that has no more. They are not to be changed.
func (d *Load) Events() []boundary.Event { return d.events }

// Keep has it stay as it is until another Release.
func (d *Load) Keep() { d.refs.Add(1) }

// Release lets it go.
func (d *Load) Release() {
	if d.refs.Add(-1) > 0 {
		return
	}
	l := d.loader
	if d.whole {
		clear(d.events) // nothing may hold on to what it points to
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.whole && len(l.batches) < maxSpare {
		l.batches = append(l.batches, d.events[:0])
	}
	if len(l.spare) < maxSpare {
		d.loan.Reset(d.lent && l.spoils)
		d.kind, d.events, d.bads, d.bytes = Events, nil, nil, 0
		d.times, d.fates, d.shards = d.times[:0], d.fates[:0], d.shards[:0]
		d.chains.Clear()
		l.spare = append(l.spare, d)
	}
}

// fate is what becomes of the n-th event in one shard.
func (d *Load) fate(n int, s *Share) (f fold.Fate) {
	if len(d.shards) > 0 {
		f = d.fates[n]
		f.Elsewhere = int(d.shards[n]) != s.Shard
	}
	return f
}

// Share is this shard's part of an input.
type Share = share.Share

// LoaderConfig is what a Loader is made of.
type LoaderConfig struct {
	// Dater makes what reads the times of events; nil where they are not taken in turn.
	Dater func() *accumulator.Dater
	// Share says how they are dealt, whichever shard's it is; nil where they are not.
	Share *Share
	// Pace holds back what is read; nil for nothing.
	Pace Pace
}

// Loader makes loads of what a source gives. It belongs to the source's goroutine; its loads are everybody's.
type Loader struct {
	Gate   *pace.Gate // what is read goes through it
	cfg    LoaderConfig
	dater  *accumulator.Dater // as is
	share  *share.Dealing
	spoils bool          // what was lent is overwritten, for tests
	hungry chan struct{} // capacity 1: a line waits for something that is not here

	mu      sync.Mutex
	spare   []*Load
	batches [][]boundary.Event
}

// NewLoader makes a Loader.
func NewLoader(cfg LoaderConfig) *Loader {
	l := &Loader{cfg: cfg, Gate: pace.NewGate(cfg.Pace), hungry: make(chan struct{}, 1), share: share.New(cfg.Share)}
	if cfg.Dater != nil {
		l.dater = cfg.Dater()
		l.spoils = l.dater.Spoils()
	}
	return l
}

// Batch returns an empty batch with room for n events; see [accumulator.Recycler].
func (l *Loader) Batch(n int) []boundary.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := len(l.batches) - 1; k >= 0 {
		b := l.batches[k]
		l.batches = l.batches[:k]
		if cap(b) >= n {
			return b
		}
	}
	return make([]boundary.Event, 0, n)
}

// Emit makes loads of a batch and hands each to give; who gives it on to others says so by [Load]'s count. It holds
// back as the pace says.
func (l *Loader) Emit(ctx context.Context, now time.Time, batch []boundary.Event, give func(*Load) error) error {
	defer l.Gate.Done()
	for whole := true; len(batch) > 0; {
		n := 1
		for n < len(batch) && samePartition(batch[n].Pos.Stream, batch[0].Pos.Stream) {
			n++
		}
		n, err := l.Gate.Admit(ctx, batch, n)
		if err != nil {
			return err
		}
		whole = whole && n == len(batch)
		events := batch[:n:n]
		if whole {
			events = batch
		}
		d := l.load(events, whole)
		if l.dater != nil {
			l.date(d, now)
		}
		l.deal(d)
		if err := hand(d, give); err != nil {
			return err
		}
		batch = batch[n:]
	}
	return ctx.Err()
}

// Refuse makes a load of an event that cannot be used; see Emit.
func (l *Loader) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent,
	give func(*Load) error) error {
	defer l.Gate.Done()
	events := []boundary.Event{ev}
	if _, err := l.Gate.Admit(ctx, events, 1); err != nil {
		return err
	}
	d := l.load(events, false)
	d.times, d.bads = append(d.times, timeline.Never), []*accumulator.BadEvent{bad}
	l.deal(d)
	return hand(d, give)
}

// Advance makes a load of a position only; see Emit.
func (l *Loader) Advance(pos boundary.Position, give func(*Load) error) error {
	d := l.load([]boundary.Event{{Pos: pos}}, false)
	d.kind, d.times = Advance, append(d.times, timeline.Never)
	return hand(d, give)
}

func hand(d *Load, give func(*Load) error) error {
	defer d.Release()
	return give(d)
}

func (l *Loader) load(events []boundary.Event, whole bool) *Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &Load{loader: l}
	if n := len(l.spare); n > 0 {
		d, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	d.refs.Store(1)
	d.events, d.whole, d.newest, d.own, d.lent = events, whole, timeline.Never, false, false
	return d
}

// deal finds the shards of a load's events, of those too that cannot be used.
func (l *Loader) deal(d *Load) {
	if l.share == nil {
		return
	}
	alike := l.dater == nil // none of them says more to other shards than where it stands
	for i := range d.events {
		known, loan, f := accumulator.Dated{At: timeline.Never}, (*boundary.Loan)(nil), fold.Fate{}
		if l.dater != nil {
			known, loan = dated(d.times[i], d.own, d.lent), &d.loan
		}
		shard, bad := l.share.Deal(&d.events[i], known, loan, &f)
		if d.bads == nil || d.bads[i] == nil {
			l.spoil(d, i, bad)
		} else {
			f = fold.Fate{}
		}
		d.fates, d.shards = append(d.fates, f), append(d.shards, int32(shard))
		alike = alike && !f.Vouched && d.events[i].Pos.Stream == d.events[0].Pos.Stream
	}
	if alike {
		d.chains.Make(d.shards, l.cfg.Share.Of)
	}
}

// spoil makes the i-th event one that cannot be used, if bad says why.
func (l *Loader) spoil(d *Load, i int, bad *accumulator.BadEvent) {
	if bad == nil {
		return
	} else if d.bads == nil {
		d.bads = make([]*accumulator.BadEvent, len(d.events))
	}
	d.bads[i] = bad
	if l.dater != nil {
		d.times[i] = timeline.Never
		d.newest = slices.Max(d.times)
	}
}

// Loads is what takes loads: the Out of a Line or of a Unit.
type Loads interface {
	accumulator.Out
	// Give takes the events of a load from the first-th on. It blocks while there is no room, unless relaxed says
	// that another waits for what is behind them; ctx's error says that nothing was taken.
	Give(ctx context.Context, d *Load, first int, relaxed func() bool) error
	// Starved says that what comes next is waited for.
	Starved() bool
	// Now is the present time as the receiver knows it.
	Now() time.Time
	// Held says that what is here of a stream is held back; see [pace.Gate.Tell].
	Held(stream string, h pace.Held)
}

var _, _ Loads = (*Line)(nil), (*feed)(nil)

// alone is what is relaxed where there is nobody else.
func alone() bool { return false }

// Give implements [Loads].
func (l *Line) Give(ctx context.Context, d *Load, first int, relaxed func() bool) error {
	p := l.parcel(d, first)
	d.Keep()
	for !l.tryStage(p, relaxed()) {
		l.Held("", pace.Free) // its stream has events; of others it may have to be gone past
		select {
		case <-l.room:
		case <-d.loader.hungry:
		case <-ctx.Done():
			d.Release()
			return ctx.Err()
		}
	}
	return nil
}

// Held implements [Loads].
func (l *Line) Held(stream string, h pace.Held) {
	if l.held || h != pace.Free {
		l.held = h != pace.Free
		l.say(&Parcel{Kind: HeldBack, Stream: boundary.Partition(stream), Held: h})
	}
}

// Starved implements [Loads].
func (l *Line) Starved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starved
}

// Now implements [Loads].
func (l *Line) Now() time.Time { return l.cfg.Now() }

// Give implements [Loads].
func (f *feed) Give(ctx context.Context, d *Load, first int, _ func() bool) error {
	d.Keep()
	select {
	case f.parcels <- parcel{events: d.events[first:], load: d, first: first}:
		return nil
	case <-ctx.Done():
		d.Release()
		return ctx.Err()
	}
}

// Starved implements [Loads]: under the arrival clock nobody waits for anybody.
func (f *feed) Starved() bool { return false }

// Now implements [Loads].
func (f *feed) Now() time.Time { return time.Now() }
