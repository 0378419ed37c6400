package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

// errLeaseLost ends a term, and the runs under it.
var errLeaseLost = errors.New("this daemon's lease has expired: another one may run its graphs")

// term is the time from the making of this daemon's lease to its loss. What runs under a
// term sends nothing out when it is over (M45).
type term struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	began time.Time
	until atomic.Int64 // nanoseconds after began, on the monotonic clock
}

// holds says whether the term is not over. It looks at the clock: a process that was stopped
// and goes on knows it with its first look, before any timer has fired.
func (t *term) holds() bool {
	return t.ctx.Err() == nil && int64(time.Since(t.began)) < t.until.Load()
}

// left is how long the term lasts without another renewal.
func (t *term) left() time.Duration {
	return time.Duration(t.until.Load()) - time.Since(t.began)
}

// ownership keeps this daemon's lease, and knows which graphs other daemons run (M45).
//
// The term counts from before a renewal was sent, the store's clock from when it arrived:
// so this daemon stops first. One goroutine renews (keep), one listens for other daemons
// (listen); both are joined by Engine.Close, after the last graph has ended.
type ownership struct {
	store checkpoint.Leases
	log   *slog.Logger
	ttl   time.Duration

	poke     chan struct{} // capacity 1: something may have changed
	changed  chan struct{} // capacity 1: the declarations have
	standing atomic.Int64  // graphs that stand by

	mu    sync.Mutex
	term  *term                    // nil while there is none
	owned map[checkpoint.ID]string // other daemons' graphs, as far as somebody stands by for one
	look  chan struct{}            // closed when term or owned change, and replaced

	declared int64 // of the last renewal; keep's alone after begin
}

func newOwnership(store checkpoint.Leases, log *slog.Logger, ttl time.Duration) *ownership {
	return &ownership{
		store: store, log: log, ttl: ttl, poke: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		owned: map[checkpoint.ID]string{}, look: make(chan struct{}),
	}
}

// Of a lease's time to live: how often it is renewed, how soon a failed renewal is tried
// again, and how much earlier than the store this daemon counts it as over.
func (o *ownership) every() time.Duration  { return o.ttl / 3 }
func (o *ownership) again() time.Duration  { return o.ttl / 12 }
func (o *ownership) margin() time.Duration { return o.ttl / 6 }

// begin makes the first lease, and starts what keeps it in group. Where one process has the
// store to itself there is nothing to keep.
func (o *ownership) begin(ctx context.Context, group *supervisor.Group) error {
	sent := time.Now()
	lease, err := o.store.RenewLease(ctx, o.ttl)
	if err != nil {
		return err
	}
	o.declared = lease.Declarations
	o.extend(sent, lease.Sole)
	if lease.Sole {
		return nil
	}
	group.Go(context.Background(), "lease", o.keep) // it ends after the graphs, when group is stopped
	group.Go(context.Background(), "other daemons", o.listen)
	return nil
}

// keep renews the lease until ctx is done.
func (o *ownership) keep(ctx context.Context, _ *supervisor.Node) error {
	timer := time.NewTimer(o.every())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-o.poke:
		case <-ctx.Done():
			return nil
		}
		timer.Reset(o.round(ctx))
	}
}

// round renews the lease once and looks what others have done. It answers when to come again.
func (o *ownership) round(ctx context.Context) time.Duration {
	sent := time.Now()
	lease, err := o.renew(ctx)
	if err != nil {
		if t := o.current(); t != nil && !t.holds() {
			o.lose(err)
		} else if t != nil && ctx.Err() == nil {
			o.log.Warn("the lease was not renewed; it is tried again", "left", t.left().Round(time.Millisecond), "err", err)
		}
		return o.again()
	}
	if !o.extend(sent, false) {
		return o.again()
	}
	if lease.Declarations != o.declared {
		o.declared = lease.Declarations
		signal(o.changed)
	}
	if o.standing.Load() > 0 {
		o.seeOthers(ctx)
	}
	return o.every()
}

// renew sends one renewal, for which there is time until the term is over. A lease that is
// gone ends the term at once, and is followed by a new one.
func (o *ownership) renew(ctx context.Context) (checkpoint.Lease, error) {
	limit := o.ttl
	if t := o.current(); t != nil {
		limit = max(t.left(), 0)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lease, err := o.store.RenewLease(ctx, o.ttl)
	if errors.Is(err, checkpoint.ErrLeaseLost) {
		o.lose(err)
	}
	return lease, err
}

func (o *ownership) current() *term {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.term
}

// extend makes the term last as the renewal says that was sent then; false when that is over
// by now already.
func (o *ownership) extend(sent time.Time, forever bool) bool {
	o.mu.Lock()
	t := o.term
	o.mu.Unlock()
	if t != nil && !t.holds() {
		// The renewal came too late for this daemon, though in time for the store.
		o.lose(errLeaseLost)
		t = nil
	}
	until := sent.Add(o.ttl - o.margin())
	if !forever && !time.Now().Before(until) {
		return false
	}
	fresh := t == nil
	if fresh {
		t = &term{began: sent}
		t.ctx, t.end = context.WithCancelCause(context.Background()) // ended by lose
	}
	t.until.Store(int64(until.Sub(t.began)))
	if forever {
		t.until.Store(math.MaxInt64)
	}
	if fresh {
		o.change(func() { o.term = t })
	}
	return true
}

// lose ends the term: the runs under it end without another word.
func (o *ownership) lose(why error) {
	t := o.current()
	if t == nil {
		return
	}
	o.log.Error("this daemon's lease is lost; its graphs stand by until it has another", "err", why)
	o.change(func() { o.term = nil })
	t.end(errLeaseLost)
}

// change makes a change that those who stand by look at.
func (o *ownership) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	close(o.look)
	o.look = make(chan struct{})
}

// seeOthers looks which graphs other daemons own.
func (o *ownership) seeOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.every())
	defer cancel()
	owned, err := o.store.Owned(ctx)
	if err != nil {
		if ctx.Err() == nil {
			o.log.Warn("who runs which graph cannot be read; it is tried again", "err", err)
		}
		return
	}
	o.mu.Lock()
	same := maps.Equal(owned, o.owned)
	o.mu.Unlock()
	if !same {
		o.change(func() { o.owned = owned })
	}
}

// learn notes that another daemon owns a graph, and has that looked at again: it may have
// been yielded since.
func (o *ownership) learn(id checkpoint.ID, owner string) {
	o.mu.Lock()
	o.owned[id] = owner
	o.mu.Unlock()
	signal(o.poke)
}

// see is the term, who else owns a graph, and a channel that is closed when either may have changed.
func (o *ownership) see(id checkpoint.ID) (t *term, owner string, look <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.term, o.owned[id], o.look
}

// listen has keep look at once when another daemon has yielded a graph or changed a declaration.
func (o *ownership) listen(ctx context.Context, _ *supervisor.Node) error {
	for ctx.Err() == nil {
		if err := o.store.AwaitChange(ctx); err == nil {
			signal(o.poke)
			continue
		}
		// keep looks by itself meanwhile, and says what is wrong with the store.
		timer := time.NewTimer(o.every())
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// signal says that there is something to do; how often it was said does not matter.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
