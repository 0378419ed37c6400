package poll

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// resumed gives its server the position a run starts from: what is polled goes on while
// nobody looks, and this one goes on by one document a request.
type resumed struct {
	*Source
	at *int64
}

func (r *resumed) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	next := int64(0)
	for _, p := range from {
		next = p.Offset
	}
	atomic.StoreInt64(r.at, next)
	return r.Source.Run(ctx, from, out)
}

func TestConformance(t *testing.T) {
	at := new(int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"n":%d}`, atomic.AddInt64(at, 1))
	}))
	defer s.Close()
	sourcetest.Run(t, sourcetest.Suite{
		Events: 6, Endless: true,
		New: func(t *testing.T) accumulator.Source {
			s.CloseClientConnections() // the last run's, with their goroutines
			return &resumed{source(t, Config{URL: s.URL, Every: time.Millisecond}), at}
		},
	})
}

func source(t *testing.T, c Config) *Source {
	t.Helper()
	c.Guard = outboundtest.Guard(t)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// polled runs a source against a handler and returns the first n things it told.
func polled(t *testing.T, c Config, from []boundary.Position, n int, h http.HandlerFunc) []string {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	if c.URL == "" {
		c.URL = s.URL + "/secret-path?token=hunter2"
	}
	if c.Every == 0 {
		c.Every = time.Millisecond
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := sourcetest.NewTold(n + 1)
	done := make(chan error, 1)
	src := source(t, c)
	go func() { done <- src.Run(ctx, from, out) }()
	var got []string
	for len(got) < n {
		select {
		case text := <-out.Texts:
			got = append(got, strings.ReplaceAll(text, strings.TrimPrefix(s.URL, "http://"), "HOST"))
		case <-time.After(time.Minute):
			t.Fatalf("only %q", got)
		}
	}
	cancel()
	go func() { // what is told while it stops is not looked at
		for range out.Texts {
		}
	}()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	close(out.Texts)
	for _, text := range got {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "secret") {
			t.Errorf("a secret is told: %s", text)
		}
	}
	return got
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An answer that is the same as the last is no event, whether the server says so or not.
func TestUnchangedIsNoEvent(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	got := polled(t, Config{Headers: []outbound.Header{{Name: "X-Key", Value: "hunter2"}}}, nil, 4,
		func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Header.Get("If-None-Match")+"/"+r.Header.Get("If-Modified-Since")+"/"+
				r.Header.Get("X-Key"))
			switch n := len(asked); n {
			case 1:
				w.Header().Set("ETag", `"one"`)
				w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 05:00:00 GMT")
				fmt.Fprint(w, `[1,2]`)
			case 2:
				w.WriteHeader(http.StatusNotModified)
			case 3: // a new tag, the same document
				w.Header().Set("ETag", `"two"`)
				fmt.Fprint(w, `[1,2]`)
			case 4:
				w.WriteHeader(http.StatusNoContent)
			case 5:
				fmt.Fprint(w, "  \n")
			default:
				fmt.Fprint(w, `{"n":`, min(n, 7), `}`)
			}
		})
	want(t, got, "1 [1,2]", "live", `6 {"n":6}`, `7 {"n":7}`)
	mu.Lock()
	defer mu.Unlock()
	want(t, asked[:4], "//hunter2", `"one"/Sat, 21 Nov 2026 05:00:00 GMT/hunter2`,
		`"one"/Sat, 21 Nov 2026 05:00:00 GMT/hunter2`, `"two"//hunter2`)
}

// What was read before a restart is not an event again after it.
func TestRestartDoesNotSendTheSameAgain(t *testing.T) {
	documents := func(list ...string) http.HandlerFunc {
		n := 0
		return func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, list[min(n, len(list)-1)])
			n++
		}
	}
	first := polled(t, Config{}, nil, 2, documents(`1`))
	want(t, first, "1 1", "live")
	at := boundary.Position{Stream: streamPrefix + "6b86b273ff34fce1", Offset: 40} // the digest of 1
	want(t, polled(t, Config{}, []boundary.Position{at}, 2, documents(`1`, `1`, `2`)), "live", "43 2")
}

