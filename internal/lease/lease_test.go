package lease

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

var errAway = errors.New("no route to the database")

var graph = checkpoint.ID{Tenant: "acme", Graph: "g"}

// store is a lease store with one lease, of the daemon under test, and a clock of its own: the
// bubble's. Each call takes as long as is set, half before the store has it and half after.
type store struct {
	mu      sync.Mutex
	takes   map[string]time.Duration // by call
	deaf    bool                     // no call hears its context, as in a process that was stopped
	err     error
	expires time.Time
	renewed int
	owned   map[checkpoint.ID]string
	other   time.Time // when the lease of b is over, which renews it no more; zero where it does
}

func (s *store) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// call waits as long as a call of that name takes, or until ctx is done, and has f done halfway.
func (s *store) call(ctx context.Context, name string, f func()) error {
	s.mu.Lock()
	half := s.takes[name] / 2
	if s.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	s.mu.Unlock()
	for step := range 2 {
		timer := time.NewTimer(half)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		if step == 0 {
			s.mu.Lock()
			err := s.err
			if err == nil {
				f()
			}
			s.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) RenewLease(ctx context.Context, ttl time.Duration) (checkpoint.Lease, error) {
	return checkpoint.Lease{Declarations: 1}, s.call(ctx, "renew", func() {
		s.expires = time.Now().Add(ttl)
		s.renewed++
	})
}

func (s *store) Roster(ctx context.Context) (r checkpoint.Roster, err error) {
	err = s.call(ctx, "owned", func() {
		r = checkpoint.Roster{Members: []checkpoint.Member{{ID: "a", Capacity: 1}, {ID: "b", Name: "b/1", Capacity: 0}},
			Owners: maps.Clone(s.owned), Declarations: 1}
		if !s.other.IsZero() {
			r.Left = max(time.Until(s.other), 0)
		}
	})
	return r, err
}

func (*store) Self() string                              { return "a" }
func (*store) Leave(context.Context) error               { return nil }
func (*store) Drain(context.Context, string, bool) error { return nil }

func (s *store) Yield(context.Context, checkpoint.ID, int64) error { return nil }

func (s *store) AwaitChange(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// expiry is until when the store counts the lease as valid.
func (s *store) expiry() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expires
}

// keep runs a keeper over s until the end of the test.
func keep(t *testing.T, s *store, ttl time.Duration) *Keeper {
	t.Helper()
	if s.takes == nil {
		s.takes = map[string]time.Duration{}
	}
	k := New(Config{Store: s, Log: slog.New(slog.DiscardHandler), TTL: ttl, Patience: 30 * time.Second})
	group := supervisor.NewTree(time.Now).Root("test").NewGroup()
	if err := k.Begin(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		group.Stop()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// M45: the daemon counts its lease as over a sixth of it before the store does, measured from
// before the renewal was sent: whatever is still on its way then has arrived when another
// daemon takes the graphs.
func TestM45MarginBeforeTheStoresExpiry(t *testing.T) {
	for name, renewal := range map[string]time.Duration{"at once": 0, "slow answers": 800 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{takes: map[string]time.Duration{"renew": renewal}}
				k := keep(t, s, 3*time.Second)
				term := k.Stand(t.Context(), graph, func(Standing) {})
				time.Sleep(5500 * time.Millisecond)
				s.set(func() { s.err = errAway }) // no renewal arrives from here on
				last := s.expiry()
				for k.Holds() || term.Holds() {
					time.Sleep(time.Millisecond)
				}
				before := last.Sub(time.Now()) //nolint:govet // the store's expiry lies ahead
				if want := 500*time.Millisecond + renewal/2; before < want-time.Millisecond ||
					before > want+time.Millisecond {
					t.Errorf("the term was over %v before the store's expiry, want %v", before, want)
				}
				if <-term.Context().Done(); !errors.Is(context.Cause(term.Context()), ErrLost) {
					t.Errorf("the term ended with %v", context.Cause(term.Context()))
				}
			})
		})
	}
}

// M45: an answer to a renewal that comes when the term is over extends nothing, though the
// store has counted it: a new term begins.
func TestM45LateAnswerExtendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		k := keep(t, s, 3*time.Second)
		first := k.Stand(t.Context(), graph, func(Standing) {})
		time.Sleep(900 * time.Millisecond)
		s.set(func() { s.takes["renew"], s.deaf = 4*time.Second, true })
		time.Sleep(1700 * time.Millisecond)
		if first.Holds() { // sent at 1s, it has reached the store by 3s and is answered at 5s
			t.Fatal("the term outlives its last answered renewal")
		}
		s.set(func() { s.takes["renew"] = 0 })
		<-first.Context().Done()
		second := k.Stand(t.Context(), graph, func(Standing) {})
		if second == first || !second.Holds() {
			t.Error("no new term")
		}
	})
}

