package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const inOrderGraph = `graph: in_order
accumulators:
  events:
    schema: { type: object, required: [c, n], properties: { c: { type: integer }, n: { type: integer } } }
reactor: { when: any, strategy: sequential }
outputs: { out: { from: events, sink: { file: { path: ../out.ndjson } } } }
`

const newestGraph = `graph: newest
accumulators: { events: {} }
reactor: { when: any, strategy: latest }
nodes: { n: { expr: events.n * 2 } }
outputs: { out: { from: n, sink: { drop: {} } } }
`

// clients is how many push at once: the first half over HTTP, the others over WebSocket.
const clients = 4

// TestMillionEvents pushes a million events from four clients into a sequential and into a
// latest graph (M4, M42): the books balance exactly, the order of each client is kept,
// nothing is lost or doubled, and memory stays bounded.
func TestMillionEvents(t *testing.T) {
	each := 250_000
	if testing.Short() {
		each = 10_000
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string]string{"in_order": inOrderGraph, "newest": newestGraph} {
		if err := os.WriteFile(filepath.Join(dir, "graphs", name+".yaml"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir)
	total := int64(clients * each)
	for _, graph := range []string{"in_order", "newest"} {
		began := time.Now()
		pushAll(t, p, graph, each)
		took := time.Since(began)
		if err := p.do("POST", "/v1/graphs/"+graph+"/drain", "", nil); err != nil {
			t.Fatal(err)
		}
		s := p.summary(graph)
		if err := s.balanced(); err != nil {
			t.Fatalf("%s: %v", graph, err)
		}
		c := s.Counters
		if c.Received != total || c.Queued != 0 || c.Consumed+c.Conflated != total {
			t.Fatalf("%s: %+v, want %d events consumed or conflated", graph, c, total)
		}
		if graph == "in_order" && (c.Consumed != total || s.Epoch != total) {
			t.Fatalf("%s: %+v, epoch %d", graph, c, s.Epoch)
		}
		t.Logf("%s: %d events in %v (%.0f/s), %d epochs, %d conflated", graph, total, took.Round(time.Millisecond),
			float64(total)/took.Seconds(), s.Epoch, c.Conflated)
	}
	checkOrder(t, filepath.Join(dir, "out.ndjson"), each)
	if peak := peakMemory(t, p); peak > 400<<20 {
		t.Errorf("peak memory was %d MB", peak>>20)
	} else {
		t.Logf("peak memory %d MB", peak>>20)
	}
}

// pushAll has every client push its events, in order, and waits for the last answer.
func pushAll(t *testing.T, p *process, graph string, each int) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for c := range clients {
		wg.Go(func() {
			if c < clients/2 {
				errs <- pushHTTP(p, graph, c, each)
			} else {
				errs <- pushSocket(p, graph, c, each)
			}
		})
	}
	wg.Wait()
	for range clients {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

type pushed struct {
	Accepted int
	Rejected []struct{ Code, Detail string }
}

// pushHTTP sends NDJSON in requests of 500; a request that was not taken whole is followed by its rest.
func pushHTTP(p *process, graph string, client, each int) error {
	next := 0
	for next < each {
		n := min(500, each-next)
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"c\":%d,\"n\":%d}\n", client, next+i)
		}
		res, err := http.Post(p.base+"/v1/graphs/"+graph+"/accumulators/events/events", "application/x-ndjson",
			strings.NewReader(b.String()))
		if err != nil {
			return err
		}
		var got pushed
		err = json.NewDecoder(res.Body).Decode(&got)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || len(got.Rejected) > 0 || got.Accepted != n {
			return fmt.Errorf("client %d: %s %+v %w", client, res.Status, got, err)
		}
		next += n
	}
	return nil
}

// pushSocket sends frames of 200 and reads the answers on the way, up to ten behind.
func pushSocket(p *process, graph string, client, each int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.base, "http")+"/v1/ws/graphs/"+graph+
		"/accumulators/events",
		&websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	acked, sent := 0, 0
	read := func() error {
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			var f struct {
				Type string
				pushed
			}
			if err := json.Unmarshal(data, &f); err != nil {
				return err
			}
			if f.Type == "hello" {
				continue
			}
			if f.Type != "ack" || len(f.Rejected) > 0 {
				return fmt.Errorf("client %d: %s", client, data)
			}
			acked += f.Accepted
			return nil
		}
	}
	for sent < each {
		n := min(200, each-sent)
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"events","id":%d,"data":[`, sent)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"c":%d,"n":%d}`, client, sent+i)
		}
		b.WriteString("]}")
		if err := conn.Write(ctx, websocket.MessageText, []byte(b.String())); err != nil {
			return err
		}
		sent += n
		if sent-acked >= 2000 {
			if err := read(); err != nil {
				return err
			}
		}
	}
	for acked < each {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder reads what came out: each client's events once, in the order it sent them.
func checkOrder(t *testing.T, path string, each int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var next [clients]int
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l struct{ Value struct{ C, N int } }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Value.N != next[l.Value.C] {
			t.Fatalf("client %d: %d came where %d was due", l.Value.C, l.Value.N, next[l.Value.C])
		}
		next[l.Value.C]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for c, n := range next {
		if n != each {
			t.Errorf("client %d: %d of %d came out", c, n, each)
		}
	}
}

// peakMemory is the most memory the process ever held, in bytes.
func peakMemory(t *testing.T, p *process) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Logf("peak memory is not to be had here: %v", err)
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}

// dialPush opens a WebSocket connection that pushes to an accumulator.
func dialPush(p *process, graph, accumulator string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.base, "http")+"/v1/ws/graphs/"+graph+"/accumulators/"+
		accumulator,
		&websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	return conn, err
}

// pushFrame sends n events, a comma-separated list, and waits until all are acknowledged.
func pushFrame(conn *websocket.Conn, id int64, list string, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"events","id":%d,"data":[%s]}`, id,
		list)); err != nil {
		return err
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var f struct {
			Type string
			pushed
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		switch {
		case f.Type == "hello":
		case f.Type != "ack" || f.Accepted != n:
			return fmt.Errorf("answer %s", data)
		default:
			return nil
		}
	}
}
