package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+reactorURL)
	state, _ := json.Marshal(fakeState())
	tests := []struct{ frame, call, answer string }{
		{
			`{"type":"command","id":1,"command":"ForceFire"}`, `fire {"mode":"force"}`,
			`{"type":"result","id":1,"epoch":13,"ok":true,"error":null,"cause":"force","outputs":{"o":1}}`,
		},
		{`{"type":"command","id":1,"command":"ForceFire","key":"K"}`, `fire {"mode":"force","key":"K"}`, ``},
		{
			`{"type":"command","id":2,"command":"FireWith","cache":{"a":1},"replace":false}`,
			`fire {"mode":"with","cache":{"a":1},"replace":false}`, ``,
		},
		{`{"type":"command","id":3,"command":"GetState"}`, `state `, `{"type":"result","id":3,` + string(state[1:])},
		{`{"type":"command","id":3,"command":"GetState","key":["A", 1]}`, `state ["A",1]`, ``},
		{`{"type":"command","id":4,"command":"Pause"}`, `pause anonymous@127.0.0.1`, ``},
		{`{"type":"command","id":5,"command":"Resume"}`, `resume anonymous@127.0.0.1`, ``},
		{`{"type":"command","id":6,"command":"Step"}`, `step 1`, ``},
		{`{"type":"command","id":6,"command":"Step","n":4}`, `step 4`, ``},
		{`{"type":"command","id":7,"command":"Drain"}`, `drain`, ``},
		{`{"type":"command","command":"Checkpoint"}`, `checkpoint`, `{"type":"result","checkpoint_epoch":12}`},
	}
	for _, tt := range tests {
		c.send(tt.frame)
		got := c.next()
		if !strings.HasPrefix(got, `{"type":"result"`) || tt.answer != "" && got != tt.answer {
			t.Errorf("%s: got  %s\nwant %s", tt.frame, got, tt.answer)
		}
		if _, calls, _ := f.seen(); calls[len(calls)-1] != tt.call {
			t.Errorf("%s: the control was told %q, want %q", tt.frame, calls[len(calls)-1], tt.call)
		}
	}
	// What is not known is told with what is.
	for frame, told := range map[string][]string{
		`{"type":"command","id":1,"command":"Explode"}`: {
			`\"Explode\"`, "Checkpoint, Drain, FireWith, ForceFire, GetState, Pause, Resume, Step",
		},
		`{"type":"explode","id":1}`: {`\"explode\"`, "command, subscribe"},
	} {
		c.send(frame)
		got := c.next()
		for _, word := range told {
			if !strings.Contains(got, word) {
				t.Errorf("%s: got %s, want it to say %s", frame, got, word)
			}
		}
	}
	bad := []struct{ frame, code string }{
		{`{"type":"command","id":1,"command":"Explode"}`, "unknown_command"},
		{`{"type":"command","id":1}`, "unknown_command"},
		{`{"type":"command","id":1,"command":"Pause","n":1}`, "invalid_frame"},
		{`{"type":"command","id":1,"command":"Step","n":"x"}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"Step","n":0}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"FireWith"}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"FireWith","cache":{"a":1,"a":2}}`, "duplicate_key"},
		{`{"type":"event","id":1,"data":1}`, "unknown_type"},
		{`{"type":"subscribe","id":1}`, "unknown_topic"},
		{`{"type":"subscribe","id":1,"topics":["all"]}`, "unknown_topic"},
		{`{"type":"subscribe","id":1,"topics":["state"],"since":7}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["state"],"since":"bad"}`, "bad_since"},
		{`{"type":"subscribe","id":1,"topics":["state"],"n":1}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["outputs"],"where":""}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["outputs"],"where":7}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["outputs"],"where":"value.price >"}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["outputs"],"where":"price > 1"}`, "invalid_frame"},
	}
	for _, tt := range bad {
		c.send(tt.frame)
		c.wantError("1", tt.code)
	}
	f.fail = &api.Error{
		Status: 409, Code: "state_forbids", Detail: "not now", Extra: map[string]any{"declared": []string{"a"}},
	}
	c.send(`{"type":"command","id":9,"command":"Drain"}`)
	c.want(`{"type":"error","id":9,"code":"state_forbids","detail":"not now","status":409,"declared":["a"]}`)
	f.fail = errors.New("hunter2")
	c.send(`{"type":"command","id":9,"command":"Drain"}`)
	c.wantError("9", "internal")
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := serve(t, newServer(t, f, Config{}))
	c := connect(t, url+reactorURL)
	c.send(`{"type":"subscribe","id":1,"topics":["outputs","firings","health","state"],"since":"7:41"}`)
	c.want(`{"type":"result","id":1,"topics":["outputs","firings","health","state"]}`)
	sub := f.sub(0)
	if sub.Since != "7:41" || len(sub.Topics) != 4 {
		t.Errorf("subscribed to %v since %q", sub.Topics, sub.Since)
	}
	fired, state := firing(), fakeState()
	frames := []*api.Frame{
		{Type: "gap", Graph: "g", Seq: 44, Incarnation: 7, From: 42, To: 44},
		{Type: "output", Graph: "g", Seq: 45, Incarnation: 7, Output: "o", Epoch: 12, Key: json.RawMessage(`"K"`),
			FiringID: "f", Value: json.RawMessage(`{"a":"<"}`)},
		{Type: "output", Graph: "g", Seq: 46, Incarnation: 7, Output: "o", Epoch: 13, Value: json.RawMessage(`null`)},
		{Type: "firing", Graph: "g", Seq: 47, Incarnation: 7, Epoch: 12, Firing: &fired},
		{Type: "health", Graph: "g", Seq: 48, Incarnation: 7, Health: "degraded", Reason: &api.Reason{
			Code: "c", Detail: "d",
		}},
		{Type: "health", Graph: "g", Seq: 49, Incarnation: 7, Health: "live"},
		{Type: "state", Graph: "g", Seq: 50, Incarnation: 7, State: &state},
	}
	for round := range 2 {
		for _, frame := range frames {
			sub.frames <- frame
			if round == 0 { // one at a time, then all at once
				c.wantFrame(frame)
			}
		}
	}
	for _, frame := range frames {
		c.wantFrame(frame)
	}
	c.send(`{"type":"command","id":2,"command":"Checkpoint"}`)
	c.want(`{"type":"result","id":2,"checkpoint_epoch":12}`)

	// A second subscription takes the place of the first.
	c.send(`{"type":"subscribe","id":3,"topics":["health"]}`)
	c.want(`{"type":"result","id":3,"topics":["health"]}`)
	within(t, sub.closed, "the subscription is closed")
	f.sub(1).frames <- frames[5]
	c.wantFrame(frames[5])
	close(f.sub(1).frames) // the graph is removed
	c.wantError("", "graph_ended")
	c.wantClose(websocket.StatusGoingAway)
	within(t, f.sub(1).closed, "the subscription is closed")
}

