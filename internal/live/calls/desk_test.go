package calls

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const doc = `graph: g
accumulators: { a: { strategy: sequential } }
reactor: { key: k }
nodes: { n: { http: { url: "%s", body: a, concurrency: 4, timeout: 1m } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// open makes a core of a graph that calls, with so many keys that wait, and its desk.
func open(t *testing.T, handler http.HandlerFunc, keys int) (*reactor.Core, *Desk, <-chan struct{}) {
	t.Helper()
	return openOf(t, doc, handler, keys)
}

func openOf(t *testing.T, doc string, handler http.HandlerFunc, keys int) (*reactor.Core, *Desk, <-chan struct{}) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	kinds := &builtin.Kinds{}
	kinds.Guard = outboundtest.Guard(t)
	u, diags := kinds.Parse(fmt.Appendf(nil, doc, server.URL), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	cfg := u.Reactor()
	cfg.ID, cfg.Instance = checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: "g"}, uuid.Nil
	cfg.Incarnation, cfg.Fence = 1, 1
	core, now := reactor.NewCore(cfg), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	core.Start(now)
	core.SetHealth(now, 0, accumulator.SocketOnly, "", "")
	h := &accumulator.Handoff{}
	for i := range keys {
		h.Boundaries = append(h.Boundaries, boundary.Boundary{Value: boundary.Int(int64(i)), Events: 1, At: now,
			Key: boundary.KeyOf(boundary.Int(int64(i)))})
	}
	core.Admit(now, 0, h, 0)
	wake := make(chan struct{}, 1)
	d := New(core, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	t.Cleanup(d.Close)
	return core, d, wake
}

// M22: calls are made for the epochs to come, as many at once as the node may have, and each once; the epochs run in
// their order.
func TestM22CallsOfEpochsToCome(t *testing.T) {
	const keys = 40
	const together = 4
	var asked, out, most atomic.Int64
	gate := make(chan struct{}) // nobody is answered before so many are here
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) {
		n := out.Add(1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		if asked.Add(1) == together {
			close(gate)
		}
		select {
		case <-gate:
		case <-time.After(time.Minute): // they do not come: most says so
		}
		<-time.After(2 * time.Millisecond)
		out.Add(-1)
		fmt.Fprint(w, "7")
	}, keys)
	tries := 0
	for core.Epoch() < keys {
		d.Take(core.Now())
		if d.Waits() {
			select {
			case <-wake:
			case <-t.Context().Done():
				t.Fatal("nothing comes")
			}
			continue
		}
		for d.Tried(); core.Fire(core.Now()); {
		}
		tries++
		d.Look(d.ahead, time.Hour, nil)
	}
	for i, m := range core.Released() {
		if m.Key != boundary.KeyOf(boundary.Int(int64(i))) || m.Value.String() != "7" {
			t.Errorf("epoch %d is of key %s: %s", i+1, m.Key, m.Value)
		}
	}
	if most.Load() != together || asked.Load() != keys || tries > keys+1 {
		t.Errorf("%d calls, %d at once, %d tries; want %d, %d and no more than one for each", asked.Load(), most.Load(),
			tries, keys, together)
	}
	if told := d.Told()["n"]; told.Calls != keys || told.Failed != 0 {
		t.Errorf("told %+v", told)
	}
}

// What all ask for that is remembered the first asks, and one that was answered with an error asks again.
func TestOneAsksForAll(t *testing.T) {
	const keys = 10
	var asked atomic.Int64
	core, d, wake := openOf(t, strings.Replace(doc, "body: a", `path: a, cache: { key: '"same"', ttl: 1h }`, 1),
		func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				w.WriteHeader(http.StatusNotFound)
			}
			fmt.Fprint(w, r.URL.Path[1:])
		}, keys)
	for core.Epoch() < keys {
		if d.Take(core.Now()); d.Waits() {
			<-wake
			continue
		}
		for d.Tried(); core.Fire(core.Now()); {
		}
		d.Look(d.ahead, time.Hour, nil)
	}
	out := core.Released()
	for _, m := range out {
		if m.Value.String() != "1" {
			t.Errorf("key %s has %s", m.Key, m.Value)
		}
	}
	told := d.Told()["n"]
	if asked.Load() != 2 || len(out) != keys-1 || told.Calls != 2 || told.Cached != keys-2 || told.Failed != 1 {
		t.Errorf("%d calls, %d answers; told %+v", asked.Load(), len(out), told)
	}
}

// M22: a graph that does not fire, because it is paused for one, asks once and no more, however often it is looked at.
func TestM22NothingIsAskedAgainBeforeItFires(t *testing.T) {
	var asked atomic.Int64
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "7")
	}, 1)
	d.Tried()
	core.Fire(core.Now())
	d.Look(d.ahead, time.Hour, nil)
	for !d.Take(core.Now()) {
		<-wake
	}
	for range 5 {
		d.Look(d.ahead, time.Hour, nil)
	}
	for _, l := range d.lines {
		if l.under > 0 || len(l.waiting) > 0 || len(l.known) > 0 {
			t.Errorf("%d calls are under way, and %d wait", l.under, len(l.waiting))
		}
	}
	d.Tried()
	if !core.Fire(core.Now()) {
		t.Error("it does not fire with the answer")
	}
	d.Close() // and has waited for what was on its way
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// M25: a call ends with the time of its epoch, and its place is another's.
func TestM25ACallEndsWithItsEpoch(t *testing.T) {
	core, d, wake := open(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		<-r.Context().Done()
	}, 1)
	d.most = time.Millisecond
	d.Tried()
	core.Fire(core.Now())
	d.Look(d.ahead, time.Hour, nil)
	for !d.Take(core.Now()) {
		<-wake
	}
	for _, l := range d.lines {
		if l.under > 0 || len(l.known) > 0 {
			t.Errorf("%d calls are under way", l.under)
		}
	}
	d.Tried()
	if core.Fire(core.Now()) || !core.Asking() {
		t.Error("it has an answer")
	}
}

// M38: a desk that is closed waits for no answer.
func TestM38ACloseWaitsForNoAnswer(t *testing.T) {
	began := make(chan struct{}, 4)
	core, d, _ := open(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		began <- struct{}{}
		<-r.Context().Done()
	}, 10)
	core.Fire(core.Now())
	d.Look(d.ahead, time.Hour, nil)
	for range 4 {
		<-began
	}
	d.Close()
	if d.Take(core.Now()) {
		t.Error("what was given up is told as an answer")
	}
	d.Close()
}

// What nobody calls has no desk.
func TestNoDesk(t *testing.T) {
	u, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\n"+
		"outputs: { o: { from: a, sink: { drop: {} } } }\n"), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	d := New(reactor.NewCore(u.Reactor()), nil)
	d.Stir()
	d.Tried()
	more := d.Look(1, time.Hour, nil)
	d.Close()
	if more || d != nil || d.Take(time.Time{}) || d.Waits() || d.Stands() || d.Holds() || d.Told() != nil {
		t.Errorf("%+v", d)
	}
}
