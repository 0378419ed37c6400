package trace

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/trace/tracetest"
)

func names() Names {
	return Names{Tenant: "acme", Graph: "g", Instance: [16]byte{1, 2, 3}, Nodes: []string{"a", "b"}}
}

func newTracer(t *testing.T, cfg Config) *Tracer {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// link is what a header names.
func link(t *testing.T, header string) *traced.Links {
	t.Helper()
	l := traced.FromHeader(header)
	if l == nil {
		t.Fatalf("%s names nothing", header)
	}
	return l
}

const sent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestSpansOfAnEpoch: what is sent is what the types of the protocol read: the epoch with its links, its nodes, sinks
// and calls below it, and the headers of the operator.
func TestSpansOfAnEpoch(t *testing.T) {
	t.Parallel()
	c := tracetest.Start(t, nil)
	tr := newTracer(t, Config{Endpoint: c.URL, Ratio: 1, Headers: []string{"Authorization=Bearer x"}, Version: "v1"})
	stop := tr.Start()
	g := tr.Graph(names())
	end := time.Unix(1_000, 0)
	e := Epoch{Incarnation: 3, Number: 7, Cause: "criteria", Took: 100, End: end, Events: 2,
		Links: []*traced.Links{link(t, sent)}, Nodes: []Node{{Index: 0, Took: 30}, {Index: 1, Took: 50, Failed: true,
			Code: "overflow"}}}
	if !g.Samples(&e) {
		t.Error("not recorded at a ratio of 1")
	}
	g.Epoch(&e)
	o := g.Output(0, "out", true)
	at := o.Of(3, 7)
	o.Tried(at, end, end.Add(5), true, "delivery_failed")
	o.Tried(at, end.Add(5), end.Add(9), false, "")
	o.Settled(at, 3, 7, end, end.Add(10), "")
	stop()
	by := map[string][]tracetest.Span{}
	for _, s := range c.Spans() {
		if s.Trace != at.String()[3:35] {
			t.Errorf("%s is of the trace %s", s.Name, s.Trace)
		}
		by[s.Name] = append(by[s.Name], s)
	}
	root, a, b, sink, calls := by["epoch g"][0], by["node a"][0], by["node b"][0], by["sink out"][0], by["call out"]
	if root.Parent != "" || len(root.Links) != 1 || root.Links[0] != sent[3:52] ||
		root.Attrs["graphd.tenant"] != "acme" ||
		root.Attrs["graphd.epoch"] != int64(7) || root.Attrs["graphd.cause"] != "criteria" ||
		root.Attrs["graphd.events"] != int64(2) || root.EndTimeUnixNano-root.StartTimeUnixNano != 100 {
		t.Errorf("epoch: %+v", root)
	}
	if a.Parent != root.ID || b.Parent != root.ID || a.EndTimeUnixNano != b.StartTimeUnixNano ||
		b.Status.GetMessage() != "overflow" || a.Status != nil {
		t.Errorf("nodes: %+v %+v", a, b)
	}
	if sink.Parent != root.ID || sink.ID != at.String()[36:52] || len(calls) != 2 || calls[0].Parent != sink.ID ||
		calls[0].Status.GetMessage() != "delivery_failed" || calls[1].Status != nil || calls[0].ID == calls[1].ID {
		t.Errorf("sink: %+v, calls: %+v", sink, calls)
	}
	if c.Headers().Get("Authorization") != "Bearer x" || c.Headers().Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("headers: %v", c.Headers())
	}
	if st := tr.Stats(); st != (Stats{Sent: 6}) {
		t.Errorf("%+v", st)
	}
}