// M45: what else there is to ask of the store never makes a renewal late.
func TestM45RenewalDoesNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := checkpoint.ID{Tenant: "acme", Graph: "other"}
		s := &store{owned: map[checkpoint.ID]string{other: "b"}}
		k := keep(t, s, 3*time.Second)
		term := k.Stand(t.Context(), graph, func(Standing) {})
		k.Learn(other, &checkpoint.OwnedError{Owner: "b/1", Member: "b"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { // joined below
			defer close(done)
			k.Stand(ctx, other, func(Standing) {})
		}()
		var renewed, n int
		s.set(func() { s.takes["owned"], s.deaf, renewed = time.Hour, true, s.renewed }) // the question hangs
		time.Sleep(time.Minute)
		if s.set(func() { n = s.renewed - renewed }); n < 55 || !term.Holds() {
			t.Errorf("%d renewals in a minute while another question hangs; the term holds: %v", n, term.Holds())
		}
		cancel()
		<-done
	})
}

// M45: a graph that stands by because the lease was lost says why it was.
func TestM45LostLeaseTellsWhy(t *testing.T) {
	for code, cause := range map[string]error{
		"lease_lost": errAway, "store_slow": checkpoint.ErrSlow, "store_unreachable": checkpoint.ErrUnreachable,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{}
			k := keep(t, s, 3*time.Second)
			s.set(func() { s.err = cause })
			time.Sleep(4 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var told Standing
			if k.Stand(ctx, graph, func(s Standing) { told = s }) != nil {
				t.Fatal("there is a term")
			}
			if told.Code != code || !strings.Contains(told.Detail, cause.Error()) {
				t.Errorf("told %+v, want %s and the reason %q in it", told, code, cause)
			}
		})
	}
}

func TestLeastLease(t *testing.T) {
	for ttl, ok := range map[time.Duration]bool{
		0: true, Min: true, 3 * time.Second: true, Min - 1: false, 400 * time.Millisecond: false, -1: false,
	} {
		if err := Validate(ttl); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), Min.String()) {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}

// M45: that the lease of a term is gone, heard when there is another term already, ends nothing.
func TestM45LossOfAnEarlierTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, &store{}, 3*time.Second)
		first := k.Stand(t.Context(), graph, func(Standing) {})
		k.Lost(first, checkpoint.ErrLeaseLost)
		if first.Holds() {
			t.Error("the term holds whose lease is gone")
		}
		second := k.Stand(t.Context(), graph, func(Standing) {})
		k.Lost(first, checkpoint.ErrLeaseLost)
		if synctest.Wait(); !second.Holds() {
			t.Error("a late word about the first term has ended the second")
		}
	})
}

// M52: the lease of a daemon that has died is taken away when it is over, and not with the next renewal of another.
func TestM52AnExpiredLeaseIsTakenAwayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		keep(t, s, 3*time.Second)
		time.Sleep(5*time.Second + time.Millisecond)
		for _, phase := range []time.Duration{0, 150, 300, 450, 600, 750, 900} {
			s.set(func() { s.other = time.Now().Add(1500*time.Millisecond + phase*time.Millisecond) })
			time.Sleep(time.Until(s.other))
			before := 0
			s.set(func() { before = s.renewed })
			time.Sleep(2 * overdue)
			s.set(func() {
				if s.renewed == before {
					t.Errorf("phase %v: nobody has looked when it was over", phase)
				}
				s.other = time.Time{}
			})
			time.Sleep(3 * time.Second)
			s.set(func() {
				if s.renewed > before+5 {
					t.Errorf("phase %v: %d renewals in three seconds", phase, s.renewed-before)
				}
			})
		}
	})
}

// M45, M52: a store that is late with who is there puts a start off and does not end it; the lease is kept meanwhile.
func TestM52LateStoreAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: map[string]time.Duration{"owned": 10 * time.Second}}
		began := time.Now()
		k := keep(t, s, 3*time.Second)
		if took := time.Since(began); took != 10*time.Second || !k.current().Holds() {
			t.Errorf("began after %v, and the lease: %v", took, k.current())
		}
		s.set(func() { s.takes["owned"] = 0 })
		time.Sleep(10 * time.Second)
		if !k.current().Holds() {
			t.Error("the lease was lost later")
		}
	})
}

// lateStore answers from the third time on.
type lateStore struct {
	*store
	asked int
	err   error
}

func (s *lateStore) RenewLease(ctx context.Context, ttl time.Duration) (checkpoint.Lease, error) {
	if s.asked++; s.asked < 3 {
		return checkpoint.Lease{}, s.err
	}
	return s.store.RenewLease(ctx, ttl)
}

// M45: a store that is late with the first lease is asked again; one whose schema is newer is not.
func TestM45TheFirstLeaseIsAskedForAgain(t *testing.T) {
	for err, want := range map[error]int{context.DeadlineExceeded: 3, checkpoint.ErrNewerSchema: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := &lateStore{store: &store{takes: map[string]time.Duration{}}, err: err}
			k := New(Config{Store: s, Log: slog.New(slog.DiscardHandler), TTL: 3 * time.Second})
			group := supervisor.NewTree(time.Now).Root("test").NewGroup()
			if got := k.Begin(t.Context(), group); (got == nil) != (want == 3) || s.asked != want {
				t.Errorf("%v: it was asked for %d times, want %d: %v", err, s.asked, want, got)
			}
			group.Stop()
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
