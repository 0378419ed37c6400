package pump

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/rest"
)

// Pace is [pace.Pace].
type Pace = pace.Pace

// Config is what a Unit is made of.
type Config struct {
	// Name is the accumulator's, for errors.
	Name string
	// Core is restored already; it is the Unit's from then on.
	Core *accumulator.Core
	// Source is nil for an accumulator that is fed by its socket alone.
	Source accumulator.Source
	// From is where the source resumes: the positions of the mark that Core was restored from.
	From []boundary.Position
	// Mailbox outlives the Unit.
	Mailbox *Mailbox
	// Port is safe for concurrent use.
	Port accumulator.Port
	// Pace holds back what the source reads; nil for nothing.
	Pace Pace
	// Share is this shard's part of the events; nil where the graph is not dealt.
	Share *Share
	// Epochs receives after epochs that were kept, for a Program that flushes with them; nil for others.
	Epochs <-chan struct{}
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// MarkEvery is how long a mark may lag behind when no boundary carries it; 0 means 1s.
	MarkEvery time.Duration
	// Now is the engine time that the graph's reactor goes by; nil for the wall clock.
	Now func() time.Time
}

// Unit is one accumulator live: it merges the pushes of its mailbox with what its source
// reads, folds them, and hands over what is complete.
type Unit struct {
	cfg     Config
	core    *accumulator.Core
	mailbox *Mailbox
	port    accumulator.Port

	// A handoff is at most so much, so that a full input is overrun by little, and a
	// push and a source take turns quickly.
	groupEvents int
	groupBytes  int64

	feed    *feed
	current parcel // what of the source is being folded
	folded  int    // how many events of it are
	ended   bool   // the source has returned
	turn    bool   // whose turn it is when both have something: the source's
	waited  bool   // for whatever came, since the last tick

	group   []span // of pushes, reused
	refused int64  // uncounted refusals that the Core has counted since the last handoff

	timer  *time.Timer
	markAt time.Time // when a mark that lags must go; zero when none does
	now    time.Time // engine time never goes backwards (M26)
}

// Bounds of one handoff: large enough that its fixed cost is nothing per event, small
// enough to stay within the processor's cache.
const (
	maxGroupEvents = 256
	maxGroupBytes  = 1 << 20
)

// New makes a Unit. It does nothing before Run.
func New(cfg Config) *Unit {
	if cfg.MarkEvery <= 0 {
		cfg.MarkEvery = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	u := &Unit{
		cfg: cfg, core: cfg.Core, mailbox: cfg.Mailbox, port: cfg.Port,
		groupEvents: maxGroupEvents, groupBytes: maxGroupBytes,
	}
	// A small capacity is meant to be felt: an eighth of it is the most that is decided on at once.
	n, bytes := cfg.Core.Capacity()
	if n > 0 {
		u.groupEvents = min(max(n/8, 1), maxGroupEvents)
	}
	if bytes > 0 {
		u.groupBytes = min(max(bytes/8, 1), maxGroupBytes)
	}
	return u
}

// Run feeds the Core until ctx is done, and then returns nil: what is complete has been
// handed over, what was not is folded again after a restart. When the source ends, its
// health is ended and pushes are served on. When the source fails, Run returns its error,
// wrapped; a [*accumulator.DataLost] makes the health halted. A panic is a
// [*accumulator.PanicError]. It is called once.
func (u *Unit) Run(ctx context.Context) error {
	return rest.Through(func() error { return u.Work(ctx) })
}

// Work is [Unit.Run] that answers a [*rest.Rest] when nothing has been pushed for a while and no source runs.
func (u *Unit) Work(ctx context.Context) error {
	var reading sync.WaitGroup
	stop := func() {}
	if u.cfg.Source == nil {
		u.ended = true
		u.port.Health(accumulator.SocketOnly, "", "")
	} else {
		ctx, stop = context.WithCancel(ctx)
		u.port.Health(accumulator.Connecting, "", "")
		u.feed = newFeed(&u.cfg)
		reading.Go(func() { u.feed.run(ctx, u.cfg.Source, u.cfg.From) })
	}
	return rest.Then(func() error { return u.work(ctx) }, func() { u.mailbox.giveBack(); stop(); reading.Wait() })
}

// work goes on until there is nothing to do or something ends it.
func (u *Unit) work(ctx context.Context) error {
	u.timer = time.NewTimer(time.Hour)
	defer u.timer.Stop()
	err := u.loop(ctx)
	if rest.Of(err) != nil {
		u.timer = nil
		return err
	}
	if ctx.Err() != nil && !isPanic(err) {
		return nil
	}
	if lost := new(accumulator.DataLost); errors.As(err, &lost) {
		u.port.Health(accumulator.Halted, "source_data_lost", lost.Error())
	}
	return fmt.Errorf("accumulator %q: %w", u.cfg.Name, err)
}

func isPanic(err error) bool {
	var p *accumulator.PanicError
	return errors.As(err, &p)
}

// loop runs until something ends it. Each round serves what is due, then one group of
// events, pushes and source taking turns (M27).
func (u *Unit) loop(ctx context.Context) error {
	quiet := false // for long enough to rest
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		u.tick()
		if err := u.handOverDue(ctx); err != nil {
			return err
		}
		busy, err := u.round(ctx)
		if err != nil {
			return err
		}
		if busy {
			quiet = false
			continue
		}
		alarm := u.alarm()
		calm := u.ended && alarm == nil && u.cfg.Epochs == nil // no more than a push or the end can come
		if calm && quiet {
			return u.rest(ctx)
		}
		if calm {
			u.timer.Reset(restAfter)
			alarm = u.timer.C
		}
		if quiet, err = u.wait(ctx, alarm); err != nil {
			return err
		}
		quiet = quiet && calm
	}
}

