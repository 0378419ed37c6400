package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// lineLength is the length of every line of the load, so that a position says how many
// events lie before it.
const lineLength = 32

// load appends numberedLine events to a file until ctx is done, every 10 ms.
type load struct {
	f       *os.File
	written atomic.Int64
	done    chan struct{}
}

// startLoad writes about 5,000 events a second.
func startLoad(ctx context.Context, t *testing.T, path string) *load {
	return startLoadAt(ctx, t, path, 50)
}

func startLoadAt(ctx context.Context, t *testing.T, path string, each int64) *load {
	t.Helper()
	return startLines(ctx, t, path, each, numberedLine)
}

// numberedLine is the line of the load's n-th event.
func numberedLine(n int64) string {
	return fmt.Sprintf("%-*s", lineLength-1, fmt.Sprintf(`{"n":%d}`, n))
}

// startLines appends the lines of so many events every 10 ms. It goes by the clock: where it gets no processor for a
// while, what is due then is written behind that, and the load is the same on every machine.
func startLines(ctx context.Context, t *testing.T, path string, each int64, line func(n int64) string) *load {
	t.Helper()
	return startUntilFull(ctx, t, path, each, line, func(int64) bool { return false })
}

// startUntilFull is startLines that waits while full says that so many are enough for now.
func startUntilFull(ctx context.Context, t *testing.T, path string, each int64, line func(n int64) string,
	full func(written int64) bool) *load {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{f: f, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer f.Close()
		const turn = 10 * time.Millisecond
		ticker := time.NewTicker(turn)
		defer ticker.Stop()
		for began := time.Now(); ; {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			var b strings.Builder
			n := l.written.Load()
			if full(n) {
				began = time.Now().Add(-time.Duration(n/each) * turn)
				continue
			}
			due := int64(time.Since(began)/turn)*each - n
			for i := range min(due, 100*each) { // a second at a time
				b.WriteString(line(n + i))
				b.WriteByte('\n')
			}
			if _, err := f.WriteString(b.String()); err != nil {
				return
			}
			l.written.Add(min(due, 100*each))
		}
	}()
	return l
}

// historyGraph keeps the last events in a state window: what is lost or doubled shows in it.
const historyGraph = `graph: history
accumulators:
  events:
    source: { file: { path: ../events.ndjson, follow: true } }
    emit: event.n
    state: { keep: 2000 }
  note: { passive: true }
reactor: { when: any, strategy: sequential }
nodes:
  newest: { expr: last(events) }
outputs:
  newest: { from: newest, sink: { drop: {} } }
durability: { interval: 50ms }
`

// TestKillFollowedFile kills the daemon at random moments under load (M28, M42, M44): after
// every restart the position is exact, the books balance, the window holds each event once,
// and the graph fires again within three seconds.
func TestKillFollowedFile(t *testing.T) {
	t.Parallel()
	killMany(t, kills(t, 10), 0)
}

// TestKillWithALargeCache does the same with 50 MB in the cache.
func TestKillWithALargeCache(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("50 MB are restored at each start: not for the inner loop")
	}
	killMany(t, max(2, kills(t, 10)/10), 50<<20)
}

// again is how soon a graph fires again after the start of the daemon, also with 50 MB to restore.
const again = 3 * time.Second

func killMany(t *testing.T, n, cacheBytes int) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "graphs", "history.yaml"), []byte(historyGraph), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	l := startLoad(ctx, t, filepath.Join(dir, "events.ndjson"))
	args := []string{"--max-body", "104857600"}
	var slowest time.Duration
	if cacheBytes > 0 {
		p := start(t, dir, args...)
		body := `"` + strings.Repeat("x", cacheBytes) + `"`
		if err := p.do("POST", "/v1/graphs/history/accumulators/note/events", body, nil); err != nil {
			t.Fatal(err)
		}
		p.until("the note is in the cache", stuck, func() bool {
			return p.summary("history").Accumulators[1].Counters.Consumed == 1
		})
		p.changes("POST", "/v1/graphs/history/checkpoint", "")
		p.kill()
	}
	lives, by := 0, beside(t)
	killAtRandom(t, dir, "history", n, func(p *process, _ summary) {
		took := time.Since(p.began)
		by.kept(t, "firing again", took, again)
		by.anew()
		slowest = max(slowest, took)
		checkHistory(t, p, lives)
		lives++
	}, args...)
	rate := float64(l.written.Load()) / time.Since(began).Seconds()
	cancel()
	<-l.done

	p := start(t, dir, args...)
	total := l.written.Load()
	p.until("everything is in the state", stuck, func() bool {
		return p.summary("history").Accumulators[0].Counters.Consumed == total
	})
	s := checkHistory(t, p, n)
	if s.Incarnation < int64(n) {
		t.Errorf("incarnation %d after %d kills", s.Incarnation, n)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	t.Logf("%d kills at %.0f events/s: %d events, each once; slowest from start to firing %v", n, rate, total,
		slowest.Round(time.Millisecond))
}

// checkHistory holds one state of the daemon against what must be true of it.
func checkHistory(t *testing.T, p *process, kill int) summary {
	t.Helper()
	s := p.summary("history")
	if err := s.balanced(); err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	events := s.Accumulators[0]
	var offset int64
	if _, err := fmt.Sscanf(events.Position[strings.LastIndex(events.Position, "@")+1:], "%d", &offset); err != nil {
		t.Fatalf("kill %d: position %q: %v", kill, events.Position, err)
	}
	if offset != events.Counters.Received*lineLength {
		t.Fatalf("kill %d: position %d is not that of %d events", kill, offset, events.Counters.Received)
	}
	var state struct {
		Cache map[string]json.RawMessage
		Nodes struct{ Newest int64 }
	}
	if err := p.do("GET", "/v1/graphs/history/state", "", &state); err != nil {
		t.Fatal(err)
	}
	var window []int64
	if err := json.Unmarshal(state.Cache["events"], &window); err != nil {
		t.Fatal(err)
	}
	for i := range window {
		if window[i] != window[0]+int64(i) {
			t.Fatalf("kill %d: the window goes from %d to %d", kill, window[i-1], window[i])
		}
	}
	if len(window) > 0 && window[len(window)-1] != state.Nodes.Newest {
		t.Fatalf("kill %d: the window ends with %d, the node says %d", kill, window[len(window)-1], state.Nodes.Newest)
	}
	return s
}

// TestKillKeepsAPause: a pause that was answered survives a kill (W27), and what arrived is
// there when it is resumed.
func TestKillKeepsAPause(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "graphs", "history.yaml"), []byte(historyGraph), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events.ndjson"), []byte("{\"n\":0}\n{\"n\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	p.until("both fired", stuck, func() bool { return p.summary("history").Epoch == 2 })
	if err := p.do("POST", "/v1/graphs/history/pause", "", nil); err != nil {
		t.Fatal(err)
	}
	p.kill()
	p = start(t, dir)
	p.until("loaded", stuck, func() bool { return p.summary("history").Health == "live" })
	if s := p.summary("history"); !s.Paused {
		t.Fatalf("the pause is gone: %+v", s)
	}
	if err := p.do("POST", "/v1/graphs/history/fire", `{"mode":"force"}`, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.do("POST", "/v1/graphs/history/resume", "", nil); err != nil {
		t.Fatal(err)
	}
	if s := p.summary("history"); s.Paused || s.Epoch != 3 {
		t.Fatalf("after the resume: %+v", s)
	}
}
