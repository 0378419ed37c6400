package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/rates"
	"github.com/graphd/graphd/internal/server/arrival"
)

// flooded is a server with a token for each of two tenants.
func flooded(t *testing.T, cfg Config, failures *rates.Rates) (s *Server, loud, calm string) {
	t.Helper()
	w := newWorld()
	cfg.Arrivals.Linger = cmp.Or(cfg.Arrivals.Linger, -1) // these tests count, and wait for nothing
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	var err error
	cfg.Gate, err = gate.New(t.Context(), gate.Config{Store: store, Required: true, Failures: failures,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	token := func(tenant string) string {
		made := access.Token{Tenant: tenant, Name: tenant, Role: access.AuthorRole, Expires: time.Now().Add(time.Hour)}
		text := access.Mint(&made)
		if err := store.AddToken(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		return "Authorization: Bearer " + text
	}
	return newServer(t, w, cfg), token("acme"), token("other")
}

// from is an exchange with a client at an address.
func from(t *testing.T, s *Server, addr, method, target, body string, headers ...string) *exchange {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	req.RemoteAddr = addr
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	return send(t, s, req)
}

// refusedWith says that x is an answer of a limit, and how it is to be.
func refusedWith(t *testing.T, x *exchange, code string) bool {
	t.Helper()
	if x.status != http.StatusTooManyRequests {
		return false
	}
	if x.code(t) != code || x.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", x.status, x.header, x.body)
	}
	return true
}

// TestFloodOfOneToken: past its rate a token is answered with 429, and another one is served (A12).
func TestFloodOfOneToken(t *testing.T) {
	t.Parallel()
	s, loud, calm := flooded(t, Config{Arrivals: arrival.Config{MaxRequests: 20}}, nil)
	ok, limited := 0, 0
	for i := range 1000 { // from many addresses
		x := from(t, s, fmt.Sprintf("10.0.%d.%d:1", i/250, i%250), "GET", "/v1/graphs", "", loud)
		if refusedWith(t, x, api.CodeRateLimited) {
			limited++
		} else if x.status == http.StatusOK {
			ok++
		}
	}
	if ok < 40 || limited < 500 || ok+limited != 1000 {
		t.Errorf("%d were answered and %d refused", ok, limited)
	}
	if x := from(t, s, "10.1.1.1:1", "GET", "/v1/graphs", "", calm); x.status != http.StatusOK {
		t.Errorf("another token: %d %s", x.status, x.body)
	}
	if n := s.Stats().Refused[api.CodeRateLimited]; n != int64(limited) {
		t.Errorf("%d were counted", n)
	}
}

// TestFloodOfOneAddress: so it is with addresses, before anything is looked up, and where a proxy is believed with
// those that it names; this machine's own programs have no bound (A12).
func TestFloodOfOneAddress(t *testing.T) {
	t.Parallel()
	behind := arrival.Config{MaxRequests: 20, TrustedProxies: []string{"10.9.9.9"}}
	s, _, calm := flooded(t, Config{Arrivals: behind}, nil)
	flood := func(n int, addr string, headers ...string) (limited int) {
		for range n {
			if refusedWith(t, from(t, s, addr, "GET", "/livez", "", headers...), api.CodeRateLimited) {
				limited++
			}
		}
		return limited
	}
	if n := flood(500, "203.0.113.5:1"); n < 200 {
		t.Errorf("%d were refused", n)
	}
	if n := flood(500, "10.9.9.9:1", "X-Forwarded-For: 203.0.113.6"); n < 200 {
		t.Errorf("%d were refused of an address behind a proxy", n)
	}
	if n := flood(500, "127.0.0.1:1"); n != 0 {
		t.Errorf("%d were refused of this machine", n)
	}
	for _, addr := range []string{"203.0.113.7:1", "10.9.9.9:1"} {
		if x := from(t, s, addr, "GET", "/v1/graphs", "", calm, "X-Forwarded-For: 203.0.113.8"); x.status != 200 {
			t.Errorf("another address: %d %s", x.status, x.body)
		}
	}
}

// TestFloodOfBytes: past the bytes of a second pushes of a token are answered with 429, and nothing of them is taken.
func TestFloodOfBytes(t *testing.T) {
	t.Parallel()
	s, loud, calm := flooded(t, Config{Arrivals: arrival.Config{MaxPushBytes: 1000}}, nil)
	push := func(graph, token string) *exchange {
		return from(t, s, "10.0.0.1:1", "POST", "/v1/graphs/"+graph+"/accumulators/a/events",
			`"`+strings.Repeat("x", 500)+`"`, token)
	}
	ok := 0
	for range 20 {
		if x := push("mine_a", loud); x.status == http.StatusOK {
			ok++
		} else if !refusedWith(t, x, api.CodeRateLimited) {
			t.Errorf("%d %s", x.status, x.body)
		}
	}
	if ok < 3 || ok > 10 {
		t.Errorf("%d pushes were taken", ok)
	}
	if x := push("theirs_a", calm); x.status != http.StatusOK {
		t.Errorf("another token: %d %s", x.status, x.body)
	}
}

// TestGuessedTokens: an address that shows what is no token is turned away after a while without a look into the
// store; a token that is in use there, one that has ended, and other addresses are served as ever (A8, A12).
func TestGuessedTokens(t *testing.T) {
	t.Parallel()
	failures := rates.New(rates.Config{PerSecond: 1. / 60, Burst: 10, Keys: 100})
	s, known, fresh := flooded(t, Config{}, failures)
	get := func(addr, header string) *exchange { return from(t, s, addr, "GET", "/v1/graphs", "", header) }
	if x := get("10.0.0.1:1", known); x.status != http.StatusOK {
		t.Fatalf("%d %s", x.status, x.body)
	}
	turned := 0
	for range 100 {
		x := get("10.0.0.1:1", "Authorization: Bearer "+access.Mint(&access.Token{}))
		if refusedWith(t, x, api.CodeRateLimited) {
			turned++
		} else if x.status != http.StatusUnauthorized {
			t.Errorf("%d %s", x.status, x.body)
		}
	}
	if turned != 90 {
		t.Errorf("%d of 100 guesses were turned away", turned)
	}
	if x := get("10.0.0.1:1", known); x.status != http.StatusOK {
		t.Errorf("a token in use: %d %s", x.status, x.body)
	}
	x := get("10.0.0.1:1", fresh)
	if !refusedWith(t, x, api.CodeRateLimited) {
		t.Errorf("a token that nobody has seen yet: %d %s", x.status, x.body)
	}
	if after, err := strconv.Atoi(x.header.Get("Retry-After")); err != nil || after < 30 || after > 60 {
		t.Errorf("one a minute is to come again after %d s, %v", after, err)
	}
	if x := get("10.0.0.2:1", fresh); x.status != http.StatusOK {
		t.Errorf("another address: %d %s", x.status, x.body)
	}
}

// TestSocketsOfOneTenant: however many sockets a tenant has, another gets some (A11, A12).
func TestSocketsOfOneTenant(t *testing.T) {
	t.Parallel()
	s, loud, calm := flooded(t, Config{MaxSockets: 16}, nil)
	url := serve(t, s)
	open := func(token string, n int) (admitted int) {
		for range n {
			name, value, _ := strings.Cut(token, ": ")
			ws, res, err := websocket.Dial(t.Context(), url+"/v1/ws/events", &websocket.DialOptions{
				Subprotocols: []string{api.Subprotocol}, HTTPHeader: http.Header{name: {value}}})
			if err != nil {
				if res != nil && res.Body != nil {
					_ = res.Body.Close()
				}
				continue
			}
			t.Cleanup(func() { _ = ws.CloseNow() })
			if _, _, err := ws.Read(t.Context()); err == nil { // hello
				admitted++
			}
		}
		return admitted
	}
	if n := open(loud, 30); n != 16 {
		t.Errorf("%d of 16 were admitted", n)
	}
	if n := open(calm, 5); n != 2 {
		t.Errorf("%d of another tenant were admitted", n)
	}
}

// TestConnectionsPastTheBound: one too many is told so and closed, and there is room again when another goes.
func TestConnectionsPastTheBound(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Arrivals: arrival.Config{MaxConnections: 2}})
	addr := strings.TrimPrefix(serve(t, s), "http://")
	first, second, third := dialRaw(t, addr), dialRaw(t, addr), dialRaw(t, addr)
	res, err := io.ReadAll(third)
	text := string(res)
	if err != nil && len(res) == 0 || !strings.HasPrefix(text, "HTTP/1.1 503 ") ||
		!strings.Contains(text, "Retry-After") {
		t.Errorf("one too many reads %q, %v", text, err)
	}
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	var problem struct{ Code string }
	if err := json.Unmarshal([]byte(body), &problem); err != nil || problem.Code != api.CodeTooManyConnections {
		t.Errorf("%s, %v", body, err)
	}
	if n := s.Stats().Refused[api.CodeTooManyConnections]; n != 1 {
		t.Errorf("%d were counted", n)
	}
	_ = first.Close()
	for { // the server has yet to see it
		c := dialRaw(t, addr)
		_, _ = io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if answer, _ := io.ReadAll(c); strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
			break
		}
	}
	_ = second.Close()
	for _, l := range s.Limits(t.Context()) {
		if l.Name == "connections" && (l.Limit != 2 || l.Used == nil) {
			t.Errorf("%+v", l)
		}
	}
}
