package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// as sends a request with headers, and gives what is answered as soon as the daemon knows who asks: a busy store tells
// it too late, and it says so.
func (d *daemon) as(method, path string, headers ...string) (res *http.Response, body string) {
	d.t.Helper()
	d.until("who asks is known", func() bool {
		res, body = d.asOnce(method, path, headers...)
		return res.StatusCode != http.StatusServiceUnavailable
	})
	return res, body
}

func (d *daemon) asOnce(method, path string, headers ...string) (res *http.Response, body string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if res, err = http.DefaultClient.Do(req); err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res, string(data)
}

// socket opens the stream of events; nil with the status where it is refused.
func (d *daemon) socket(ctx context.Context, query string, header http.Header) (conn *websocket.Conn, status int) {
	conn, res, err := websocket.Dial(ctx, d.base+"/v1/ws/events"+query, &websocket.DialOptions{HTTPHeader: header,
		Subprotocols: []string{"graphd.v1+json"}})
	if err == nil {
		return conn, http.StatusSwitchingProtocols
	}
	if res != nil {
		status = res.StatusCode
	}
	return nil, status
}

// oneOpens shows a ticket for a thousand sockets at two daemons, and holds that it opens one and no more. It answers
// false where that one may be among those that a busy store has told nothing of in time.
func oneOpens(ctx context.Context, token string, a, b *daemon) bool {
	a.t.Helper()
	var ticket struct{ Ticket string }
	res, body := a.as("POST", "/v1/ws-tickets", "Authorization", "Bearer "+token)
	if err := json.Unmarshal([]byte(body), &ticket); err != nil || res.StatusCode != http.StatusCreated {
		a.t.Fatalf("got %d %s", res.StatusCode, body)
	}
	var opened, refused, untold atomic.Int64
	var all sync.WaitGroup
	for i := range 1000 {
		at := []*daemon{a, b}[i%2]
		all.Go(func() {
			conn, status := at.socket(ctx, "?ticket="+ticket.Ticket, nil)
			switch {
			case conn != nil:
				opened.Add(1)
				_ = conn.CloseNow()
			case status == http.StatusUnauthorized:
				refused.Add(1)
			case status == http.StatusServiceUnavailable:
				untold.Add(1)
			}
		})
	}
	all.Wait()
	if opened.Load() == 0 && untold.Load() > 0 {
		return false
	}
	if opened.Load() != 1 || refused.Load()+untold.Load() != 999 {
		a.t.Errorf("one ticket has opened %d sockets, %d were refused, and %d told that nothing is known of it",
			opened.Load(), refused.Load(), untold.Load())
	}
	return true
}

// TestPassesOfSeveralDaemons: of a thousand sockets that one ticket is shown for at two daemons on one store one is
// opened; a browser that is logged in at one is at the other, over a restart too, and a logout closes its sockets
// everywhere within five seconds (A8, A10).
func TestPassesOfSeveralDaemons(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	token, err := graphd.Bootstrap(t.Context(), graphd.Config{Store: dsn}, "root", "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a, b := startDaemon(t, graphd.Config{Store: dsn}), startDaemon(t, graphd.Config{Store: dsn})
	a.until("it is told whose socket a ticket opens", func() bool { return oneOpens(ctx, token, a, b) })

	res, body := a.as("POST", "/v1/login", "Authorization", "Bearer "+token)
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("got %d %s", res.StatusCode, body)
	}
	cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	page := func(d *daemon, method, path string) int {
		res, _ := d.as(method, path, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
		return res.StatusCode
	}
	if got := page(b, "GET", "/v1/graphs"); got != http.StatusOK {
		t.Errorf("the other daemon answers %d", got)
	}
	a.stop()
	a = startDaemon(t, graphd.Config{Store: dsn})
	if got := page(a, "GET", "/v1/graphs"); got != http.StatusOK {
		t.Errorf("after a restart: %d", got)
	}
	var conn *websocket.Conn
	var status int
	b.until("who opens a socket is known", func() bool {
		conn, status = b.socket(ctx, "", http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"same-origin"}})
		return status != http.StatusServiceUnavailable
	})
	if conn == nil {
		t.Fatalf("a socket of a browser that is logged in: %d", status)
	}
	if got := page(a, "POST", "/v1/logout"); got != http.StatusOK {
		t.Errorf("the logout: %d", got)
	}
	control := stall.Begin()
	for err = nil; err == nil; _, _, err = conn.Read(ctx) {
	}
	control.End().Within(t, "the socket at the other daemon ends", 15*time.Second)
	if got := page(b, "GET", "/v1/graphs"); got != http.StatusUnauthorized {
		t.Errorf("the other daemon answers %d after the logout", got)
	}
}
