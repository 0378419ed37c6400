// Package daemon runs whole daemons in the test's own process, through the public package and
// over HTTP, as their users do: from push to sink, updates by file, outbound calls, Kafka,
// backups and stores that earlier releases wrote.
package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// daemon is a real daemon in this process, on a port of its own.
type daemon struct {
	t     *testing.T
	base  string
	ready <-chan struct{}
	stop  func()
}

// startDaemon runs a daemon until the test ends, or stop is called.
func startDaemon(t *testing.T, cfg graphd.Config) *daemon {
	t.Helper()
	cfg.Listen, cfg.Stdout = "127.0.0.1:0", io.Discard
	ctx, cancel := context.WithCancel(context.Background())
	d, err := graphd.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stopped := false
	dm := &daemon{t: t, base: "http://" + d.Addr(), ready: d.Ready()}
	dm.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the daemon did not stop cleanly: %v", err)
		}
	}
	t.Cleanup(dm.stop)
	return dm
}

// send sends a request, and says what was answered.
func (d *daemon) send(method, path, body string) (status int, data []byte) {
	d.t.Helper()
	req, err := http.NewRequest(method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		if strings.HasPrefix(body, "graph:") {
			req.Header.Set("Content-Type", "application/yaml")
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err = io.ReadAll(res.Body); err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, data
}

// do sends a request and decodes the answer into out, when it is given.
func (d *daemon) do(method, path, body string, wantStatus int, out any) {
	d.t.Helper()
	status, data := d.send(method, path, body)
	if status != wantStatus {
		d.t.Fatalf("%s %s: %d, want %d\n%s", method, path, status, wantStatus, data)
	}
	if out != nil {
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(out); err != nil {
			d.t.Fatalf("%s %s: %v\n%s", method, path, err, data)
		}
	}
}

type summary struct {
	Health       string
	HealthReason *struct{ Code, Detail string } `json:"health_reason"`
	Paused       bool
	Epoch        int64
	Incarnation  int64
	Counters     struct {
		Received, Filtered, Conflated, Rejected, Consumed, Queued int64
		DeadLettered                                              int64 `json:"dead_lettered"`
	}
	Accumulators []struct {
		Name, Health, Position string
		Depth                  int
	}
}

func (s *summary) balanced() error {
	c := s.Counters
	if sum := c.Filtered + c.Conflated + c.Rejected + c.DeadLettered + c.Consumed + c.Queued; sum != c.Received {
		return fmt.Errorf("received %d, accounted for %d: %+v", c.Received, sum, c)
	}
	return nil
}

func (d *daemon) summary(graph string) (s summary) {
	d.t.Helper()
	d.do("GET", "/v1/graphs/"+graph, "", 200, &s)
	return s
}

// until polls a condition: for what happens on another goroutine of the daemon.
func (d *daemon) until(what string, cond func() bool) {
	d.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s did not come true in time", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

const quotes = `graph: quotes
accumulators:
  book: {}
  model: {}
reactor: { when: any, strategy: sequential }
nodes:
  edge: { expr: model.fair - (book.bid + book.ask) / 2 }
  side: { route: { buy: edge > 0, sell: true } }
  signal: { after: side.buy, expr: '{ "buy": edge }' }
outputs:
  signals: { from: signal, sink: { websocket: {} } }
`

func TestDaemonRunsAGraph(t *testing.T) {
	dir := t.TempDir()
	d := startDaemon(t, graphd.Config{Data: dir})
	d.do("PUT", "/v1/graphs/quotes", quotes, 201, nil)
	d.until("live", func() bool { return d.summary("quotes").Health == "live" })
	d.do("POST", "/v1/graphs/quotes/accumulators/book/events", `{"bid":100,"ask":102}`, 200, nil)
	d.do("POST", "/v1/graphs/quotes/accumulators/model/events", `[{"fair":103},{"fair":99},{"fair":104}]`, 200, nil)
	d.until("four epochs", func() bool { return d.summary("quotes").Epoch == 4 })
	var fs struct {
		Items []struct {
			Epoch   int64
			OK      bool
			Cause   string
			Outputs map[string]any
		}
	}
	d.do("GET", "/v1/graphs/quotes/firings", "", 200, &fs)
	if got := fmt.Sprint(fs.Items); got != "[{4 true criteria map[signals:map[buy:3]]} {3 true criteria map[]} {2 "+
		"true criteria map[signals:map[buy:2]]} {1 true criteria map[]}]" {
		t.Fatalf("firings %s", got)
	}
	d.do("POST", "/v1/graphs/quotes/pause", "", 200, nil)
	d.do("POST", "/v1/graphs/quotes/accumulators/model/events", `{"fair":110}`, 200, nil)
	d.stop()

	// Everything that was promised survives a stop: state, books, pause, history (W27).
	d = startDaemon(t, graphd.Config{Data: dir})
	d.until("live again", func() bool { return d.summary("quotes").Health == "live" })
	s := d.summary("quotes")
	if err := s.balanced(); err != nil || !s.Paused || s.Epoch != 4 || s.Counters.Queued != 1 || s.Incarnation != 2 {
		t.Fatalf("after the restart: %+v %v", s, err)
	}
	d.do("POST", "/v1/graphs/quotes/resume", "", 200, nil)
	d.until("the queued one", func() bool { return d.summary("quotes").Epoch == 5 })
	d.do("GET", "/v1/graphs/quotes/firings?limit=3", "", 200, &fs)
	if got := fmt.Sprint(fs.Items[0]); got != "{5 true criteria map[signals:map[buy:9]]}" || len(fs.Items) != 3 {
		t.Fatalf("firings %v", fs.Items)
	}
	var fired struct {
		Epoch   int64
		OK      bool
		Outputs map[string]any
	}
	d.do("POST", "/v1/graphs/quotes/fire",
		`{"mode":"with","cache":{"book":{"bid":1,"ask":1},"model":{"fair":5}},"replace":false}`, 200, &fired)
	if fired.Epoch != 6 || fmt.Sprint(fired.Outputs) != "map[signals:map[buy:4]]" {
		t.Fatalf("fired %+v", fired)
	}
	d.do("POST", "/v1/graphs/quotes/fire", `{"mode":"with","cache":{"nosuch":1}}`, 422, nil)
}