// TestSampledByCause: epochs that failed, were forced, were slow, or follow from one that is recorded are recorded at
// any ratio, of the others as many as it says; what is delivered of them knows.
func TestSampledByCause(t *testing.T) {
	t.Parallel()
	own := traced.From(traced.Context{Trace: [16]byte{1}, Span: [8]byte{1}, Sampled: true}, true)
	for name, tt := range map[string]struct {
		e    Epoch
		want bool
	}{
		"plain":                         {Epoch{}, false},
		"failed":                        {Epoch{Failed: true}, true},
		"forced":                        {Epoch{Forced: true}, true},
		"slow":                          {Epoch{Took: time.Second}, true},
		"not slow":                      {Epoch{Took: time.Second - 1}, false},
		"of a sender who records":       {Epoch{Links: []*traced.Links{link(t, sent)}}, false},
		"of a graph that is recorded":   {Epoch{Links: []*traced.Links{own}}, true},
		"of one among others that does": {Epoch{Links: []*traced.Links{own.Join(link(t, sent))}}, true},
	} {
		tr := newTracer(t, Config{Endpoint: "http://127.0.0.1:1", Ratio: -1})
		g := tr.Graph(names())
		tt.e.Incarnation, tt.e.Number = 1, 9
		if got := g.Samples(&tt.e); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		at := g.Output(0, "o", true).Of(1, 9)
		if at.Sampled != tt.want || strings.HasSuffix(at.String(), "-01") != tt.want {
			t.Errorf("%s: what is delivered says %s", name, at)
		}
		if got := g.Output(0, "o", false).Of(1, 9); (got != nil) != tt.want {
			t.Errorf("%s: a sink that sends on nothing has %v", name, got)
		}
	}
	tr := newTracer(t, Config{Endpoint: "http://127.0.0.1:1", Ratio: 0.01})
	g, n, seen := tr.Graph(names()), 0, map[string]bool{}
	const epochs = 100_000
	for i := range int64(epochs) {
		if g.Samples(&Epoch{Incarnation: 1, Number: i}) {
			n++
		}
		seen[g.Output(0, "o", true).Of(1, i).String()] = true
	}
	if n < 900 || n > 1100 || len(seen) != epochs {
		t.Errorf("%d of %d at 1 %%, %d different", n, epochs, len(seen))
	}
	again := newTracer(t, Config{Endpoint: "http://127.0.0.1:1", Ratio: 0.01}).Graph(names())
	if *g.Output(0, "o", true).Of(2, 5) != *again.Output(0, "o", true).Of(2, 5) {
		t.Error("after a restart the epoch is of another trace")
	}
}

// TestSendingIsBounded: what there is no room for is dropped and counted, what is not taken is sent again and then
// given up, and nobody waits for it.
func TestSendingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTracer(t, Config{Endpoint: "http://127.0.0.1:1", Ratio: 1})
		var asked atomic.Int64
		tr.client = &http.Client{Transport: answering(func(*http.Request) int { asked.Add(1); return 503 })}
		stop := tr.Start()
		defer stop()
		g := tr.Graph(names())
		for i := range int64(maxSpans + 4*batchSpans) {
			g.Epoch(&Epoch{Number: i, End: time.Now()})
		}
		synctest.Wait()
		if st := tr.Stats(); st.Dropped == 0 || st.Sent != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(time.Minute)
		if st := tr.Stats(); st.Failed < batchSpans || asked.Load() < tries {
			t.Errorf("%+v after %d requests", st, asked.Load())
		}
	})
}

type answering func(*http.Request) int

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a(r), Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// TestSentAgain: a collector that is busy is asked again, and has each span once in the count.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		tr := newTracer(t, Config{Endpoint: "http://127.0.0.1:1", Ratio: 1})
		tr.client = &http.Client{Transport: answering(func(*http.Request) int {
			if asked.Add(1) < 3 {
				return 429
			}
			return 200
		})}
		stop := tr.Start()
		defer stop()
		tr.Graph(names()).Epoch(&Epoch{Number: 1, End: time.Now()})
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := tr.Stats(); st != (Stats{Sent: 1}) || asked.Load() != 3 {
			t.Errorf("%+v after %d requests", st, asked.Load())
		}
	})
}

// TestConfig: what cannot be used is refused, without showing a secret.
func TestConfig(t *testing.T) {
	t.Parallel()
	const ok = "https://collector.example:4318"
	for name, cfg := range map[string]Config{
		"no URL": {Endpoint: "collector:4318"}, "another scheme": {Endpoint: "grpc://x:4317"},
		"a password": {Endpoint: "https://u:secret@x"}, "a query": {Endpoint: ok + "?key=secret"},
		"a ratio": {Endpoint: ok, Ratio: 1.5}, "a negative time": {Endpoint: ok, Slow: -1},
		"a header": {Endpoint: ok, Headers: []string{"secret"}}, "two lines": {Endpoint: ok,
			Headers: []string{"A=secret\nB: c"}}, "no endpoint": {Headers: []string{"A=secret"}},
		"no file": {Endpoint: ok, Headers: []string{"A=file:/nowhere"}},
	} {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for given, want := range map[string]string{ok: ok + "/v1/traces", ok + "/": ok + "/v1/traces",
		ok + "/otlp": ok + "/otlp/v1/traces", ok + "/v1/traces": ok + "/v1/traces"} {
		if tr := newTracer(t, Config{Endpoint: given}); tr.url != want {
			t.Errorf("%s: %s", given, tr.url)
		}
	}
	if tr, err := New(Config{}); tr != nil || err != nil || tr.Graph(names()) != nil {
		t.Errorf("without an endpoint: %v %v", tr, err)
	}
}
