package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
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

// Store is what a keeper asks of a store.
type Store interface {
	checkpoint.Leases
	checkpoint.Members
}

// Config is what a keeper is made of.
type Config struct {
	Store Store
	Log   *slog.Logger
	// TTL is the lease's time to live, Patience how long another daemon must have ranked first for
	// a graph that runs here before that is handed back.
	TTL, Patience time.Duration
	// Places say what is placed together; nil: each unit is placed by itself.
	Places func() placement.Places
	// Mono is a clock that is never set; nil is the machine's.
	Mono func() time.Duration
}

// Keeper keeps this daemon's lease, and knows which graphs it is to run (M45, M52).
//
// The term counts from before a renewal was sent, the store's clock from when it arrived:
// so this daemon stops first. One goroutine renews and does nothing else, so that nothing but
// the store and the machine can make a renewal late (keep); one looks who is there and what each
// owns (follow), one listens for news of it (listen).
type Keeper struct {
	store  Store
	log    *slog.Logger
	ttl    time.Duration
	places func() placement.Places
	mono   func() time.Duration

	renewNow chan struct{} // capacity 1: the lease is gone
	lookNow  chan struct{} // capacity 1: who owns what may have changed
	changed  chan struct{} // capacity 1: the declarations have

	mu       sync.Mutex
	sole     bool
	term     *Term // nil while there is none
	why      error // why there is none
	declared int64 // what the store has last said of the declarations
	// over is when the lease of another daemon is over that was not renewed when it was looked last, 0 for none.
	over  time.Duration
	board board

	// trouble is keep's alone: why the last try failed, nil after one that did not.
	trouble error
}

// New makes a keeper; Begin makes the first lease.
func New(c Config) *Keeper {
	k := &Keeper{
		store: c.Store, log: c.Log, ttl: c.TTL, places: c.Places, mono: c.Mono,
		renewNow: make(chan struct{}, 1), lookNow: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		board: board{desk: placement.Desk{Self: c.Store.Self(), Lease: c.TTL, Patience: c.Patience}},
	}
	if k.places == nil {
		k.places = func() placement.Places { return placement.Places{Spread: true} }
	}
	if k.mono == nil {
		began := time.Now()
		k.mono = func() time.Duration { return time.Since(began) }
	}
	return k
}

// Of a lease's time to live: how often it is renewed, how soon a failed renewal is tried
// again, and how much earlier than the store this daemon counts it as over.
func (k *Keeper) every() time.Duration  { return k.ttl / 3 }
func (k *Keeper) again() time.Duration  { return k.ttl / 12 }
func (k *Keeper) margin() time.Duration { return k.ttl / 6 }

// firstTries is how often the first lease is asked for: each has a third of its time to live, as every renewal.
const firstTries = 5

// Begin makes the first lease, looks who else is there, and starts what keeps it in group. Where
// one process has the store to itself there is nothing to keep.
func (k *Keeper) Begin(ctx context.Context, group *supervisor.Group) error {
	var lease checkpoint.Lease
	var sent time.Duration
	for try := 1; ; try++ { // a store that is late has not said no
		var err error
		sent = k.mono()
		if lease, err = k.store.RenewLease(ctx, k.ttl); err == nil {
			break
		}
		if try == firstTries || ctx.Err() != nil || errors.Is(err, checkpoint.ErrNewerSchema) {
			return err
		}
	}
	k.mu.Lock()
	k.declared, k.sole = lease.Declarations, lease.Sole
	k.mu.Unlock()
	k.extend(sent, lease.Sole)
	if lease.Sole {
		return nil
	}
	// They end after the graphs, when the group is stopped, and not with ctx.
	lasting := context.WithoutCancel(ctx)
	group.Go(lasting, "lease", k.keep) // beside the first look: a store that is late costs a start nothing but time
	if err := k.ask(ctx); err != nil {
		return err
	}
	group.Go(lasting, "other daemons", k.follow)
	group.Go(lasting, "other daemons/notices", k.listen)
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
		sent := k.mono()
		lease, err := k.renew(ctx)
		timer.Reset(k.renewed(sent, lease, err, ctx.Err() != nil))
	}
}

