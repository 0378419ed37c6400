package lease

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

// Keeper keeps this daemon's lease, and knows which graphs other daemons run (M45).
//
// The term counts from before a renewal was sent, the store's clock from when it arrived:
// so this daemon stops first. One goroutine renews (keep), one listens for other daemons
// (listen); both are joined by whoever stops the group, after the last graph has ended.
type Keeper struct {
	store checkpoint.Leases
	log   *slog.Logger
	ttl   time.Duration

	poke     chan struct{} // capacity 1: something may have changed
	changed  chan struct{} // capacity 1: the declarations have
	standing atomic.Int64  // graphs that stand by

	mu    sync.Mutex
	term  *Term                    // nil while there is none
	owned map[checkpoint.ID]string // other daemons' graphs, as far as somebody stands by for one
	look  chan struct{}            // closed when term or owned change, and replaced

	declared int64 // of the last renewal; keep's alone after begin
}

// New makes a keeper; Begin makes the first lease.
func New(store checkpoint.Leases, log *slog.Logger, ttl time.Duration) *Keeper {
	return &Keeper{
		store: store, log: log, ttl: ttl, poke: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		owned: map[checkpoint.ID]string{}, look: make(chan struct{}),
	}
}

// Of a lease's time to live: how often it is renewed, how soon a failed renewal is tried
// again, and how much earlier than the store this daemon counts it as over.
func (k *Keeper) every() time.Duration  { return k.ttl / 3 }
func (k *Keeper) again() time.Duration  { return k.ttl / 12 }
func (k *Keeper) margin() time.Duration { return k.ttl / 6 }

// Begin makes the first lease, and starts what keeps it in group. Where one process has the
// store to itself there is nothing to keep.
func (k *Keeper) Begin(ctx context.Context, group *supervisor.Group) error {
	sent := time.Now()
	lease, err := k.store.RenewLease(ctx, k.ttl)
	if err != nil {
		return err
	}
	k.declared = lease.Declarations
	k.extend(sent, lease.Sole)
	if lease.Sole {
		return nil
	}
	group.Go(context.Background(), "lease", k.keep) // it ends after the graphs, when group is stopped
	group.Go(context.Background(), "other daemons", k.listen)
	return nil
}

// keep renews the lease until ctx is done.
func (k *Keeper) keep(ctx context.Context, _ *supervisor.Node) error {
	timer := time.NewTimer(k.every())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-k.poke:
		case <-ctx.Done():
			return nil
		}
		timer.Reset(k.round(ctx))
	}
}

// round renews the lease once and looks what others have done. It answers when to come again.
func (k *Keeper) round(ctx context.Context) time.Duration {
	sent := time.Now()
	lease, err := k.renew(ctx)
	if err != nil {
		if t := k.current(); t != nil && !t.Holds() {
			k.lose(err)
		} else if t != nil && ctx.Err() == nil {
			k.log.Warn("the lease was not renewed; it is tried again", "left", t.left().Round(time.Millisecond), "err", err)
		}
		return k.again()
	}
	if !k.extend(sent, false) {
		return k.again()
	}
	if lease.Declarations != k.declared {
		k.declared = lease.Declarations
		signal(k.changed)
	}
	if k.standing.Load() > 0 {
		k.seeOthers(ctx)
	}
	return k.every()
}

// renew sends one renewal, for which there is time until the term is over. A lease that is
// gone ends the term at once, and is followed by a new one.
func (k *Keeper) renew(ctx context.Context) (checkpoint.Lease, error) {
	limit := k.ttl
	if t := k.current(); t != nil {
		limit = max(t.left(), 0)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lease, err := k.store.RenewLease(ctx, k.ttl)
	if errors.Is(err, checkpoint.ErrLeaseLost) {
		k.lose(err)
	}
	return lease, err
}

func (k *Keeper) current() *Term {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term
}

// extend makes the term last as the renewal says that was sent then; false when that is over
// by now already.
func (k *Keeper) extend(sent time.Time, forever bool) bool {
	k.mu.Lock()
	t := k.term
	k.mu.Unlock()
	if t != nil && !t.Holds() {
		// The renewal came too late for this daemon, though in time for the store.
		k.lose(ErrLost)
		t = nil
	}
	until := sent.Add(k.ttl - k.margin())
	if !forever && !time.Now().Before(until) {
		return false
	}
	fresh := t == nil
	if fresh {
		t = &Term{began: sent}
		t.ctx, t.end = context.WithCancelCause(context.Background()) // ended by lose
	}
	t.until.Store(int64(until.Sub(t.began)))
	if forever {
		t.until.Store(math.MaxInt64)
	}
	if fresh {
		k.change(func() { k.term = t })
	}
	return true
}

// lose ends the term: the runs under it end without another word.
func (k *Keeper) lose(why error) {
	t := k.current()
	if t == nil {
		return
	}
	k.log.Error("this daemon's lease is lost; its graphs stand by until it has another", "err", why)
	k.change(func() { k.term = nil })
	t.end(ErrLost)
}

// Holds says whether this daemon has a lease that is not over.
func (k *Keeper) Holds() bool {
	t := k.current()
	return t != nil && t.Holds()
}

// Poke has the keeper renew and look at other daemons' graphs at once.
func (k *Keeper) Poke() { signal(k.poke) }

// Lost ends the term at once, for the store has said that the lease is gone, and has another made.
func (k *Keeper) Lost(why error) {
	signal(k.poke)
	k.lose(why)
}

// Declared holds a signal when another daemon has changed a declaration.
func (k *Keeper) Declared() <-chan struct{} { return k.changed }

// DeclaredAgain has who follows the declarations look at them again.
func (k *Keeper) DeclaredAgain() { signal(k.changed) }

// change makes a change that those who stand by look at.
func (k *Keeper) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
	close(k.look)
	k.look = make(chan struct{})
}

// seeOthers looks which graphs other daemons own.
func (k *Keeper) seeOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, k.every())
	defer cancel()
	owned, err := k.store.Owned(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.log.Warn("who runs which graph cannot be read; it is tried again", "err", err)
		}
		return
	}
	k.mu.Lock()
	same := maps.Equal(owned, k.owned)
	k.mu.Unlock()
	if !same {
		k.change(func() { k.owned = owned })
	}
}

// Learn notes that another daemon owns a graph, and has that looked at again: it may have
// been yielded since.
func (k *Keeper) Learn(id checkpoint.ID, owner string) {
	k.mu.Lock()
	k.owned[id] = owner
	k.mu.Unlock()
	k.Poke()
}

// see is the term, who else owns a graph, and a channel that is closed when either may have changed.
func (k *Keeper) see(id checkpoint.ID) (t *Term, owner string, look <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term, k.owned[id], k.look
}

// listen has keep look at once when another daemon has yielded a graph or changed a declaration.
func (k *Keeper) listen(ctx context.Context, _ *supervisor.Node) error {
	for ctx.Err() == nil {
		if err := k.store.AwaitChange(ctx); err == nil {
			signal(k.poke)
			continue
		}
		// keep looks by itself meanwhile, and says what is wrong with the store.
		timer := time.NewTimer(k.every())
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
