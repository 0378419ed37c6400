package browser

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/client"
)

// upstream is what a source reads from, which a test ends and begins anew at the same address. It gives a number each
// time that it is asked, another each time: to a request, or as the first message of a WebSocket, which stays open.
type upstream struct {
	t      *testing.T
	at     string
	given  atomic.Int64
	server *httptest.Server
	ended  chan struct{}
}

func (u *upstream) begin() {
	u.t.Helper()
	l, err := net.Listen("tcp", u.at)
	if err != nil {
		u.t.Fatal(err)
	}
	ended := make(chan struct{})
	u.ended = ended
	u.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			event := fmt.Append(nil, u.given.Add(1))
			if r.Header.Get("Upgrade") == "" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(event)
				return
			}
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			_ = ws.Write(r.Context(), websocket.MessageText, event)
			<-ended
			_ = ws.CloseNow()
		})}}
	u.server.Start()
}

// end ends it. Twice does nothing.
func (u *upstream) end() {
	if u.server == nil {
		return
	}
	close(u.ended)
	u.server.Close()
	u.server = nil
}

// TestPageOfABrokenSource: what sources of the real binary read from ends, and comes back. The page says of each input
// how it stands and why, and that all is well again, without having been loaded anew.
func TestPageOfABrokenSource(t *testing.T) {
	const declared = `graph: fed
accumulators:
  feed: { source: { websocket_client: { url: "ws://%s/feed" } } }
  polled: { source: { poll: { http: "http://%s/limits.json", every: 50ms } } }
nodes: { n: { expr: polled } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
	sources := map[string]*upstream{"feed": {}, "polled": {}}
	for _, u := range sources {
		u.t, u.at = t, "127.0.0.1:"+free(t)
		u.begin()
		t.Cleanup(func() { u.end() })
	}
	at := "http://" + program(t, "serve", "--listen", "127.0.0.1:0", "--store", "memory:").address(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err == nil {
		text := fmt.Appendf(nil, declared, sources["feed"].at, sources["polled"].at)
		_, err = c.Apply(t.Context(), "fed", text, 0, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/graphs/fed")
	p.view(1440, "light")
	p.now(`window.same = true`)
	p.now(`window.epoch = () => Number(/([\d,]+) in all/.exec(document.querySelector(".figures").textContent)[1].
		replaceAll(",", ""))`)
	const well = `document.querySelector(".title .badge").textContent.includes("live") && epoch() > 0 &&
		!document.querySelector(".notice") && !document.querySelector(".inputs .badge")`
	p.until("that all is well", well)
	for name, u := range sources {
		u.end()
		p.until("that "+name+" is not well, and why", fmt.Sprintf(`[...document.querySelectorAll(".inputs li")].
			find(li => li.querySelector("strong").textContent === %q).querySelector(".badge.bad").
			matches('[title*=%q]')`, name, u.at))
	}
	p.until("how the graph stands, and why", `/^degraded: (feed|polled): .*127.0.0.1:/.test(
		document.querySelector(".notice").innerText) &&
		document.querySelector(".title .badge").textContent.includes("degraded")`)
	p.keep("broken-light-1440", false)
	p.now(`window.was = epoch()`)
	for _, u := range sources {
		u.begin()
	}
	p.until("that all is well again, and fires", well+` && epoch() > was + 1 && same`)
	p.quiet()
}
