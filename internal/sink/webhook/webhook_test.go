package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// receiver is a server that keeps what it gets.
type receiver struct {
	mu   sync.Mutex
	got  []sinktest.Arrival
	reqs []*http.Request
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	key := req.Header.Get("Graphd-Key")
	if key == "" {
		key = "null"
	}
	epoch, _ := strconv.ParseInt(req.Header.Get("Graphd-Epoch"), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reqs = append(r.reqs, req)
	r.got = append(r.got, sinktest.Arrival{
		Epoch: epoch, Output: req.Header.Get("Graphd-Output"), Key: json.RawMessage(key), Value: body,
	})
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) arrived(*testing.T) []sinktest.Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sinktest.Arrival(nil), r.got...)
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func newSink(t *testing.T, c Config) *Sink {
	t.Helper()
	c.Guard = outboundtest.Guard(t)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func TestConformance(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Place {
		r := &receiver{}
		s := serve(t, r)
		return sinktest.Place{
			Open:    func(t *testing.T) sink.Sink { return newSink(t, Config{URL: s.URL}) },
			Arrived: r.arrived,
		}
	})
}

func message(n int64) sink.Message { return sinktest.Message("out", n, boundary.Int(n)) }

func batch(n int64) []sink.Message {
	var list []sink.Message
	for i := int64(1); i <= n; i++ {
		list = append(list, message(i))
	}
	return list
}

// What a request says of the firing; the id is stable, and then an idempotency key, only for
// a message that says so.
func TestHeaders(t *testing.T) {
	r := &receiver{}
	s := serve(t, r)
	k := newSink(t, Config{
		URL: s.URL, Method: http.MethodPut, Headers: []outbound.Header{
			{Name: "Content-Type", Value: "application/vnd.x+json"}, {Name: "Authorization", Value: "Bearer hunter2"},
			{Name: "Idempotency-Key", Value: "own"},
		},
	})
	direct, stable := message(7), message(8)
	direct.Degraded, direct.Key = []string{"a", "b"}, boundary.Key(`["Zürich","😀"]`)
	stable.Stable = true
	if err := k.Deliver(t.Context(), []sink.Message{direct, stable}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{
		{"Graphd-Firing-Id": direct.FiringID(), "Graphd-Firing-Stable": "false", "Idempotency-Key": "own",
			"Graphd-Degraded": "a,b",
			"Graphd-Key":      `["Z\u00fcrich","\ud83d\ude00"]`, "Graphd-Epoch": "7", "Graphd-Incarnation": "3",
			"Graphd-Output": "out",
			"Content-Type":  "application/vnd.x+json", "Authorization": "Bearer hunter2", "User-Agent": "graphd"},
		{"Graphd-Firing-Id": stable.FiringID(), "Graphd-Firing-Stable": "true", "Graphd-Degraded": "", "Graphd-Key": "",
			"Graphd-Epoch": "8"},
	} {
		for name, v := range want {
			if got := r.reqs[i].Header.Get(name); got != v {
				t.Errorf("request %d: %s is %q, want %q", i, name, got, v)
			}
		}
		if r.reqs[i].Method != http.MethodPut {
			t.Errorf("method %s", r.reqs[i].Method)
		}
	}
	plain := newSink(t, Config{URL: s.URL})
	if err := plain.Deliver(t.Context(), []sink.Message{direct, stable}); err != nil {
		t.Fatal(err)
	}
	if a, b := r.reqs[2].Header.Values("Idempotency-Key"), r.reqs[3].Header.Get("Idempotency-Key"); len(a) != 0 ||
		b != stable.FiringID() {
		t.Errorf("idempotency keys %q and %q", a, b)
	}
}

// Which answers are a delivery, which are tried again and which refuse the value; what was
// delivered before is not sent again.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 201: "", 202: "", 204: "", 299: "",
		408: "again", 425: "again", 429: "again", 500: "again", 502: "again", 503: "again", 504: "again", 599: "again",
		400: "refused http_400", 401: "refused http_401", 403: "refused http_403", 404: "refused http_404",
		409: "refused http_409",
		410: "refused http_410", 413: "refused http_413", 422: "refused http_422", 304: "refused http_304",
		301: "refused http_301",
		302: "refused http_302", 303: "refused http_303",
	} {
		n := 0
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 3 {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", "/elsewhere/hunter2")
				w.WriteHeader(status)
				fmt.Fprint(w, "hunter2")
			}
		}))
		err := newSink(t, Config{URL: s.URL + "/hunter2"}).Deliver(t.Context(), batch(5))
		got := ""
		var again *sink.RetryError
		var refused *sink.PermanentError
		switch {
		case errors.As(err, &again):
			got = "again"
			if again.Index != 2 || again.After != 7*time.Second {
				t.Errorf("%d: %+v", status, again)
			}
		case errors.As(err, &refused):
			got = "refused " + refused.Code
			if refused.Index != 2 {
				t.Errorf("%d: %+v", status, refused)
			}
		case err != nil:
			t.Errorf("%d: %v", status, err)
		}
		if wantAsked := map[bool]int{true: 5, false: 3}[want == ""]; got != want || n != wantAsked {
			t.Errorf("%d: %q after %d requests, want %q after %d", status, got, n, want, wantAsked)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: a secret is told: %v", status, err)
		}
	}
}

