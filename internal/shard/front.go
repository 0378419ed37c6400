package shard

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/timeline"
	"github.com/graphd/graphd/internal/virtual"
)

// Config is one graph that is run as shards.
type Config struct {
	Unit   *compile.Unit
	Shards int
	// Batch is how many items are handed over at once: an event is one, and what all shards are told is one for each.
	Batch int
	// Start is when time begins; zero: with the first event.
	Start time.Time
	// Calls answers what nodes call for, from any shard; see [virtual.Graph].
	Calls virtual.Answerer
	// Release takes what each epoch has put out, in the order of one graph. The messages are its own
	// until it returns. Letter is told of every dead letter. Both are called by one goroutine, which is not the
	// caller's; an error ends all.
	Release func([]sink.Message) error
	Letter  func(*checkpoint.DeadLetter) error
}

// Front deals events to shards. It belongs to one goroutine, and is the [virtual.Tap] of the graph that folds what is
// shared.
type Front struct {
	cfg     Config
	ctx     context.Context // of New's caller, and ended by the first error
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	workers []*worker
	merge   *merger

	dealers []*accumulator.Dealer // by input; nil: it is shared
	orders  []fold.Ordering       // by the input of labels; nil: one event completes one thing
	tables  []bool                // by input
	heads   []head                // by input
	seq     uint64
	now     int64  // engine time of the round
	round   uint64 // the number of the event that opened it
	batch   *batch
	free    chan *batch
	chunks  chan *chunk // that may be used again
}

// head is what is known of an input's next event, and of those before.
type head struct {
	ev     *boundary.Event // dated, and not added
	dated  accumulator.Dated
	number int64
	newest vouched
	until  int64 // the time of an event that completes something in some shard
}

// New starts the shards. [Front.End] ends them, and [Front.Stop] in any case.
func New(ctx context.Context, cfg Config) *Front {
	n := len(cfg.Unit.Spec.Accumulators)
	f := &Front{
		cfg: cfg, dealers: make([]*accumulator.Dealer, n), orders: make([]fold.Ordering, 2*n), tables: make([]bool, n),
		heads: make([]head, n), now: never, free: make(chan *batch, 2*batchesAhead),
		chunks: make(chan *chunk, cfg.Shards*2),
	}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	for i, p := range cfg.Unit.Programs {
		in := &cfg.Unit.Inputs()[i]
		f.heads[i].newest.at, f.heads[i].until = never, never
		f.tables[i] = in.Table != nil
		f.orders[i], _ = accumulator.NewFold(p).(fold.Ordering)
		f.orders[n+i] = f.orders[i]
		if !cfg.Unit.Shared(i) {
			f.dealers[i] = accumulator.NewDealer(p, accumulator.Limits{})
		}
		if cfg.Unit.Spec.Accumulators[i].JoinedBy != "" {
			f.heads[i].until = math.MaxInt64 // an event completes what it is joined with, and that is where it is
		}
	}
	f.batch = f.newBatch()
	f.merge = newMerger(f)
	for i := range cfg.Shards {
		w := newWorker(f.ctx, f, cfg.Unit, i, cfg.Start)
		f.workers = append(f.workers, w)
		f.running.Go(func() { w.run(f.ctx) })
	}
	f.running.Go(func() { f.merge.run(f.ctx) })
	return f
}

// Shards is how many shards there are.
func (f *Front) Shards() int { return f.cfg.Shards }

// Deals reports whether input i's events go to the shards; those of the others are folded by the front's graph.
func (f *Front) Deals(i int) bool { return f.dealers[i] != nil }

// Date is the time that the next event of input i declares; ok is false when it declares none. The value is left in
// ev. An error is a [*accumulator.BadEvent].
func (f *Front) Date(i int, ev *boundary.Event) (at time.Time, ok bool, err error) {
	h, d := &f.heads[i], f.dealers[i]
	h.ev, h.dated = ev, accumulator.Dated{At: timeline.Never, Lent: d.Lends() && ev.Value.IsAbsent()}
	at, ok, bad := d.Date(ev, &f.batch.loans[i])
	switch {
	case bad != nil:
		return at, false, bad
	case ok:
		h.dated.At, h.dated.Timed = at.UnixNano(), true
	}
	return at, ok, nil
}

// Add deals the next event of input i, which happens now, or one that cannot be read.
func (f *Front) Add(i int, ev *boundary.Event, bad *accumulator.BadEvent, now time.Time) error {
	at, h, d := nanoOf(now), &f.heads[i], f.dealers[i]
	if err := f.enter(at); err != nil {
		return err
	}
	h.number++
	it := item{what: anEvent, input: int32(i), at: at, round: f.round, seq: f.seq, number: h.number, bad: bad,
		newest: h.newest}
	shard, vouched := 0, false
	if bad == nil {
		if h.ev != ev {
			h.dated = accumulator.Dated{At: timeline.Never, Lent: d.Lends() && ev.Value.IsAbsent()}
		}
		it.dated = h.dated
		shard, vouched = d.Deal(ev, h.dated, &f.batch.loans[i], f.cfg.Shards)
	}
	h.ev, it.ev = nil, *ev
	f.tell(shard, it)
	if vouched {
		f.vouch(h, d, &it, shard)
	}
	return nil
}