// renewed takes in the answer to the renewal that was sent then. It answers when to send the next;
// over says that nobody waits for it any more.
func (k *Keeper) renewed(sent time.Duration, lease checkpoint.Lease, err error, over bool) time.Duration {
	if err != nil {
		switch t := k.current(); {
		case errors.Is(err, checkpoint.ErrLeaseLost), errors.Is(err, checkpoint.ErrNewerSchema):
			k.lose(t, err) // a new one follows
		case t == nil || over:
		case !t.Holds():
			k.lose(t, cmp.Or(k.trouble, err)) // the last try had no time left to fail by itself
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
	k.declaredAs(lease.Declarations)
	return max(k.every()-(k.mono()-sent), 0) // a slow answer does not put the next off
}

// declaredAs takes in what the store says of the declarations.
func (k *Keeper) declaredAs(version int64) {
	k.mu.Lock()
	other := version != k.declared
	k.declared = version
	k.mu.Unlock()
	if other {
		signal(k.changed)
	}
}

// renew sends one renewal, for which there is time until the term is over.
func (k *Keeper) renew(ctx context.Context) (checkpoint.Lease, error) {
	limit := k.ttl
	if t := k.current(); t != nil {
		limit = max(t.left(), 0)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return k.store.RenewLease(ctx, k.ttl)
}

func (k *Keeper) current() *Term {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term
}

// extend makes the term last as the renewal says that was sent then; false when that is over
// by now already.
func (k *Keeper) extend(sent time.Duration, forever bool) bool {
	t := k.current()
	if t != nil && !t.Holds() {
		// The renewal came too late for this daemon, though in time for the store.
		k.lose(t, ErrLost)
		t = nil
	}
	until := sent + k.ttl - k.margin()
	if forever {
		until = math.MaxInt64
	}
	if k.mono() >= until {
		return false
	}
	if t != nil {
		t.until.Store(int64(until))
		return true
	}
	t = &Term{mono: k.mono}
	t.ctx, t.end = context.WithCancelCause(context.Background()) // ended by lose
	t.until.Store(int64(until))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.term = t
	k.board.wake()
	return true
}

// lose ends a term, if it is the one that lasts: the runs under it end without another word.
func (k *Keeper) lose(t *Term, why error) {
	k.mu.Lock()
	lasts := t != nil && t == k.term
	if lasts {
		k.term, k.why = nil, why
		k.board.wake()
	}
	k.mu.Unlock()
	if lasts {
		k.log.Error("this daemon's lease is lost; its graphs stand by until it has another", "err", why)
		t.end(ErrLost)
	}
}

// Term is what this daemon's lease holds by now; nil without one.
func (k *Keeper) Term() *Term { return k.current() }

// Self is this daemon's id among the members of the store.
func (k *Keeper) Self() string { return k.store.Self() }

// Holds says whether this daemon has a lease that is not over.
func (k *Keeper) Holds() bool {
	t := k.current()
	return t != nil && t.Holds()
}

// Lost ends this term at once, for the store has said that its lease is gone, and has another made. It
// changes nothing where there is another one by now: the answer was about the lease before.
func (k *Keeper) Lost(t *Term, why error) {
	k.lose(t, why)
	signal(k.renewNow)
}

// Declared holds a signal when another daemon has changed a declaration.
func (k *Keeper) Declared() <-chan struct{} { return k.changed }

// DeclaredAgain has who follows the declarations look at them again.
func (k *Keeper) DeclaredAgain() { signal(k.changed) }

// listen has follow look at once when another daemon has given a graph up, come, gone or changed a
// declaration.
func (k *Keeper) listen(ctx context.Context, _ *supervisor.Node) error {
	for ctx.Err() == nil {
		if err := k.store.AwaitChange(ctx); err == nil {
			signal(k.lookNow)
			continue
		}
		// follow looks by itself meanwhile, and says what is wrong with the store.
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
