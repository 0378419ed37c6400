package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

func TestSocketRefusals(t *testing.T) {
	t.Parallel()
	url := serve(t, newServer(t, newFake(), Config{Origins: []string{"https://ops.example.com"}, MaxBody: 1000}))
	dial := func(path, origin string, subprotocols ...string) (int, string) {
		t.Helper()
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, resp, err := websocket.Dial(t.Context(), url+path, &websocket.DialOptions{
			Subprotocols: subprotocols, HTTPHeader: h,
		})
		if err == nil {
			_ = ws.CloseNow()
			return resp.StatusCode, ""
		}
		if resp == nil {
			t.Fatal(err)
		}
		var p struct{ Code string }
		_ = json.NewDecoder(resp.Body).Decode(&p)
		return resp.StatusCode, p.Code
	}
	const sub = "graphd.v1+json"
	tests := []struct {
		path, origin string
		subprotocols []string
		status       int
		code         string
	}{
		{pushURL, "", []string{sub}, 101, ""},
		{pushURL, "", []string{"x", sub}, 101, ""},
		{pushURL, "", nil, 400, "subprotocol_required"},
		{pushURL, "", []string{"graphd.v2+json"}, 400, "subprotocol_required"},
		{reactorURL, url, []string{sub}, 101, ""},
		{reactorURL, strings.Replace(url, "http", "https", 1), []string{sub}, 403, "cross_origin"},
		{reactorURL, "https://ops.example.com", []string{sub}, 101, ""},
		{reactorURL, "https://evil.example.com", []string{sub}, 403, "cross_origin"},
		{reactorURL, "null", []string{sub}, 403, "cross_origin"},
		{"/v1/ws/events", "", []string{sub}, 101, ""},
		{"/v1/ws/events?x=1", "", []string{sub}, 400, "unknown_parameter"},
		{"/v1/ws/graphs/none/reactor", "", []string{sub}, 404, "graph_not_found"},
		{"/v1/ws/graphs/g/accumulators/b", "", []string{sub}, 404, "accumulator_not_found"},
	}
	for _, tt := range tests {
		if status, code := dial(tt.path, tt.origin, tt.subprotocols...); status != tt.status || code != tt.code {
			t.Errorf("%s from %q with %q: got %d %s, want %d %s", tt.path, tt.origin, tt.subprotocols, status, code,
				tt.status, tt.code)
		}
	}

	c := connect(t, url+pushURL)
	c.send(`{"type":"event","data":"` + strings.Repeat("x", 2000) + `"}`)
	c.wantClose(websocket.StatusMessageTooBig)
	c = connect(t, url+pushURL)
	if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

func TestSocketLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{MaxSockets: 2})
	url := serve(t, s)
	one, two := connect(t, url+pushURL), connect(t, url+reactorURL)
	third, _, err := websocket.Dial(t.Context(), url+pushURL, &websocket.DialOptions{
		Subprotocols: []string{"graphd.v1+json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	(&client{t, third}).wantClose(websocket.StatusTryAgainLater)
	if n := s.Stats().WebSockets; n != 2 {
		t.Errorf("%d connections are counted", n)
	}
	if err := one.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	two.send(`{"type":"command","id":1,"command":"Checkpoint"}`) // still served
	two.want(`{"type":"result","id":1,"checkpoint_epoch":12}`)
	eventually(t, "the closed connection counts no more", func() bool { return s.Stats().WebSockets < 2 })
	connect(t, url+pushURL)
}

// TestSocketShutdown: every connection is closed with 1001, what was taken is acknowledged
// before, and nothing is left running. // M38
func TestSocketShutdown(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full, f.free = true, 2
		s := newServer(t, ctl, Config{})
		url := serve(t, s)
		pusher, watcher := connect(t, url+pushURL), connect(t, url+reactorURL)
		pusher.send(`{"type":"events","id":1,"data":[1,2,3]}`)
		within(t, f.started, "a push begins")
		watcher.send(`{"type":"subscribe","id":1,"topics":["outputs"]}`)
		watcher.want(`{"type":"result","id":1,"topics":["outputs"]}`)
		done := make(chan error)
		go func() { done <- s.Shutdown(t.Context()) }()
		pusher.want(ack(`"id":1,`, 2, 0))
		pusher.wantClose(websocket.StatusGoingAway)
		watcher.wantClose(websocket.StatusGoingAway)
		if err := <-done; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if n := s.Stats().WebSockets; n != 0 {
			t.Errorf("%d connections are left", n)
		}
		within(t, f.sub(0).closed, "the subscription is closed")
		if err := s.hub.Watch(httptest.NewRecorder(), upgradeRequest(), api.Ref{}, &access.Principal{}); err == nil {
			t.Error("a connection is admitted after the shutdown")
		}
	})
}

func upgradeRequest() *http.Request {
	r := httptest.NewRequest("GET", "/v1/ws/events", nil)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Protocol": "graphd.v1+json",
		"Sec-WebSocket-Version":  "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		r.Header.Set(name, value)
	}
	return r
}

// TestSocketPanic: a panic while pushing or commanding ends that connection alone.
func TestSocketPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, newFake(), Config{Log: textLog(&log)})
	url := serve(t, s)
	other, c := connect(t, url+pushURL), connect(t, url+pushURL)
	c.send(`{"type":"event","id":1,"data":{"panic":true}}`)
	c.wantClose(websocket.StatusInternalError)
	other.send(`{"type":"event","id":1,"data":1}`)
	other.want(ack(`"id":1,`, 1, 0))
}
