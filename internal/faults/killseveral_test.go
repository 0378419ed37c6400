package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// severalGraph sends each number to a server, 16 at once; the numbers have 40 keys.
const severalGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: { n: event.n, k: event.n %% 40 } }
reactor: { key: k, strategy: sequential }
outputs:
  hook:
    from: events
    delivery: %s
    sink: { http: { url: "%s", concurrency: 16 } }
    retry: { base: 5ms, max: 50ms }
durability: { interval: 50ms }
`

// careless is a server that answers out of order, at times not at all, and at times that it has no time.
type careless struct {
	mu    sync.Mutex
	have  map[int64]bool
	out   int
	most  int
	wrong []string
}

func (c *careless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var value struct{ N, K int64 }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &value)
	}
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout) // cut off by a kill
		return
	}
	c.mu.Lock()
	c.out++
	c.most = max(c.most, c.out)
	c.mu.Unlock()
	<-time.After(time.Duration(rand.IntN(8)) * time.Millisecond)
	chance := rand.IntN(50)
	if chance > 0 {
		c.take(value.N, value.K)
	}
	c.mu.Lock()
	c.out--
	c.mu.Unlock()
	switch chance {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 1:
		panic(http.ErrAbortHandler) // it has the value, and nobody is told
	}
}

// take notes a number: all of its key before it must be there.
func (c *careless) take(n, k int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.have[n] && n >= 40 && !c.have[n-40] {
		c.wrong = append(c.wrong, fmt.Sprintf("of key %d came %d before %d", k, n, n-40))
	}
	c.have[n] = true
}

// TestKillSeveral kills the daemon while values are delivered several at once to a server that fails at random (M30):
// none is lost, and each key's come in their order, on both paths.
func TestKillSeveral(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"direct", "outbox"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			killSeveral(t, path)
		})
	}
}

func killSeveral(t *testing.T, path string) {
	to := &careless{have: map[int64]bool{}}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	dir := declare(t, "effects", fmt.Sprintf(severalGraph, path, server.URL))
	points := []string{"commit_acknowledged", "commit_sent", "outbox_sent", "outbox_send"}
	total := killedWith(t, dir, points, 2000, rand.New(rand.NewPCG(11, 12)))
	p := start(t, dir)
	p.durablyThrough(unconsumed(total))
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	lost := 0
	for n := range total {
		if !to.have[n] {
			lost++
		}
	}
	if lost > 0 || len(to.wrong) > 0 || to.most < 2 {
		t.Errorf("%d of %d are lost, %d at once at most; %d out of order: %.300v", lost, total, to.most, len(to.wrong),
			to.wrong)
	}
	t.Logf("%d values, %d at once at most", total, to.most)
}
