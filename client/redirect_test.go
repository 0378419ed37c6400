package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoRedirectElsewhere: what a caller is known by goes to the address it was given and to no other, by REST and
// by socket; a redirect that stays there is followed (A14).
func TestNoRedirectElsewhere(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(other.Close)
	plain := strings.TrimPrefix(other.URL, "http://")
	for name, to := range map[string]string{
		"another port":        other.URL,
		"a name for the same": "http://localhost" + plain[strings.LastIndexByte(plain, ':'):],
	} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
		}), "")
		c.token = "gd_secret"
		_, byREST := c.Graphs(t.Context())
		_, bySocket := c.Watch(t.Context(), "g", []string{"outputs"}, "")
		for _, err := range []error{byREST, bySocket} {
			if led, ok := errors.AsType[*Redirected](err); !ok || led.To != to || !strings.Contains(err.Error(), to) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	here := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/graphs" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte(`{"items":[]}`))
	}), "")
	if _, err := here.Graphs(t.Context()); err != nil {
		t.Errorf("within the daemon: %v", err)
	}
}

// TestNoRedirectToPlain: https does not lead to http, at the same host and port neither.
func TestNoRedirectToPlain(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://graphd.test:443/v1", "http://graphd.test/v1", "https://graphd.test:8443/v1",
		"https://graphd.test.evil/v1"} {
		from := httptest.NewRequest(http.MethodGet, "https://graphd.test/v1", nil)
		if err := stayHere(httptest.NewRequest(http.MethodGet, to, nil), []*http.Request{from}); err == nil {
			t.Errorf("%s is followed", to)
		}
	}
	from := httptest.NewRequest(http.MethodGet, "https://graphd.test/v1", nil)
	same := httptest.NewRequest(http.MethodGet, "https://GRAPHD.test:443/v2", nil)
	if err := stayHere(same, []*http.Request{from}); err != nil {
		t.Error(err)
	}
}
