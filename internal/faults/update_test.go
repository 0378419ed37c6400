package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/client"
)

// changingGraph has the shape that the update test changes: what stands at %s comes and
// goes, the capacity at %d alters, and the rest means the same throughout.
const changingGraph = `graph: changing
accumulators:
  http: { capacity: %d }
  socket: { capacity: %d }
  lines: { source: { file: { path: %s, format: ndjson, follow: true } } }
  kept: { state: { keep: 5 }, passive: true }
%s
reactor: { when: any, strategy: sequential }
nodes:
  of_http: { expr: http }
  of_socket: { expr: socket }
  digest: { expr: sum(kept) }
%s
outputs:
  out_http: { from: of_http, sink: { file: { path: %s } } }
  out_socket: { from: of_socket, sink: { file: { path: %s } } }
  out_lines: { from: lines, sink: { file: { path: %s } } }
durability: { interval: 100ms }
`

// changer makes the declarations of the update test, in a folder.
type changer struct{ dir string }

func (c *changer) path(name string) string { return filepath.Join(c.dir, name+".ndjson") }

func (c *changer) doc(i int) string {
	acc, node := "", ""
	if i%2 == 1 {
		acc = "  fleeting: { batch: { size: 3 }, passive: true }"
		node = fmt.Sprintf("  fleeting_%d: { expr: 'digest == nil ? 0 : digest + %d' }", i%3, i)
	}
	return fmt.Sprintf(changingGraph, 200+i, 300+i, c.path("lines"), acc, node, c.path("out_http"),
		c.path("out_socket"), c.path("out_lines"))
}

