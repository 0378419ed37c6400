package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// callsGraph asks a service about each number, 16 at once, and routes it by the answer; the numbers have 40 keys.
const callsGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: { n: event.n, k: event.n %% 40 } }
reactor: { key: k, strategy: sequential }
nodes:
  score:
    http: { url: "%s", body: events, timeout: 2s, concurrency: 16 }
    retry: { base: 5ms, max: 50ms }
  verdict: { route: { block: score.risk >= 50, pass: true } }
  answer: { expr: '{ "n": events.n, "risk": score.risk, "to": verdict }' }
outputs:
  answers: { from: answer, delivery: outbox, sink: { file: { path: ../answers.ndjson } } }
durability: { mode: %s, interval: 50ms }
`

// riskOf is what the service says of a number, and what a plain program would.
func riskOf(n int64) int64 { return n * 37 % 101 }

// scorer is a service that answers in 20 ms, at times later, at times that it has no time, at times not at all.
type scorer struct {
	mu        sync.Mutex
	asked     map[int64]int
	out, most int
}

func (s *scorer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct{ N int64 }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		return // cut off by a kill
	}
	s.mu.Lock()
	s.asked[event.N]++
	s.out++
	s.most = max(s.most, s.out)
	s.mu.Unlock()
	<-time.After(time.Duration(rand.IntN(8)) * time.Millisecond)
	s.mu.Lock()
	s.out--
	s.mu.Unlock()
	switch rand.IntN(40) {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 1:
		panic(http.ErrAbortHandler)
	default:
		fmt.Fprintf(w, `{"risk": %d}`, riskOf(event.N))
	}
}

// TestKillCalls kills the daemon while its nodes call (M21, M22, M29): each number has the answer that a plain program
// would give it, once for each firing id and in the order of its key.
func TestKillCalls(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killCalls(t, mode)
		})
	}
}

func killCalls(t *testing.T, mode string) {
	service := &scorer{asked: map[int64]int{}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	dir := declare(t, "effects", fmt.Sprintf(callsGraph, server.URL, mode))
	total := killedWith(t, dir, pointsOf(mode), 1000, rand.New(rand.NewPCG(13, 14)))
	p := start(t, dir)
	p.durablyThrough(unconsumed(total))
	if s := p.summary("effects"); s.Counters.Consumed != total || s.Counters.DeadLettered != 0 {
		t.Errorf("%+v", s.Counters)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	wrong, again := scored(t, filepath.Join(dir, "answers.ndjson"), total)
	if len(wrong) > 0 || service.most < 2 {
		t.Errorf("%d at once at most; %d answers are wrong: %.300v", service.most, len(wrong), wrong)
	}
	calls := 0
	for _, n := range service.asked {
		calls += n
	}
	t.Logf("%d numbers, %d calls, %d at once at most, %d answers written again", total, calls, service.most, again)
}

// scored reads what was answered, each firing once, and says what is wrong with it.
func scored(t *testing.T, path string, total int64) (wrong []string, again int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	have, firings, newest := map[int64]bool{}, map[string]bool{}, map[int64]int64{}
	for line := range bytes.Lines(data) {
		var l struct {
			FiringID string `json:"firing_id"`
			Value    struct {
				N, Risk int64
				To      string
			}
		}
		if json.Unmarshal(line, &l) != nil {
			continue // torn by a kill, and written again
		}
		if firings[l.FiringID] {
			again++
			continue
		}
		firings[l.FiringID] = true
		v, to := l.Value, "pass"
		if riskOf(v.N) >= 50 {
			to = "block"
		}
		last, known := newest[v.N%40]
		if have[v.N] || v.Risk != riskOf(v.N) || v.To != to || known && v.N != last+40 || !known && v.N >= 40 {
			wrong = append(wrong, fmt.Sprintf("%+v after %d", v, last))
		}
		have[v.N], newest[v.N%40] = true, v.N
	}
	if int64(len(have)) != total {
		wrong = append(wrong, fmt.Sprintf("%d of %d are there", len(have), total))
	}
	return wrong, again
}