// round serves one group of events, and reports whether there was one.
func (u *Unit) round(ctx context.Context) (busy bool, err error) {
	u.turn = !u.turn
	first, second := u.pushes, u.pulls
	if u.turn {
		first, second = u.pulls, u.pushes
	}
	if busy, err = first(ctx); busy || err != nil {
		return busy, err
	}
	return second(ctx)
}

// tick moves engine time on and completes what it makes due.
func (u *Unit) tick() {
	if now := u.cfg.Now(); now.After(u.now) {
		if !u.waited && !u.now.IsZero() { // the reactor has held it back
			u.core.Unheard(now.Sub(u.now))
		}
		u.now = now
	}
	if u.waited = false; u.feed != nil {
		u.feed.deaf.Count(u.now, u.core.Unheard)
	}
	u.core.Tick(u.now)
	select {
	case <-u.cfg.Epochs:
		u.core.EpochKept(u.now)
	default:
	}
	if n := u.mailbox.uncounted(); n > u.refused {
		u.core.RefuseTail(n - u.refused)
		u.refused = n
	}
}

// handOverDue hands over what waits outside of any group: a batch whose interval has passed,
// a mark that has lagged long enough.
func (u *Unit) handOverDue(ctx context.Context) error {
	boundaries, letters, mark := u.core.Pending()
	switch {
	case boundaries+letters > 0:
	case !mark:
		u.markAt = time.Time{}
		return nil
	case u.markAt.IsZero():
		u.markAt = u.now.Add(u.cfg.MarkEvery)
		return nil
	case u.now.Before(u.markAt):
		return nil
	}
	return u.handOver(ctx)
}

// handOver gives the reactor what there is. It blocks while the reactor holds it back.
func (u *Unit) handOver(ctx context.Context, keys ...checkpoint.PushKey) error {
	h := &accumulator.Handoff{}
	if !u.core.Drain(h) {
		return nil
	}
	h.Keys = keys
	if err := u.port.Put(ctx, h); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	u.markAt = time.Time{}
	if u.refused > 0 {
		u.mailbox.counted(u.refused)
		u.refused = 0
	}
	return nil
}

// wait blocks until there may be something to do; quiet says that it was the alarm's time.
func (u *Unit) wait(ctx context.Context, alarm <-chan time.Time) (quiet bool, err error) {
	u.waited = true
	var parcels <-chan parcel
	if !u.ended {
		parcels = u.feed.parcels
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-u.mailbox.ready:
	case <-u.cfg.Epochs:
		u.core.EpochKept(u.now)
	case p, ok := <-parcels:
		if !ok {
			return false, u.sourceEnded(ctx)
		}
		u.current, u.folded = p, 0
	case <-alarm:
		return true, nil
	}
	return false, nil
}

// restAfter is how long nothing is pushed before a Unit lets its goroutine go: between two events of a busy graph a
// goroutine that waits is the cheaper one.
const restAfter = 2 * time.Second

// rest is the answer of a Unit that only a push or the end can wake.
func (u *Unit) rest(ctx context.Context) error {
	return &rest.Rest{
		Ctx: ctx,
		Arm: func(ring func()) {
			u.mailbox.bell.Hang(ring)
			if len(u.mailbox.ready) > 0 {
				ring()
			}
		},
		Resume: func() error { u.mailbox.bell.Take(); return u.work(ctx) },
	}
}

// alarm is the timer, set to when something is due next; nil when nothing is.
func (u *Unit) alarm() <-chan time.Time {
	next := u.markAt
	if due, ok := u.core.Due(); ok && (next.IsZero() || due.Before(next)) {
		next = due
	}
	if next.IsZero() {
		return nil
	}
	u.timer.Reset(next.Sub(u.cfg.Now()))
	return u.timer.C
}

// sourceEnded acts on the source's return: all it emitted has been folded.
func (u *Unit) sourceEnded(ctx context.Context) error {
	u.ended = true
	if err := u.handOver(ctx); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case u.feed.err != nil:
		return fmt.Errorf("source: %w", u.feed.err)
	}
	u.port.Health(accumulator.Ended, "", "")
	return nil
}