// A failure is told at once with its reason, and what comes after it is live again.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "hunter2", http.StatusForbidden)
		}, "HOST answered 403 Forbidden"},
		"strange": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) }, "HOST answered 299"},
		"content type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<p>log in")
		}, `HOST answered "text/html; charset=utf-8", not JSON`},
		"metadata": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "ask HOST: the address 169.254.169.254 is link-local, and calls to it are not allowed; if it is meant, " +
			"ask the operator of the daemon to list it (--allow-outbound, or allow_outbound of the tenant)"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"n":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "ask HOST: unexpected EOF"},
		"closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "ask HOST: EOF"},
		"slow header": {func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "HOST did not answer within 2s"},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"n":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "HOST did not answer within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			timeout := time.Minute
			if strings.HasPrefix(name, "slow") {
				timeout = 2 * time.Second
			}
			got := polled(t, Config{Timeout: timeout}, nil, 5, func(w http.ResponseWriter, r *http.Request) {
				// A request whose connection is lost before any answer is made again at once, if it was not the first
				// over that connection: else both are told.
				n := requests.Add(1)
				if n == 2 || n == 3 && name == "closed" {
					c.h(w, r)
					return
				}
				fmt.Fprint(w, n == 1)
			})
			if name == "closed" && got[3] == got[2] {
				got = slices.Delete(got, 3, 4)
			}
			want(t, got[:4], "1 true", "live", "disconnected "+c.want, "2 false")
		})
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, 1)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	got := polled(t, Config{URL: s.URL}, nil, 1, nil)
	if !strings.Contains(got[0], "disconnected") || !strings.Contains(got[0], "certificate") {
		t.Errorf("a certificate that nobody vouches for: %q", got)
	}
}

// A document over the limit is a dead letter with its beginning, once for each of them, also
// when it only grows large by decompression.
func TestTooLarge(t *testing.T) {
	n := 0
	got := polled(t, Config{MaxBytes: 10_000}, nil, 4, func(w http.ResponseWriter, _ *http.Request) {
		switch n++; n {
		case 1, 2:
			fmt.Fprint(w, `"`+strings.Repeat("x", 20_000)+`"`)
		case 3:
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, `"`+strings.Repeat("y", 1<<20)+`"`)
			z.Close()
		default:
			fmt.Fprint(w, n)
		}
	})
	want(t, got, "1 too_large 4096", "live", "3 too_large 4096", "4 4")
}

// The pauses double up to a minute, or the cadence, and are never less than half of that.
func TestPause(t *testing.T) {
	for _, c := range []struct {
		every       time.Duration
		failed      int
		least, most time.Duration
	}{
		{5 * time.Second, 1, 500 * time.Millisecond, time.Second},
		{5 * time.Second, 2, time.Second, 2 * time.Second},
		{5 * time.Second, 7, 30 * time.Second, time.Minute},
		{5 * time.Second, 1000, 30 * time.Second, time.Minute},
		{100 * time.Millisecond, 1, 50 * time.Millisecond, 100 * time.Millisecond},
		{time.Hour, 1, 500 * time.Millisecond, time.Second},
		{time.Hour, 1000, 30 * time.Minute, time.Hour},
	} {
		p := &pacer{every: c.every, failed: c.failed}
		if least, most := p.pause(0), p.pause(1); least != c.least || most != c.most {
			t.Errorf("every %v, %d failed: %v to %v, want %v to %v", c.every, c.failed, least, most, c.least, c.most)
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer s.Close()
	src := source(t, Config{URL: s.URL, Every: time.Second})
	p := &poller{Source: src, client: src.cfg.Guard.Client(nil)}
	defer p.client.CloseIdleConnections()
	_, err := p.ask(t.Context())
	var failed *failure
	if !errors.As(err, &failed) || failed.after != 7*time.Second {
		t.Errorf("got %+v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{{}, {URL: "ftp://x", Every: 1}, {URL: "http://x"}, {URL: "http:///p", Every: 1},
		{URL: "http://x", Every: 1, Timeout: -1}, {URL: "http://x", Every: 1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
