package daemon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/trace/tracetest"
)

// webhook is a server that tells what it is sent.
func webhook(t *testing.T, answers ...int) (url string, got chan http.Header) {
	t.Helper()
	got = make(chan http.Header, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		if len(answers) > 0 {
			w.WriteHeader(answers[0])
			answers = answers[1:]
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

const tracedSecond = `graph: second
accumulators: { a: { source: { graph: { name: first, output: out } } } }
nodes: { n: { expr: a.twice + 1 } }
outputs: { o: { from: n, retry: { base: 10ms }, sink: { http: { url: %q } } } }
`

// The trace of one event: from a record with a traceparent, through two graphs, one of which copies it to another
// topic, to a webhook that takes it at the second time. Each span links to what it comes from, and what is written
// says so, too.
func TestTraceOfOneEvent(t *testing.T) {
	t.Parallel()
	addrs := testbed.Kafka(t)
	in, out := testbed.Topic(t, addrs, 1), testbed.Topic(t, addrs, 1)
	c := tracetest.Start(t, nil)
	url, got := webhook(t, http.StatusServiceUnavailable)
	d := startDaemon(t, graphd.Config{Store: "memory:", KafkaBrokers: addrs, OTLPEndpoint: c.URL, TraceRatio: 1})
	d.do("PUT", "/v1/graphs/first", fmt.Sprintf("graph: first\naccumulators: { orders: { source: { kafka: { topic: %q "+
		"} } } }\nnodes: { n: { expr: '{\"twice\": orders.n * 2}' } }\noutputs: { out: { from: n, sink: { kafka: { "+
		"topic: %q } } } }\n", in, out), 201, nil)
	d.do("PUT", "/v1/graphs/second", fmt.Sprintf(tracedSecond, url), 201, nil)
	const from = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	k := kafkaClient(t, addrs, kgo.ConsumeTopics(out), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := k.ProduceSync(ctx, &kgo.Record{Topic: in, Value: []byte(`{"n":4}`), Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("00-" + from + "-01")}}}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	first := c.Await(ctx, t, "epoch first", nil)
	if !slices.Equal(first.Links, []string{from}) || first.Attrs["graphd.tenant"] != "default" {
		t.Errorf("the first epoch links to %v, and has %v", first.Links, first.Attrs)
	}
	c.Await(ctx, t, "node n", func(s *tracetest.Span) bool { return s.Parent == first.ID && s.Trace == first.Trace })
	through := c.Await(ctx, t, "sink out", func(s *tracetest.Span) bool { return s.Parent == first.ID })
	second := c.Await(ctx, t, "epoch second", nil)
	if want := []string{through.Trace + "-" + through.ID}; !slices.Equal(second.Links, want) ||
		second.Trace == first.Trace {
		t.Errorf("the second epoch, of trace %s, links to %v, want %v", second.Trace, second.Links, want)
	}
	c.Await(ctx, t, "node n", func(s *tracetest.Span) bool { return s.Parent == second.ID })
	hook := c.Await(ctx, t, "sink o", func(s *tracetest.Span) bool { return s.Parent == second.ID })
	for _, failed := range []bool{true, false} {
		c.Await(ctx, t, "call o", func(s *tracetest.Span) bool {
			return s.Parent == hook.ID && (s.Status != nil) == failed
		})
		if h := (<-got).Get("Traceparent"); h != "00-"+hook.Trace+"-"+hook.ID+"-01" {
			t.Errorf("the webhook was sent %q", h)
		}
	}
	records := k.PollFetches(ctx).Records()
	if len(records) != 1 || !slices.ContainsFunc(records[0].Headers, func(h kgo.RecordHeader) bool {
		return h.Key == "traceparent" && string(h.Value) == "00-"+through.Trace+"-"+through.ID+"-01"
	}) {
		t.Errorf("the record has %v", records)
	}
}

// Pushes say where they come from by a header or a member of the frame; a batch links to all that went in. A failed
// and a forced epoch are told of at any ratio, others at none, and no value is.
func TestTracesOfPushes(t *testing.T) {
	t.Parallel()
	c := tracetest.Start(t, nil)
	d := startDaemon(t, graphd.Config{Store: "memory:", OTLPEndpoint: c.URL, TraceRatio: -1})
	d.do("PUT", "/v1/graphs/g", "graph: g\naccumulators: { a: { batch: { size: 2 } } }\n"+
		"nodes: { n: { expr: '1 / int(a[0].n)' } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\n", 201, nil)
	const trace, rest = "0af7651916cd43dd8448eb211c80319c", "-b7ad6b7169203331"
	push := func(n int, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.base+
			"/v1/graphs/g/accumulators/a/events", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Traceparent", fmt.Sprintf("00-%s%s-0%d", trace, rest, n))
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(err, res)
		}
		_ = res.Body.Close()
	}
	push(1, `[{"k":"topsecret","n":1},{"k":"topsecret","n":1}]`) // an epoch that nothing calls for
	push(1, `{"k":"topsecret","n":0}`)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	w, res, err := websocket.Dial(ctx, strings.Replace(d.base, "http", "ws", 1)+"/v1/ws/graphs/g/accumulators/a",
		&websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		t.Fatal(err, res)
	}
	defer func() { _ = w.CloseNow() }()
	other := strings.Replace(trace, "0a", "0b", 1)
	if err := w.Write(ctx, websocket.MessageText, []byte(`{"type":"event","id":1,"data":{"k":"topsecret","n":0},`+
		`"traceparent":"00-`+other+rest+`-00"}`)); err != nil {
		t.Fatal(err)
	}
	s := c.Await(ctx, t, "epoch g", nil)
	if s.Attrs["graphd.epoch"] != int64(2) || s.Status.GetMessage() == "" ||
		!slices.Equal(s.Links, []string{other + rest, trace + rest}) {
		t.Errorf("the failed epoch: links %v, %v %v", s.Links, s.Attrs, s.Status)
	}
	d.do("POST", "/v1/graphs/g/fire", `{"mode":"force"}`, 200, nil)
	c.Await(ctx, t, "epoch g", func(s *tracetest.Span) bool { return s.Attrs["graphd.cause"] == "force" })
	_ = w.CloseNow()
	d.stop()
	for _, s := range c.Spans() {
		if s.Name == "epoch g" && s.Attrs["graphd.epoch"] == int64(1) {
			t.Error("an epoch that nothing is about was told of")
		}
		if strings.Contains(s.String(), "topsecret") {
			t.Errorf("a value is told of: %s", s)
		}
	}
}

// A scrape in OpenMetrics names the trace of an epoch, of its commit and of its delivery; one in text names none.
func TestExemplarsNameTraces(t *testing.T) {
	t.Parallel()
	c := tracetest.Start(t, nil)
	url, _ := webhook(t)
	d := startDaemon(t, graphd.Config{Store: "memory:", OTLPEndpoint: c.URL, TraceRatio: 1,
		AllowOutbound: []string{"127.0.0.1"}})
	d.do("PUT", "/v1/graphs/g", "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a.n } }\n"+
		fmt.Sprintf("outputs: { o: { from: n, sink: { http: { url: %q } } } }\n", url), 201, nil)
	d.do("POST", "/v1/graphs/g/accumulators/a/events", `{"n":1}`, 200, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	epoch := c.Await(ctx, t, "epoch g", nil)
	c.Await(ctx, t, "sink o", nil)
	d.do("POST", "/v1/graphs/g/checkpoint", "", 200, nil)
	scrape := func(accept string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := scrape("text/plain"); strings.Contains(text, "trace_id") {
		t.Errorf("the text names a trace:\n%s", text)
	}
	named := map[string]bool{}
	for line := range strings.Lines(scrape("application/openmetrics-text; version=1.0.0")) {
		if strings.Contains(line, `# {trace_id="`+epoch.Trace+`"}`) {
			name, _, _ := strings.Cut(line, "_bucket{")
			named[name] = true
		}
	}
	for _, name := range []string{"epoch", "checkpoint", "output_delivery"} {
		if !named["graphd_"+name+"_duration_seconds"] {
			t.Errorf("%s names no trace; there are %v", name, named)
		}
	}
}
