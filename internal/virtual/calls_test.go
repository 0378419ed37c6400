package virtual_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/virtual"
)

// calling is a graph of two nodes that call a URL, and how long an epoch of it may take; what it put out, and what
// became a dead letter.
func calling(t *testing.T, url, limit string, answer func(g *virtual.Graph, c *virtual.Clients) virtual.Answerer) (
	out []string, letters []checkpoint.DeadLetter) {
	t.Helper()
	kinds := &builtin.Kinds{}
	kinds.Guard = outboundtest.Guard(t)
	u, diags := kinds.Parse(fmt.Appendf(nil, `graph: g
accumulators: { a: { strategy: sequential } }
reactor: { epoch_timeout: %s }
nodes:
  n: { http: { url: %q, path: a, timeout: 1m }, on_error: skip }
  m: { http: { url: %q, path: a, query: { n: n } }, on_error: skip }
  both: { expr: '[n ?? nil, m ?? nil]' }
outputs: { o: { from: both, sink: { drop: {} } } }
`, limit, url, url), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	clients := virtual.NewClients(t.Context(), u.Plan, kinds.Guard)
	defer clients.Close()
	g := virtual.New(u, time.Unix(0, 0).UTC(), nil)
	g.Calls = answer(g, clients)
	g.Release = func(batch []sink.Message) error {
		for i := range batch {
			out = append(out, batch[i].Value.String())
		}
		return nil
	}
	for _, event := range []string{`"slow"`, `"quick"`} {
		g.Add(0, &boundary.Event{Raw: []byte(event)}, true)
		if err := g.Quiesce(); err != nil {
			t.Fatal(err)
		}
	}
	return out, g.Letters()
}

// M25: in a bounded run too an epoch has its time for what it calls, and fails when that is up: an answer that does not
// come is no error of the node.
func TestM25CallsOfARunHaveTheTimeOfAnEpoch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
		fmt.Fprint(w, "7")
	}))
	defer server.Close()
	until := map[time.Time]int{}
	out, letters := calling(t, server.URL, "5s", func(g *virtual.Graph, c *virtual.Clients) virtual.Answerer {
		return func(node int, r *kind.Request, at time.Time) (kind.Answer, bool) {
			if until[at]++; strings.HasSuffix(r.URL, "/slow") {
				at = time.Now() // as if it had taken so long
			}
			return c.Answer(node, r, at)
		}
	})
	if got := fmt.Sprint(out); got != "[[7,7]]" || len(letters) != 1 || letters[0].Code != "epoch_timeout" {
		t.Errorf("it puts out %s, and %d dead letters: %+v", got, len(letters), letters)
	}
	calls := 0
	for at, n := range until {
		if calls += n; at.IsZero() {
			t.Error("a call has no bound")
		}
	}
	if len(until) != 2 || calls < 3 {
		t.Errorf("%d calls of %d epochs", calls, len(until))
	}
}

// What ends a run ends its calls, and is no time that is up.
func TestTheEndOfARunEndsItsCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	kinds := &builtin.Kinds{}
	kinds.Guard = outboundtest.Guard(t)
	u, diags := kinds.Parse([]byte(`graph: g
accumulators: { a: {} }
nodes: { n: { http: { url: "http://127.0.0.1:1", body: a } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	clients := virtual.NewClients(ctx, u.Plan, kinds.Guard)
	defer clients.Close()
	node := u.Plan.Callers()[0].Node
	a, inTime := clients.Answer(node, &kind.Request{URL: "http://127.0.0.1:1"}, time.Now().Add(time.Hour))
	if !inTime || a.Code != "call_failed" {
		t.Errorf("%+v, in time %v", a, inTime)
	}
}
