package postgres

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// patience is beyond what a loaded machine makes of a bounded wait, and short of what a line that says nothing does.
const patience = time.Minute

// margin is what an answer may come behind its bound: no control sees a disk that has no time. It is short of what
// calls take that keep nobody waiting.
const margin = 10 * time.Second

// tight are bounds that a test can wait for, and that a loaded machine keeps where the line carries.
var tight = Timeouts{Call: 3 * time.Second, Lease: 2 * time.Second}

// patient are bounds for calls that the tests count on.
var patient = Timeouts{Call: patience, Lease: patience}

// throughProxy is a store whose connections a proxy carries.
func throughProxy(t *testing.T, dsn, schema string, timeouts Timeouts) (*Store, *proxy) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	x := newProxy(t, u.Host)
	u.Host = x.Addr().String()
	p, err := Open(t.Context(), u.String(), Options{Schema: schema, Timeouts: timeouts})
	if err != nil {
		t.Fatal(err)
	}
	return p, x
}

// M45: a line that takes bytes and carries none holds no call up for longer than the lease.
// Another daemon takes over within the lease and a margin; when the line carries again, the first
// goes on, on new connections.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	const ttl = time.Second
	a, line := throughProxy(t, dsn, schema, tight)
	defer a.Close()
	b := open(t, dsn, schema)
	defer b.Close()
	renew(t, a, time.Minute)
	renew(t, b, time.Minute)
	o := checkpointtest.NewOwner(t, a, "g")
	o.Next.Cells = checkpointtest.CellsOf(3, 100)
	o.Commit(t)
	renew(t, a, ttl)
	line.swallowAll(true)
	began, control, taking := time.Now(), stall.Begin(), stall.Begin()
	calls := map[string]func() error{
		"commit":  func() error { c := o.Next; c.Seq++; return a.Commit(t.Context(), &c) },
		"acquire": func() error { _, err := a.Acquire(t.Context(), o.Next.ID); return err },
		"load":    func() error { return a.Load(t.Context(), o.Next.ID, func(checkpoint.Cell) error { return nil }) },
		"journal": func() error {
			return a.AppendJournal(t.Context(), o.Next.ID, o.Next.Fence, []checkpoint.JournalEntry{{Seq: 1}})
		},
		"renewal": func() error { _, err := a.RenewLease(t.Context(), ttl); return err },
		"ping":    func() error { return a.Ping(t.Context()) },
	}
	type answer struct {
		name string
		err  error
	}
	answers := make(chan answer, len(calls))
	for name, call := range calls {
		go func() { answers <- answer{name, call()} }()
	}
	for range calls {
		got := <-answers
		if !errors.Is(got.err, checkpoint.ErrSlow) || !strings.Contains(got.err.Error(), "thrown away") {
			t.Errorf("%s: %v, want ErrSlow", got.name, got.err)
		}
	}
	// A read is tried again once; nothing else takes longer than its bound.
	control.End().Within(t, "the last call is answered", 2*tight.Call+margin)
	for {
		renew(t, b, time.Minute)
		head, err := b.Acquire(t.Context(), o.Next.ID)
		if err == nil {
			if head.Seq != o.Next.Seq {
				t.Errorf("the new owner goes on from commit %d, want %d", head.Seq, o.Next.Seq)
			}
			break
		}
		if took := time.Since(began); !isOwned(err) || took > patience {
			t.Fatalf("after %v: %v", took, err)
		}
	}
	taking.End().Within(t, "another daemon has the graph", 2*tight.Call+margin)
	line.swallowAll(false)
	healed := time.Now()
	for {
		_, err := a.RenewLease(t.Context(), ttl)
		if err == nil {
			break
		}
		if time.Since(healed) > patience {
			t.Fatalf("the line carries, and the lease is not renewed: %v", err)
		}
	}
	if _, err := a.Acquire(t.Context(), o.Next.ID); !isOwned(err) {
		t.Errorf("the first daemon: %v, want that the graph is owned", err)
	}
	if err := a.Load(t.Context(), o.Next.ID, func(checkpoint.Cell) error { return nil }); err != nil {
		t.Errorf("load, when the line carries again: %v", err)
	}
}

// A store on a line that carries nothing is closed within seconds (M38).
func TestHalfOpenClose(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a, line := throughProxy(t, dsn, schema, tight)
	renew(t, a, time.Minute)
	checkpointtest.NewOwner(t, a, "g").Commit(t)
	line.swallowAll(true)
	control := stall.Begin()
	_ = a.Close() // it says that the lease could not be given up
	control.End().Within(t, "the store is closed", 2*tight.Call+margin)
}

// What is large gets the time it needs: neither a commit of 100 MB nor its load runs into the bound of a small call.
func TestLargeCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB")
	}
	t.Parallel()
	dsn, schema := newSchema(t)
	// A loaded machine takes its time over 100 MB; that their size counts is what is looked at below.
	p, err := Open(t.Context(), dsn, Options{Schema: schema, Timeouts: Timeouts{Call: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	o := checkpointtest.NewOwner(t, p, "g")
	o.Next.Cells = checkpointtest.CellsOf(100, 1<<20)
	o.Commit(t)
	bytes := 0
	if err := p.Load(t.Context(), o.Next.ID, func(c checkpoint.Cell) error {
		bytes += len(c.Data)
		return nil
	}); err != nil || bytes != 100<<20 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	large := commitSize(&o.Next)
	if got := p.budget(p.bulk, large) - p.budget(p.bulk, 0); large < 100<<20 || got < 10*time.Second {
		t.Errorf("%d bytes may take %v longer than none", large, got)
	}
}
