package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	trail "github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// fake are the chains of a store.
type fake struct {
	mu     sync.Mutex
	first  map[string]int64 // the first entry that is left
	last   map[string]int64
	down   bool
	asked  int
	chains map[string]bool // that were asked for
}

func (f *fake) AuditRows(_ context.Context, q trail.Query) (rows []trail.Row, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked++; f.down {
		return nil, errors.New("the store is away")
	}
	if f.chains == nil {
		f.chains = map[string]bool{}
	}
	f.chains[q.Tenant] = true
	for seq := max(q.After+1, f.first[q.Tenant]); seq <= f.last[q.Tenant] && len(rows) < q.Limit; seq++ {
		rows = append(rows, trail.Row{Seq: seq, At: seq * int64(time.Second),
			Body: json.RawMessage(fmt.Sprintf(`{"kind":"denied","tenant":%q,"count":%d}`, q.Tenant, seq))})
	}
	return rows, nil
}

func (f *fake) AuditChains(context.Context) (chains []trail.Chain, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tenant, last := range f.last {
		chains = append(chains, trail.Chain{Tenant: tenant, Head: trail.Place{Seq: last}})
	}
	return chains, nil
}

func (f *fake) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	sourcetest.Run(t, sourcetest.Suite{
		New: func(*testing.T) accumulator.Source {
			return New(Config{Log: &fake{last: map[string]int64{"acme": 400, "beta": 3}}, Chain: "acme",
				Every: time.Millisecond})
		},
		Events: 400, Endless: true,
	})
}

// run runs a source until what it has handed over is as many, and answers with what it said.
func run(t *testing.T, s *Source, from []boundary.Position, most int) (*sourcetest.Receiver, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &sourcetest.Receiver{Most: most, Stop: cancel}
	return r, s.Run(ctx, from, r)
}

// TestEvents: an event is the row of the one chain as it is told over REST, with the time of the entry.
func TestEvents(t *testing.T) {
	t.Parallel()
	log := &fake{last: map[string]int64{"acme": 5, "beta": 9, trail.Daemon: 2}}
	r, err := run(t, New(Config{Log: log, Chain: "acme", Every: time.Millisecond}), []boundary.Position{{Offset: 3}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	const zero = "0000000000000000000000000000000000000000000000000000000000000000"
	if items := r.Items(); len(items) != 2 || items[0].Pos.Offset != 4 || items[0].Raw !=
		`{"seq":4,"prev":"`+zero+`","sum":"`+zero+`","entry":{"kind":"denied","tenant":"acme","count":4}}` {
		t.Errorf("got %+v", items)
	}
	if len(log.chains) != 1 {
		t.Errorf("other chains were read: %v", log.chains)
	}
}

// TestLost: entries behind the position that have expired halt the graph; without a position nothing is missed (M44).
func TestLost(t *testing.T) {
	t.Parallel()
	log := &fake{first: map[string]int64{"acme": 7}, last: map[string]int64{"acme": 9}}
	s := New(Config{Log: log, Chain: "acme", Every: time.Millisecond})
	_, err := run(t, s, []boundary.Position{{Offset: 3}}, 1)
	lost := new(accumulator.DataLost)
	if !errors.As(err, &lost) || lost.Want != "4" {
		t.Errorf("got %v", err)
	}
	for _, from := range [][]boundary.Position{nil, {{Offset: 6}}} {
		if r, err := run(t, s, from, 3); err != nil || len(r.Items()) != 3 {
			t.Errorf("from %v: %v, %v", from, r.Items(), err)
		}
	}
}

// TestLatest: reading begins with what comes, and goes on from there.
func TestLatest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &fake{last: map[string]int64{"acme": 9}}
		s := New(Config{Log: log, Chain: "acme", Every: time.Second, Latest: true})
		ctx, cancel := context.WithCancel(t.Context())
		r := &sourcetest.Receiver{Most: 2, Stop: cancel}
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, nil, r) }()
		synctest.Wait()
		log.set(func() { log.last["acme"] = 11 })
		if err := <-done; err != nil || r.Items()[0].Pos.Offset != 10 || r.Advanced()[0].Offset != 9 {
			t.Errorf("%v, %+v after %v", err, r.Items(), r.Advanced())
		}
	})
}

// TestStoreIsAway: the source says so, asks more and more rarely, and goes on.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &fake{last: map[string]int64{"acme": 1}, down: true}
		s := New(Config{Log: log, Chain: "acme", Every: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		r := &sourcetest.Receiver{Most: 1, Stop: cancel}
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, nil, r) }()
		<-time.After(10 * time.Minute) // of the bubble
		log.set(func() {
			if log.asked > 30 {
				t.Errorf("it has asked %d times in ten minutes", log.asked)
			}
			log.down = false
		})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if h := r.Said(); len(h) < 2 || h[0] != accumulator.Disconnected || h[len(h)-1] != accumulator.Live {
			t.Errorf("health %v", h)
		}
	})
}

// TestChainOfTheTenant: without a word of a chain it is the graph's tenant's; without a daemon there is none.
func TestChainOfTheTenant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ declared, tenant, want string }{
		{"", "acme", "acme"}, {"", "", "default"}, {"*", "acme", "*"}, {"beta", "acme", "beta"},
	} {
		k := Kind(&fake{})
		s, err := k.Open(Declared{Chain: tt.declared, Every: 1}, kind.Input{Place: kind.Place{Tenant: tt.tenant}})
		if err != nil || s.(*Source).cfg.Chain != tt.want {
			t.Errorf("%+v: %+v, %v", tt, s, err)
		}
	}
	k := Kind(nil)
	if _, err := k.Open(Declared{}, kind.Input{}); err == nil {
		t.Error("without an audit it is opened")
	}
}

// TestSeek: what an operator names.
func TestSeek(t *testing.T) {
	t.Parallel()
	s := New(Config{Log: &fake{last: map[string]int64{"acme": 9}}, Chain: "acme"})
	for text, want := range map[string]string{"start": "[]", "end": "[@9]", "4": "[@4]", "x": "error", "-1": "error"} {
		at, err := s.Seek(t.Context(), text)
		got := "["
		for _, p := range at {
			got += fmt.Sprintf("%s@%d", p.Stream, p.Offset)
		}
		if got += "]"; err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
