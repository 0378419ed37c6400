package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestPushSocket(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		for _, frame := range []string{
			`{"type":"event","id":1,"data":{"x":1}}`,
			`{"type":"event","id":"two","data":{"filter":true}}`,
			` { "data" : [ {"x":3} , 4 ] , "type" : "events" } `,
			`{"type":"event","id":4,"data":[1,[2]]}`,
			`{"type":"events","id":5,"data":[]}`,
			`{"type":"events","id":6,"data":[7,{"a":1,"a":2},8]}`,
			`{"type":"event","id":7,"data":null}`,
			`{"type":"event","id":8,"data":1e999}`,
		} {
			c.send(frame)
		}
		c.want(ack(`"id":1,`, 1, 0), ack(`"id":"two",`, 1, 1), ack(``, 2, 0), ack(`"id":4,`, 1, 0),
			ack(`"id":5,`, 0, 0))
		if got := c.next(); !strings.HasPrefix(got, `{"type":"ack","id":6,"accepted":2,"filtered":0,"durable":false,`+
			`"rejected":[{"index":1,"code":"duplicate_key",`) {
			t.Errorf("got %s", got)
		}
		c.want(ack(`"id":7,`, 1, 0))
		if got := c.next(); !strings.HasPrefix(got, `{"type":"ack","id":8,"accepted":0,"filtered":0,"durable":false,`+
			`"rejected":[{"index":0,"code":"number_out_of_range",`) {
			t.Errorf("got %s", got)
		}
		got, _, _ := f.seen()
		diff(t, []string{`{"x":1}`, `{"x":3}`, "4", "[1,[2]]", "7", "8", "null"}, got)
	})
}

// TestBadFrames: a bad frame is told in its place and counts as a rejected event, and the
// connection goes on; one after the other without end closes it.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		bad := []struct{ frame, id, code string }{
			{``, ``, "invalid_json"},
			{`nonsense`, ``, "invalid_json"},
			{`{"type":"event","id":1,"data":}`, `1`, "invalid_json"},
			{`{"type":"event","id":1,"data":NaN}`, `1`, "invalid_json"},
			{"{\"type\":\"event\",\"id\":1,\"data\":\"\xff\"}", `1`, "invalid_utf8"},
			{`{"type":"event","id":1,"data":` + strings.Repeat("[", 9999) + `}`, `1`, "too_deep"},
			{`[]`, ``, "invalid_frame"},
			{`{"type":"event","dat":2,"id":1,"data":1}`, `1`, "invalid_frame"},
			{`{"type":"event","id":2,"id":3,"data":1}`, `2`, "duplicate_key"},
			{`{"type":"event","id":{},"data":1}`, ``, "invalid_frame"},
			{`{"type":"event","id":"` + strings.Repeat("x", 70) + `","data":1}`, ``, "invalid_frame"},
		}
		more := []struct{ frame, id, code string }{
			{`{"type":"event","id":4}`, `4`, "invalid_frame"},
			{`{"type":"events","id":5,"data":{}}`, `5`, "invalid_frame"},
			{`{"type":"event","id":6,"data":1,"cache":{}}`, `6`, "invalid_frame"},
			{`{"type":"event","id":7,"data":1,"dat":2}`, `7`, "invalid_frame"},
			{`{"type":"command","id":8,"command":"Pause"}`, `8`, "unknown_type"},
			{`{"id":9,"data":1}`, `9`, "unknown_type"},
			{`{"type":1,"data":1}`, ``, "unknown_type"},
		}
		for _, b := range bad {
			c.send(b.frame)
			c.wantError(b.id, b.code)
		}
		c.send(`{"type":"event","id":10,"data":1}`)
		c.want(ack(`"id":10,`, 1, 0))
		for _, b := range more {
			c.send(b.frame)
			c.wantError(b.id, b.code)
		}
		if _, _, rejected := f.seen(); len(rejected) != len(bad)+len(more) {
			t.Errorf("%d bodies counted as rejected, want %d: %q", len(rejected), len(bad)+len(more), rejected)
		}
		for range 16 - len(more) {
			c.send(`{`)
		}
		c.wantClose(websocket.StatusPolicyViolation)
	})
}

// TestBackpressure: while the accumulator is full nothing is dropped; the client's
// writes stop, and when there is room again every frame is acknowledged, in order. // M4
func TestBackpressure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full, f.free = true, 10
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		const n = 400
		pad := strings.Repeat("x", 10_000) // 4 MB: more than all buffers on the way
		sent := make(chan error, 1)
		go func() {
			for i := range n {
				if err := c.ws.Write(t.Context(), websocket.MessageText,
					fmt.Appendf(nil, `{"type":"event","id":%d,"data":[%d,"%s"]}`, i, i, pad)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range 10 {
			c.want(ack(fmt.Sprintf(`"id":%d,`, i), 1, 0))
		}
		select {
		case err := <-sent:
			t.Fatalf("all frames were taken from the client while the accumulator was full: %v", err)
		case <-f.started: // the eleventh is being pushed
		}
		f.open()
		for i := 10; i < n; i++ {
			if got, want := string(c.read()), ack(fmt.Sprintf(`"id":%d,`, i), 1, 0); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		got, _, _ := f.seen()
		for i, e := range got {
			if !strings.HasPrefix(e, fmt.Sprintf("[%d,", i)) {
				t.Fatalf("event %d is %.20s", i, e)
			}
		}
		if len(got) != n {
			t.Errorf("%d events, want %d", len(got), n)
		}
	})
}

// TestGoneWhileFull: a client that goes while its push is held up leaves nothing behind,
// whether the server still reads from it or not.
func TestGoneWhileFull(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full = true
		s := newServer(t, ctl, Config{PingInterval: 10 * time.Second}) // who lives has half of it for an answer
		url := serve(t, s)
		one, many := connect(t, url+pushURL), connect(t, url+pushURL)
		one.ws.CloseRead(t.Context()) // answers pings
		many.ws.CloseRead(t.Context())
		one.send(`{"type":"events","id":1,"data":[1,2,3]}`)
		within(t, f.started, "a push begins")
		for range 400 { // more than the server reads ahead
			many.send(`{"type":"event","data":1}`)
		}
		_, _ = one.ws.CloseNow(), many.ws.CloseNow()
		eventually(t, "the connections end", func() bool { return s.Stats().WebSockets == 0 })
	})
}

// TestFragments: a message in pieces is one frame.
func TestFragments(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, newServer(t, newFake(), Config{}))+pushURL)
	w, err := c.ws.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range strings.SplitAfter(`{"type":"event","id":1,"data":[1,2,3]}`, ",") {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.want(ack(`"id":1,`, 1, 0))
}