// wantFrame reads a frame that must be as encoding/json would write it.
func (c *client) wantFrame(f *api.Frame) {
	c.t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		c.t.Fatal(err)
	}
	c.want(strings.TrimSpace(want.String()))
}

func TestWatchAll(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+"/v1/ws/events")
	c.send(`{"type":"command","id":1,"command":"Pause"}`)
	c.wantError("1", "unknown_type")
	c.send(`{"type":"subscribe","id":2,"topics":["health"]}`)
	c.want(`{"type":"result","id":2,"topics":["health"]}`)
	for i := range 1000 { // more than one write's worth
		f.sub(0).frames <- &api.Frame{Type: "health", Graph: "x", Seq: int64(i), Incarnation: 1, Health: "live"}
	}
	for i := range 1000 {
		if got, want := string(c.read()),
			fmt.Sprintf(`{"type":"health","graph":"x","seq":%d,"incarnation":1,"health":"live"}`, i); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// TestWatchSample: how many epochs a second are wanted goes to the graph; what it cannot be is refused, and so is it
// beside where and of all graphs.
func TestWatchSample(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := serve(t, newServer(t, f, Config{}))
	c := connect(t, url+reactorURL)
	for _, wrong := range []string{`"sample":0`, `"sample":1001`, `"sample":-1`, `"sample":1.5`, `"sample":"4"`,
		`"sample":4,"where":"ok"`} {
		c.send(`{"type":"subscribe","id":1,"topics":["firings"],` + wrong + `}`)
		c.wantError("1", "invalid_frame")
	}
	c.send(`{"type":"subscribe","id":2,"topics":["firings"],"sample":1000}`)
	c.want(`{"type":"result","id":2,"topics":["firings"]}`)
	sub := f.sub(0)
	if sub.Sample != 1000 {
		t.Errorf("%d a second are asked for", sub.Sample)
	}
	fired := firing()
	for _, frame := range []*api.Frame{
		{Type: "output", Graph: "g", Seq: 1, Incarnation: 7, Output: "o", Epoch: 9, Value: json.RawMessage("1"),
			LeftOut: 3},
		{Type: "firing", Graph: "g", Seq: 2, Incarnation: 7, Epoch: 9, Firing: &fired, LeftOut: 4},
		{Type: "gap", Graph: "g", Seq: 4, Incarnation: 7, From: 3, To: 4, LeftOut: 5},
	} {
		sub.frames <- frame
		c.wantFrame(frame)
	}
	all := connect(t, url+"/v1/ws/events")
	all.send(`{"type":"subscribe","id":1,"topics":["firings"],"sample":4}`)
	all.wantError("1", "invalid_frame")
}

// TestWatchWhere: outputs and firings come for which an expression is true, and whatever is neither; one that it
// cannot be computed for does not come.
func TestWatchWhere(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+reactorURL)
	c.send(`{"type":"subscribe","id":1,"topics":["outputs","firings","health"],` +
		`"where":"output == \"o\" ? value.price > 5 : ok && outputs.o.price > 5 && inputs.a == 1"}`)
	c.want(`{"type":"result","id":1,"topics":["outputs","firings","health"]}`)
	one, other, failed := firing(), firing(), firing()
	one.OK, other.OK, failed.OK = true, true, false
	one.Inputs = map[string]json.RawMessage{"a": json.RawMessage("1")}
	one.Outputs = map[string]json.RawMessage{"o": json.RawMessage(`{"price":6}`)}
	other.Inputs, failed.Outputs = one.Inputs, one.Outputs
	other.Outputs = map[string]json.RawMessage{"o": json.RawMessage(`{"price":4}`)}
	output := func(seq int64, value string) *api.Frame {
		return &api.Frame{Type: "output", Graph: "g", Seq: seq, Incarnation: 7, Output: "o", Epoch: seq,
			Value: json.RawMessage(value)}
	}
	sub := f.sub(0)
	for _, frame := range []*api.Frame{output(1, `{"price":4}`), output(2, `"none"`), output(3, `{"price":6}`),
		{Type: "firing", Graph: "g", Seq: 4, Incarnation: 7, Epoch: 4, Firing: &other},
		{Type: "firing", Graph: "g", Seq: 5, Incarnation: 7, Epoch: 5, Firing: &failed},
		{Type: "firing", Graph: "g", Seq: 6, Incarnation: 7, Epoch: 6, Firing: &one},
		{Type: "gap", Graph: "g", Seq: 9, Incarnation: 7, From: 7, To: 9}, output(10, `{"price":5}`),
		{Type: "health", Graph: "g", Seq: 10, Incarnation: 7, Health: "live"}} {
		sub.frames <- frame
	}
	c.wantFrame(output(3, `{"price":6}`))
	c.wantFrame(&api.Frame{Type: "firing", Graph: "g", Seq: 6, Incarnation: 7, Epoch: 6, Firing: &one})
	c.wantFrame(&api.Frame{Type: "gap", Graph: "g", Seq: 9, Incarnation: 7, From: 7, To: 9})
	c.wantFrame(&api.Frame{Type: "health", Graph: "g", Seq: 10, Incarnation: 7, Health: "live"})
}