// Take is Add of an event of which a [accumulator.Taker] has said where it belongs.
func (f *Front) Take(i int, ev *boundary.Event, t *accumulator.Taken, now time.Time) error {
	at, h := nanoOf(now), &f.heads[i]
	if err := f.enter(at); err != nil {
		return err
	}
	h.number++
	items := append(f.batch.items[t.Shard], item{})
	f.batch.items[t.Shard] = items
	f.batch.n++
	it := &items[len(items)-1]
	it.what, it.input, it.at, it.round, it.seq, it.number, it.newest = anEvent, int32(i), at, f.round, f.seq, h.number,
		h.newest
	it.ev, it.dated, it.taken, it.ahead = *ev, t.Dated, *t, true
	if t.Vouched {
		f.vouch(h, f.dealers[i], it, int(t.Shard))
	}
	return nil
}

// vouch tells the other shards of an event that completes something.
func (f *Front) vouch(h *head, d *accumulator.Dealer, it *item, shard int) {
	at := min(it.dated.At, it.at)
	if at <= h.newest.at {
		return
	}
	h.newest = vouched{at, it.number}
	if at < h.until {
		return
	}
	h.until = d.Vouching().Until(at)
	other := item{what: anElsewhere, input: it.input, at: it.at, round: it.round, seq: it.seq, newest: h.newest}
	for s := range f.batch.items {
		if s != shard {
			f.tell(s, other)
		}
	}
}

// enter begins a round, if it is another one. A batch that is full is sent before, whatever has filled it. The front's
// graph hands over when a round has all its events: a round that goes on has nothing in the batch that is shared.
func (f *Front) enter(at int64) error {
	open := uint64(0)
	if at == f.now && at != never {
		open = f.round
	}
	if f.batch.n >= f.cfg.Batch {
		if err := f.send(open); err != nil {
			return err
		}
	}
	if f.seq++; open != 0 {
		return nil
	}
	f.round = f.seq
	if f.now == never && at != never {
		f.tellAll(item{what: aBeginning, at: at, round: f.round})
	}
	f.now, f.batch.at = at, at
	return nil
}

func (f *Front) tellAll(it item) {
	for s := range f.batch.items {
		f.tell(s, it)
	}
}

// tell adds to what happens to a shard.
func (f *Front) tell(shard int, it item) {
	f.batch.items[shard] = append(f.batch.items[shard], it)
	f.batch.n++
}

// Admit implements [virtual.Tap]: what all keys share reaches every shard.
func (f *Front) Admit(i int, h *accumulator.Handoff) {
	if f.dealers[i] != nil {
		return
	}
	share := *h
	f.tellAll(item{what: aHandoff, input: int32(i), at: f.now, round: f.round, share: &share})
}

// Fired implements [virtual.Tap]: nothing fires there.
func (f *Front) Fired() {}

// Shared notes that an event of a shared input happens now, which the front's graph folds.
func (f *Front) Shared(now time.Time) error { return f.enter(nanoOf(now)) }

// send hands the batch to all shards. open is the round that more may come of, 0 for none.
func (f *Front) send(open uint64) error {
	b := f.batch
	b.round = open
	for i := range f.heads {
		if h := &f.heads[i]; h.ev != nil && h.dated.Lent { // its loan ends with the batch
			h.ev.Value, h.dated.Lent = f.dealers[i].Own(h.ev.Value), false
		}
	}
	for _, w := range f.workers {
		select {
		case w.in <- b:
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		}
	}
	select {
	case f.merge.in <- b:
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	select {
	case f.batch = <-f.free:
	default:
		f.batch = f.newBatch()
	}
	f.batch.n, f.batch.at = 0, f.now
	return nil
}

func (f *Front) newBatch() *batch {
	return &batch{items: make([][]item, f.cfg.Shards), loans: make([]boundary.Loan, len(f.heads)), at: f.now}
}

// recycle takes a batch back that all shards are done with. What is in it stays until it is overwritten: to clear so
// much takes longer than it is worth.
func (f *Front) recycle(b *batch) {
	for i := range b.loans {
		b.loans[i].Reset(f.dealers[i] != nil && f.dealers[i].Spoils())
	}
	for s := range b.items {
		b.items[s] = b.items[s][:0]
	}
	select {
	case f.free <- b:
	default:
	}
}

func (f *Front) emptyChunk() *chunk {
	select {
	case c := <-f.chunks:
		c.entries, c.out, c.letters, c.err = c.entries[:0], c.out[:0], c.letters[:0], nil
		return c
	default:
		return &chunk{}
	}
}

// End ends all inputs: with flush time goes on for what waits for it, and what no time completes is handed over, as
// [virtual.Graph.Close] does it. It answers when everything has been released.
func (f *Front) End(flush bool) error {
	if err := f.send(0); err != nil {
		return err
	}
	steps := []last{left}
	if flush {
		steps = []last{awaited, handed, reached}
	}
	for n, step := range steps {
		if n > 0 { // one graph takes all its keys to the time of its last timer
			select {
			case f.batch.at = <-f.merge.reached:
			case <-f.ctx.Done():
				return context.Cause(f.ctx)
			}
		}
		f.batch.last = step
		if err := f.send(0); err != nil {
			return err
		}
	}
	for _, w := range f.workers {
		close(w.in)
	}
	close(f.merge.in)
	f.running.Wait()
	return context.Cause(f.ctx)
}

// Stop ends the shards wherever they are.
func (f *Front) Stop() {
	f.cancel(nil)
	f.running.Wait()
}

// Totals are the books of the shards, good after End or Stop.
func (f *Front) Totals() (all []Totals) {
	for _, w := range f.workers {
		all = append(all, w.totals())
	}
	return all
}

// Epochs is how many epochs there were.
func (f *Front) Epochs() int64 { return f.merge.epoch }
