package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

// Min is the least time to live: of a shorter lease too little is left, after a renewal that
// came a little late, for a daemon under load to send the next in time.
const Min = 600 * time.Millisecond

// Validate refuses a time to live that cannot be kept under load; zero stands for the default.
func Validate(ttl time.Duration) error {
	if ttl != 0 && ttl < Min {
		return fmt.Errorf("lease %v is too short to be renewed in time by a busy machine; give %v or more", ttl, Min)
	}
	return nil
}

// Keeper keeps this daemon's lease, and knows which graphs other daemons run (M45).
//
// The term counts from before a renewal was sent, the store's clock from when it arrived:
// so this daemon stops first. One goroutine renews and does nothing else, so that nothing but
// the store and the machine can make a renewal late (keep); one looks what the others own
// (follow), one listens for them (listen).
type Keeper struct {
	store checkpoint.Leases
	log   *slog.Logger
	ttl   time.Duration

	renewNow chan struct{} // capacity 1: the declarations may have changed, or the lease is gone
	lookNow  chan struct{} // capacity 1: what others own may have changed
	changed  chan struct{} // capacity 1: the declarations have
	standing atomic.Int64  // graphs that stand by

	mu    sync.Mutex
	term  *Term                    // nil while there is none
	why   error                    // why there is none
	owned map[checkpoint.ID]string // other daemons' graphs, as far as somebody stands by for one
	look  chan struct{}            // closed when term or owned change, and replaced

	// keep's alone after Begin: what the last renewal said of the declarations, and why the
	// last try failed, nil after one that did not.
	declared int64
	trouble  error
}

// New makes a keeper; Begin makes the first lease.
func New(store checkpoint.Leases, log *slog.Logger, ttl time.Duration) *Keeper {
	return &Keeper{
		store: store, log: log, ttl: ttl, owned: map[checkpoint.ID]string{}, look: make(chan struct{}),
		renewNow: make(chan struct{}, 1), lookNow: make(chan struct{}, 1), changed: make(chan struct{}, 1),
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
	// They end after the graphs, when the group is stopped, and not with ctx.
	ctx = context.WithoutCancel(ctx)
	group.Go(ctx, "lease", k.keep)
	group.Go(ctx, "other daemons", k.follow)
	group.Go(ctx, "other daemons/notices", k.listen)
	return nil
}

// keep renews the lease until ctx is done.
func (k *Keeper) keep(ctx context.Context, _ *supervisor.Node) error {
	timer := time.NewTimer(k.every())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-k.renewNow:
		case <-ctx.Done():
			return nil
		}
		timer.Reset(k.round(ctx))
	}
}

// round renews the lease once. It answers when to come again.
func (k *Keeper) round(ctx context.Context) time.Duration {
	sent := time.Now()
	lease, err := k.renew(ctx)
	if err != nil {
		switch t := k.current(); {
		case t == nil || ctx.Err() != nil:
		case !t.Holds():
			k.lose(cmp.Or(k.trouble, err)) // the last try had no time left to fail by itself
		default:
			k.trouble = err
			k.log.Warn("the lease was not renewed; it is tried again", "left", t.left().Round(time.Millisecond), "err",
				err)
		}
		return k.again()
	}
	k.trouble = nil
	if !k.extend(sent, false) {
		return k.again()
	}
	if lease.Declarations != k.declared {
		k.declared = lease.Declarations
		signal(k.changed)
	}
	return max(k.every()-time.Since(sent), 0) // a slow answer does not put the next off
}

// follow looks at what other daemons own for as long as a graph stands by, until ctx is done.
func (k *Keeper) follow(ctx context.Context, _ *supervisor.Node) error {
	ticker := time.NewTicker(k.every())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-k.lookNow:
		case <-ctx.Done():
			return nil
		}
		if k.standing.Load() > 0 {
			k.seeOthers(ctx)
		}
	}
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
	k.change(func() { k.term, k.why = nil, why })
	t.end(ErrLost)
}

// Holds says whether this daemon has a lease that is not over.
func (k *Keeper) Holds() bool {
	t := k.current()
	return t != nil && t.Holds()
}

// Lost ends the term at once, for the store has said that the lease is gone, and has another made.
func (k *Keeper) Lost(why error) {
	k.lose(why)
	signal(k.renewNow)
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
	signal(k.lookNow)
}

// see is the term, who else owns a graph, and a channel that is closed when either may have
// changed; why says why there is no term.
func (k *Keeper) see(id checkpoint.ID) (t *Term, owner string, look <-chan struct{}, why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term, k.owned[id], k.look, k.why
}

// listen has the others look at once when another daemon has yielded a graph or changed a
// declaration.
func (k *Keeper) listen(ctx context.Context, _ *supervisor.Node) error {
	for ctx.Err() == nil {
		if err := k.store.AwaitChange(ctx); err == nil {
			signal(k.renewNow)
			signal(k.lookNow)
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