// M33: a graph is updated a hundred times while events come in over HTTP, over WebSocket
// and from a followed file. No event is lost and none doubled, the order is kept, the state
// of unchanged names is kept, the books balance, and a subscriber stays connected and sees
// every frame. One update in ten cannot start and is rolled back.
func TestHundredUpdatesUnderLoad(t *testing.T) {
	updates := 100
	if testing.Short() {
		updates = 20
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &changer{dir}
	if err := os.WriteFile(c.path("lines"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, "--files-dir", dir, "--push-timeout", "1m") // a busy machine takes its time over a push
	if _, err := c.put(p, c.doc(0)); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := p.do("POST", "/v1/graphs/changing/accumulators/kept/events", fmt.Sprint(i+1), nil); err != nil {
			t.Fatal(err)
		}
	}
	load := startTraffic(t, p, c)
	wantRevision := int64(1)
	for i := 1; i <= updates; i++ {
		doc, want := c.doc(i), http.StatusOK
		if i%10 == 0 {
			doc, want = strings.Replace(doc, c.path("out_http"), filepath.Join(dir, "lines.ndjson", "nowhere"), 1),
				http.StatusFailedDependency
		} else {
			wantRevision++
		}
		if status, err := c.put(p, doc); status != want {
			t.Fatalf("update %d: %d %v, want %d\n%s", i, status, err, want, p.log)
		}
		<-time.After(10 * time.Millisecond) // the updated graph has work to do before the next
	}
	sent := load.stop()
	p.changes("POST", "/v1/graphs/changing/drain", "")
	for name, n := range sent {
		if n < int64(updates) {
			t.Fatalf("void: only %d events over %s", n, name)
		}
		p.until(name+" is consumed", stuck, func() bool { return consumed(p, name) == n })
		checkCount(t, c.path("out_"+name), n)
	}
	s := p.summary("changing")
	if err := s.balanced(); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Accumulators {
		// kept is passive: newer values replace older ones
		if c := a.Counters; c.Rejected+c.DeadLettered+c.Conflated != 0 && a.Name != "kept" {
			t.Errorf("%s: %+v", a.Name, c)
		}
	}
	var st struct{ Cache map[string]json.RawMessage }
	if err := p.do("GET", "/v1/graphs/changing/state", "", &st); err != nil ||
		string(st.Cache["kept"]) != "[1,2,3,4,5]" {
		t.Fatalf("%v: kept is %s", err, st.Cache["kept"])
	}
	load.watched(p, sent)
	t.Logf("%d updates to revision %d, events sent %v", updates, wantRevision, sent)
}

// put updates the graph. What the audit has no time for has changed nothing, and is asked for again.
func (c *changer) put(p *process, doc string) (status int, err error) {
	p.until("an update is answered", stuck, func() bool {
		status, err = c.tryPut(p, doc)
		return err == nil || !strings.HasPrefix(err.Error(), "audit_unwritable")
	})
	return status, err
}

func (c *changer) tryPut(p *process, doc string) (int, error) {
	req, err := http.NewRequest("PUT", p.base+"/v1/graphs/changing", strings.NewReader(doc))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/yaml")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var answer struct {
		Code, Detail string
		Graph        struct{ Health string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return res.StatusCode, err
	}
	switch {
	case res.StatusCode/100 != 2:
		return res.StatusCode, fmt.Errorf("%s: %s", answer.Code, answer.Detail)
	case answer.Graph.Health != "live":
		return 0, fmt.Errorf("it was answered while the graph was %s", answer.Graph.Health)
	}
	return res.StatusCode, nil
}

func consumed(p *process, accumulator string) int64 {
	for _, a := range p.summary("changing").Accumulators {
		if a.Name == accumulator {
			return a.Counters.Consumed
		}
	}
	return -1
}

// traffic pushes the numbers from 0 up, each way, until it is stopped, and subscribes.
type traffic struct {
	t        *testing.T
	wg       sync.WaitGroup
	ended    chan struct{}
	sent     map[string]*atomic.Int64
	seen     map[string]*atomic.Int64 // by the subscriber
	watch    *client.Watch
	watching chan struct{} // closed when the subscriber has ended
	problem  chan error    // has room for one of each
}

func startTraffic(t *testing.T, p *process, c *changer) *traffic {
	t.Helper()
	l := &traffic{
		t: t, ended: make(chan struct{}), watching: make(chan struct{}), problem: make(chan error, 4),
		sent: map[string]*atomic.Int64{"http": {}, "socket": {}, "lines": {}},
		seen: map[string]*atomic.Int64{"out_http": {}, "out_socket": {}, "out_lines": {}},
	}
	api, err := client.New(client.Config{BaseURL: p.base})
	if err != nil {
		t.Fatal(err)
	}
	if l.watch, err = api.Watch(t.Context(), "changing", []string{"outputs"}, ""); err != nil {
		t.Fatal(err)
	}
	go l.subscriber() // ends with the watch, joined by watched
	for name, push := range map[string]func(from, n int64) error{
		"http":   func(from, n int64) error { return l.pushHTTP(p, from, n) },
		"socket": l.socket(p),
		"lines":  func(from, n int64) error { return appendLines(c.path("lines"), from, n) },
	} {
		l.wg.Go(func() {
			for {
				select {
				case <-l.ended:
					return
				case <-time.After(2 * time.Millisecond): // about 5,000 events a second each way
				}
				if err := push(l.sent[name].Load(), 10); err != nil {
					l.problem <- fmt.Errorf("%s: %w", name, err)
					return
				}
				l.sent[name].Add(10)
			}
		})
	}
	return l
}

// stop ends the load and says how many events went each way.
func (l *traffic) stop() map[string]int64 {
	l.t.Helper()
	close(l.ended)
	l.wg.Wait()
	select {
	case err := <-l.problem:
		l.t.Fatal(err)
	default:
	}
	sent := make(map[string]int64)
	for name, n := range l.sent {
		sent[name] = n.Load()
	}
	return sent
}

// watched waits until the subscriber has seen every value.
func (l *traffic) watched(p *process, sent map[string]int64) {
	l.t.Helper()
	for name, n := range sent {
		p.until("the subscriber has seen "+name, stuck, func() bool {
			return l.seen["out_"+name].Load() == n || len(l.problem) > 0
		})
	}
	_ = l.watch.Close()
	<-l.watching
	select {
	case err := <-l.problem:
		l.t.Error(err)
	default:
	}
}

// subscriber counts each output's frames, which must come in order and without a gap.
func (l *traffic) subscriber() {
	defer close(l.watching)
	for {
		f, err := l.watch.Next(l.t.Context())
		if err != nil {
			return // closed, or there are values missing in the end
		}
		n := l.seen[f.Output]
		if f.Type != "output" || string(f.Value) != fmt.Sprintf(`{"n":%d}`, n.Load()) {
			l.problem <- fmt.Errorf("the subscriber got %+v as number %d of %s", f, n.Load(), f.Output)
			return
		}
		n.Add(1)
	}
}

func numbers(from, n int64) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\":%d}\n", from+i)
	}
	return b.String()
}

func (l *traffic) pushHTTP(p *process, from, n int64) error {
	res, err := http.Post(p.base+"/v1/graphs/changing/accumulators/http/events", "application/x-ndjson",
		strings.NewReader(numbers(from, n)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var got pushed
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || res.StatusCode != http.StatusOK ||
		got.Accepted != int(n) {
		return fmt.Errorf("%s %+v %w", res.Status, got, err)
	}
	return nil
}

// socket is one connection that stays open over all updates.
func (l *traffic) socket(p *process) func(from, n int64) error {
	conn, err := dialPush(p, "changing", "socket")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.CloseNow() })
	return func(from, n int64) error {
		list := strings.ReplaceAll(strings.TrimSpace(numbers(from, n)), "\n", ",")
		return pushFrame(conn, from, list, int(n))
	}
}

func appendLines(path string, from, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(numbers(from, n)); err != nil {
		return err
	}
	return f.Close()
}

// checkCount reads what came out: the numbers from 0 to n-1, each once, in order.
func checkCount(t *testing.T, path string, n int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := int64(0)
	for lines := bufio.NewScanner(f); lines.Scan(); next++ {
		var l struct{ Value struct{ N int64 } }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Value.N != next {
			t.Fatalf("%s: %d came where %d was due", filepath.Base(path), l.Value.N, next)
		}
	}
	if next != n {
		t.Fatalf("%s: %d of %d came out", filepath.Base(path), next, n)
	}
}
