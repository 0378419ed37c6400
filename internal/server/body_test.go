package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// blanks is an endless body of white space that counts what was read of it.
type blanks struct {
	left int64
	read atomic.Int64
}

func (b *blanks) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.left))
	for i := range p[:n] {
		p[i] = ' '
	}
	b.left -= int64(n)
	b.read.Add(int64(n))
	return n, nil
}

// TestHugeBody: 100 MB are refused with no more memory than the limit asks for.
func TestHugeBody(t *testing.T) { // not parallel: it measures memory
	s := newServer(t, newFake(), Config{})
	ts := httptest.NewServer(s)
	defer ts.Close()
	for _, announced := range []bool{true, false} {
		for _, contentType := range []string{"application/json", "application/x-ndjson"} {
			body := &blanks{left: 100 << 20}
			req, err := http.NewRequestWithContext(t.Context(), "POST", ts.URL+events, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", contentType)
			if announced {
				req.ContentLength = 100 << 20
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := ts.Client().Do(req)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 413 {
				t.Errorf("announced %v: got %d", announced, resp.StatusCode)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 40<<20 {
				t.Errorf("announced %v: %d MiB allocated in all", announced, n>>20)
			}
			if body.read.Load() > 20<<20 {
				t.Errorf("announced %v: %d MiB read", announced, body.read.Load()>>20)
			}
		}
	}
	if x := do(t, s, "POST", events, strings.NewReader("1")); x.status != 200 {
		t.Errorf("afterwards: %d", x.status)
	}
}

// TestBodyBudget: large bodies are refused while too many are being read.
func TestBodyBudget(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{MaxBodies: 1 << 20})
	body := func() io.Reader { return strings.NewReader(`"` + strings.Repeat("x", 600<<10) + `"`) }
	if x := do(t, s, "POST", events, body()); x.status != 200 {
		t.Fatalf("got %d %s", x.status, x.body)
	}
	s.bodies.MaxAll = 100 << 10 // as if others had the rest
	if x := do(t, s, "POST", events, body()); x.status != 503 || x.code(t) != "busy" {
		t.Errorf("got %d %s", x.status, x.body)
	}
	if x := do(t, s, "POST", events, strings.NewReader("1")); x.status != 200 {
		t.Errorf("a small body: %d", x.status)
	}
	if n := s.bodies.Used(); n != 0 {
		t.Errorf("%d bytes are taken", n)
	}
}

// TestLongNames: a name of a megabyte is some 4xx, and nothing else happens.
func TestLongNames(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{})
	long := strings.Repeat("a", 1<<20)
	for _, target := range []string{"GET /v1/graphs/" + long, "PUT /v1/graphs/" + long,
		"GET /v1/graphs/g/accumulators/" + long, "POST /v1/graphs/" + long + "/pause",
		"GET /" + long, "GET /v1/graphs?" + long + "=1", "GET /v1/graphs/g/firings/" + long,
		"DELETE /v1/graphs/g/dead-letters/" + long} {
		method, path, _ := strings.Cut(target, " ")
		x := exchangeOf(s, httptest.NewRequest(method, path, strings.NewReader("graph: g")))
		if x.status < 400 || x.status > 499 || len(x.body) > 1000 {
			t.Errorf("%.40s: got %d with %d bytes", target, x.status, len(x.body))
		}
	}
	ts := httptest.NewUnstartedServer(s)
	ts.Config = s.http
	ts.Start()
	defer ts.Close()
	resp, err := ts.Client().Get(ts.URL + "/v1/graphs/" + long)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 431 {
		t.Errorf("over the network: got %d", resp.StatusCode)
	}
}
