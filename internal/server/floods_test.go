package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/arrival"
)

// flood sends ten times what a token may, in pushes, declarations that are none and connections, until ctx is done.
func flood(ctx context.Context, wg *sync.WaitGroup, url, token string, refused *atomic.Int64) {
	_, value, _ := strings.Cut(token, ": ")
	tr := &http.Transport{}
	c := &http.Client{Transport: tr}
	send := func(method, target, body string) {
		req, err := http.NewRequestWithContext(ctx, method, url+target, strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", value)
		res, err := c.Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode == http.StatusTooManyRequests {
			refused.Add(1)
		}
	}
	pace := func(perSecond int, do func()) {
		defer wg.Done()
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-ctx.Done():
				tr.CloseIdleConnections()
				return
			}
		}
	}
	wg.Add(4)
	go pace(900, func() { send("POST", "/v1/graphs/mine_a/accumulators/a/events", `{"n":1}`) })
	go pace(900, func() { send("POST", "/v1/graphs/mine_a/accumulators/a/events", "{") })
	go pace(200, func() { send("PUT", "/v1/graphs/mine_a", "graph: [") })
	go pace(100, func() {
		if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
			_, _ = io.WriteString(conn, "GET /v1/graphs HTTP/1.1\r\n")
			_ = conn.Close()
		}
	})
}

// TestFloodLeavesAnother: what one token sends beyond its rate is refused, and each request of another tenant's is
// answered (A11, A12). How long these take is told with -v, and held nowhere.
func TestFloodLeavesAnother(t *testing.T) {
	t.Parallel()
	s, loud, calm := flooded(t, Config{Arrivals: arrival.Config{MaxRequests: 200, Linger: time.Second}}, nil)
	url := serve(t, s)
	_, value, _ := strings.Cut(calm, ": ")
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr}
	measure := func(n int) (p50, p99 time.Duration) {
		took := make([]time.Duration, n)
		tick := time.NewTicker(10 * time.Millisecond) // half of its rate
		defer tick.Stop()
		for i := range took {
			<-tick.C
			began := time.Now()
			req, err := http.NewRequestWithContext(t.Context(), "POST",
				url+"/v1/graphs/theirs_a/accumulators/a/events", strings.NewReader(`{"n":1}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", value)
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			took[i] = time.Since(began)
			if res.StatusCode != http.StatusOK {
				t.Errorf("another's push was answered with %d", res.StatusCode)
			}
		}
		slices.Sort(took)
		return took[n/2], took[n*99/100]
	}
	n := 2000
	if testing.Short() {
		n = 100
	}
	p50, p99 := measure(n)
	t.Logf("alone: p50 %v, p99 %v", p50, p99)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var refused atomic.Int64
	flood(ctx, &wg, url, loud, &refused)
	p50, p99 = measure(n)
	t.Logf("beside a flood: p50 %v, p99 %v, %d of it were refused", p50, p99, refused.Load())
	for refused.Load() == 0 && t.Context().Err() == nil { // on a machine that has little time for it
		measure(1)
	}
	stop()
	wg.Wait()
	if got := s.Stats().Refused[api.CodeRateLimited]; got < refused.Load() {
		t.Errorf("%d were refused and %d are counted", refused.Load(), got)
	}
}
