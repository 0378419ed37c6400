package pump

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/spec"
)

// stress is many callers, an input that is now full and now not, and Units that come and go.
type stress struct {
	p    *accumulator.Program
	port *port
	box  *Mailbox
	stop chan struct{}

	units   int // that ran
	mu      sync.Mutex
	pushed  int                 // events in all
	refused int                 // pushes that were not taken whole
	taken   map[string][]string // by caller: what it was told was taken
}

// unit runs one Unit, from the last admitted mark, until d has passed or the stress ends.
func (s *stress) unit(t *testing.T, d time.Duration) {
	_, m, _ := s.port.seen()
	core := accumulator.NewCore(s.p, accumulator.Limits{})
	if err := core.Restore(encoded(m), m.Counters, m.Positions); err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	stop := s.stop
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := New(Config{Name: "ticks", Core: core, Mailbox: s.box, Port: s.port}).Run(ctx); err != nil {
		t.Error(err)
	}
}

// restarts runs one Unit after the other.
func (s *stress) restarts(t *testing.T) {
	for ; ; s.units++ {
		s.unit(t, 3*time.Millisecond)
		select {
		case <-s.stop:
			return
		default:
		}
	}
}

// reactor takes boundaries off the queue by fits and starts.
func (s *stress) reactor() {
	for i := 0; ; i++ {
		timer := time.NewTimer(time.Duration(i%3) * 200 * time.Microsecond)
		select {
		case <-timer.C:
			s.port.consume(8)
		case <-s.stop:
			timer.Stop()
			return
		}
	}
}

// caller pushes, every other time with a deadline that is often too short.
func (s *stress) caller(t *testing.T, name string, seed uint64) {
	rnd := rand.New(rand.NewPCG(1, seed))
	for round := range 40 {
		n := 1 + rnd.IntN(30)
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf(`"%s-%d-%d"`, name, round, i)
		}
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if rnd.IntN(2) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(3000))*time.Microsecond)
		}
		o, err := s.box.Push(ctx, eventsOf(texts...))
		cancel()
		if err != nil || o.Accepted != o.Taken || o.Full != (o.Taken < n) {
			t.Errorf("got %+v, %v for %d events", o, err, n)
		}
		s.mu.Lock()
		s.pushed += n
		if o.Full {
			s.refused++
		}
		s.taken[name] = append(s.taken[name], texts[:o.Taken]...)
		s.mu.Unlock()
	}
}

// M4, M35, M42: each event is admitted exactly once or refused, per caller in order, and
// the books balance.
func TestMailboxUnderStress(t *testing.T) {
	s := &stress{
		p: compile(t, spec.Accumulator{Capacity: 32}), port: newPort(16), box: NewMailbox(64, 0),
		stop: make(chan struct{}), taken: map[string][]string{},
	}
	var helpers, callers sync.WaitGroup
	helpers.Go(func() { s.restarts(t) })
	helpers.Go(s.reactor)
	for c := range 8 {
		callers.Go(func() { s.caller(t, fmt.Sprint(c), uint64(c)) })
	}
	callers.Wait()
	close(s.stop)
	helpers.Wait()

	// A last Unit counts what was refused since the last mark.
	s.stop = make(chan struct{})
	s.port.consume(-1)
	helpers.Go(func() { s.unit(t, time.Minute) })
	if o, err := s.box.Push(t.Context(), eventsOf(`"x-last"`)); err != nil || o.Accepted != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
	close(s.stop)
	helpers.Wait()
	s.box.Close()

	admitted := map[string][]string{}
	all, _, _ := s.port.seen()
	for _, v := range all {
		name, _, _ := strings.Cut(strings.Trim(v, `"`), "-")
		admitted[name] = append(admitted[name], v)
	}
	for name, taken := range s.taken {
		if g, w := strings.Join(admitted[name], " "), strings.Join(taken, " "); g != w {
			t.Errorf("caller %s: what was admitted and what it was told differ:\n%s\n%s", name, g, w)
		}
	}
	s.port.balance(t, int64(s.pushed+1))
	if n, bytes := s.box.Depth(); n != 0 || bytes != 0 {
		t.Errorf("the mailbox is not empty: %d, %d", n, bytes)
	}
	if s.refused == 0 || s.units < 3 {
		t.Errorf("%d refusals and %d Units: the test has tried nothing", s.refused, s.units)
	}
}
