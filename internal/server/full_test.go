package server

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// overEngine is a server over an engine of its own, which keeps its graphs in memory.
func overEngine(t *testing.T) *Server {
	t.Helper()
	return newServer(t, openEngine(t), Config{})
}

// openEngine is a real engine over a store in memory, until the test ends.
func openEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{Store: memory.New(), Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(io.Discard)},
		Log: textLog(io.Discard)})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// caller is a server over an engine of its own; it answers with the body of a request that succeeds.
func caller(t *testing.T, cfg Config) (s *Server, call func(request, body string) []byte) {
	t.Helper()
	h := newServer(t, openEngine(t), cfg)
	return h, func(request, body string) []byte {
		t.Helper()
		method, target, _ := strings.Cut(request, " ")
		x := do(t, h, method, target, strings.NewReader(body))
		if x.status >= 300 {
			t.Fatalf("%s: got %d %s", request, x.status, x.body)
		}
		return x.body
	}
}

// M4, M10: over REST and to those who watch, an input that is full says who it waits for.
func TestM4InputFullAgainstTheEngine(t *testing.T) {
	t.Parallel()
	s, call := caller(t, Config{PushTimeout: 3 * time.Second})
	const g = "/v1/graphs/zip"
	call("PUT "+g, `
graph: zip
accumulators: { a: { capacity: 2 }, b: {} }
reactor: { when: all, strategy: sequential }
nodes: { n: { expr: '[a, b]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`)
	watcher := connect(t, serve(t, s)+"/v1/ws/graphs/zip/reactor")
	watcher.send(`{"type":"subscribe","id":1,"topics":["health"]}`)
	call("POST "+g+"/accumulators/a/events", `[1, 2]`)
	if x := do(t, s, "POST", g+"/accumulators/a/events", strings.NewReader(`[3]`)); x.status != 429 {
		t.Fatalf("a full input answers %d %s", x.status, x.body)
	}
	until := func(code string) {
		for {
			var health struct {
				Type         string
				HealthReason *api.Reason `json:"health_reason"`
			}
			if err := json.Unmarshal([]byte(watcher.next()), &health); err != nil {
				t.Fatal(err)
			}
			if health.HealthReason == nil {
				health.HealthReason = &api.Reason{}
			}
			if health.Type == "health" && health.HealthReason.Code == code {
				return
			}
		}
	}
	until("input_full")
	var sum api.GraphSummary
	if err := json.Unmarshal(call("GET "+g, ""), &sum); err != nil {
		t.Fatal(err)
	}
	if r := sum.HealthReason; sum.Health != "degraded" || r == nil || r.Code != "input_full" ||
		!strings.Contains(r.Detail, "a is full") || !strings.Contains(r.Detail, "until b has something") {
		t.Fatalf("got %s %+v", sum.Health, sum.HealthReason)
	}
	call("POST "+g+"/accumulators/b/events", `[1]`)
	until("")
}

// M4, M13: five thousand orders wait for payments that come in another order: each finds its own.
func TestM13JoinOfManyKeys(t *testing.T) {
	t.Parallel()
	_, call := caller(t, Config{PushTimeout: time.Minute})
	const g = "/v1/graphs/join"
	call("PUT "+g, `
graph: join
accumulators: { orders: {}, payments: {} }
reactor: { key: id, when: all, strategy: sequential, max_wait: 15m }
nodes: { n: { expr: '[key, orders.n, payments.n]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`)
	const n = 5000
	var orders, payments []string
	for i := range n {
		orders = append(orders, fmt.Sprintf(`{"id":%d,"n":%d}`, i, i))
	}
	payments = slices.Clone(orders)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, k int) { payments[i], payments[k] = payments[k], payments[i] })
	call("POST "+g+"/accumulators/orders/events", "["+strings.Join(orders, ",")+"]")
	var sum api.GraphSummary
	await := func(what string, done func() bool) {
		t.Helper()
		eventually(t, what, func() bool {
			sum = api.GraphSummary{}
			if err := json.Unmarshal(call("GET "+g, ""), &sum); err != nil {
				t.Fatal(err)
			}
			return done()
		})
	}
	await("all orders wait", func() bool { return sum.Counters.Queued == n })
	if a := sum.Accumulators[0]; sum.Keys.Waiting != n || a.Waiting != n || a.Depth != 0 || sum.Keys.WaitingBytes < n ||
		a.Counters.Queued != n {
		t.Fatalf("before the payments: %+v, %+v", sum.Keys, a)
	}
	call("POST "+g+"/accumulators/payments/events", "["+strings.Join(payments, ",")+"]")
	await("all are joined", func() bool { return sum.Epoch == n && sum.Counters.Queued == 0 })
	if sum.Keys.Waiting != 0 || sum.Counters.Consumed != 2*n {
		t.Fatalf("in the end: epoch %d, %+v, %+v", sum.Epoch, sum.Keys, sum.Counters)
	}
	if state := string(call("GET "+g+"/state?key=77", "")); !strings.Contains(state, "[77,77,77]") {
		t.Fatalf("got %s", state)
	}
}