// A redirect that keeps the method is followed, through the guard, and carries the value.
func TestRedirects(t *testing.T) {
	r := &receiver{}
	to := serve(t, r)
	where := to.URL
	from := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, where, http.StatusTemporaryRedirect)
	}))
	k := newSink(t, Config{URL: from.URL, Headers: []outbound.Header{{Name: "X-Token", Value: "hunter2"}}})
	if err := k.Deliver(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	if len(r.got) != 1 || string(r.got[0].Value) != "1" || r.reqs[0].Method != "POST" ||
		r.reqs[0].Header.Get("X-Token") != "" {
		t.Errorf("arrived: %v, token %q", r.got, r.reqs[0].Header.Get("X-Token"))
	}
	where = "http://169.254.169.254/latest/meta-data"
	err := k.Deliver(t.Context(), batch(1))
	var denied *outbound.DeniedError
	if !errors.As(err, &denied) {
		t.Errorf("to the metadata service: %v", err)
	}
}

// Servers that do not answer as they should: the value is tried again.
func TestHostileServers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"slow":   func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"huge header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Huge", strings.Repeat("x", 1<<20))
			w.WriteHeader(http.StatusOK)
		},
		"not HTTP": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprint(conn, "220 smtp.example ESMTP\r\n")
				conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h)
			err := newSink(t, Config{URL: s.URL + "/hunter2", Timeout: 100 * time.Millisecond}).Deliver(t.Context(),
				batch(2))
			var again *sink.RetryError
			if !errors.As(err, &again) || again.Index != 0 || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("endless answer", func(t *testing.T) { // the status was the answer
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat("x", 1<<16))
			}
		}))
		if err := newSink(t, Config{URL: s.URL, Timeout: 5 * time.Second}).Deliver(t.Context(), batch(1)); err != nil {
			t.Error(err)
		}
	})
	t.Run("half an answer", func(t *testing.T) {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		if err := newSink(t, Config{URL: s.URL}).Deliver(t.Context(), batch(1)); err != nil {
			t.Error(err)
		}
	})
	t.Run("certificate", func(t *testing.T) {
		s := httptest.NewUnstartedServer(&receiver{})
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		err := newSink(t, Config{URL: s.URL}).Deliver(t.Context(), batch(1))
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
}

func TestValidate(t *testing.T) {
	g, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{{}, {Guard: g}, {Guard: g, URL: "ws://x"}, {Guard: g, URL: "http:///p"},
		{Guard: g, URL: "http://x", Timeout: -1}, {URL: "http://x"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
