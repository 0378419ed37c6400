package socket

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// FuzzFrame: a frame is taken or refused with a code; what is taken is what encoding/json
// sees, and every reply built from it is JSON.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"type":"event","id":1,"data":{"x":[1,2]}}`, `{"type":"events","id":"a\"b","data":[1,2]}`,
		` { "type" : "command" , "command":"Step","n":2}`,
		`{"type":"subscribe","topics":["outputs"],"since":"1:2"}`,
		`{"type":"command","command":"FireWith","cache":{"a":1},"replace":false,"key":null}`,
		`{}`, `[]`, `{"id":1,"id":2}`, `{"x":1}`, `{"type":"ev\u0065nt"}`, "{\"type\":\"\xff\"}", `{"type":`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fr frame
		bad := fr.parse(raw, 64)
		id := fr[memberID]
		if bad != nil {
			if bad.code == "" || bad.detail == "" {
				t.Fatalf("%q: refused with %+v", raw, bad)
			}
			if reply := appendError(nil, id, bad.code, bad.detail); !json.Valid(reply) {
				t.Fatalf("%q: reply %s", raw, reply)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q is taken: %v", raw, err)
		}
		for m, name := range memberNames {
			if string(fr[m]) != string(want[name]) {
				t.Fatalf("%q: %s is %s, want %s", raw, name, fr[m], want[name])
			}
		}
		if reply := appendAck(nil, id, &wire.Pushed{}); !json.Valid(reply) {
			t.Fatalf("%q: reply %s", raw, reply)
		}
		if _, bad := eventsOf(&fr); bad != nil && bad.code == "" {
			t.Fatalf("%q: %+v", raw, bad)
		}
	})
}

// TestInbox: the reader waits for room, the writer for frames, in order.
func TestInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		const n = 10 * maxAhead
		go func() {
			for i := range n {
				if err := b.put(t.Context(), item{size: 1, id: []byte{byte(i), byte(i >> 8)}}); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		}()
		synctest.Wait()
		if len(b.items) != maxAhead {
			t.Errorf("%d frames are read ahead, want %d", len(b.items), maxAhead)
		}
		var taken []item
		for i := 0; i < n; {
			var err error
			if taken, err = b.drain(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			for _, it := range taken {
				if int(it.id[0])|int(it.id[1])<<8 != i&0xffff {
					t.Fatalf("frame %d is %v", i, it.id)
				}
				i++
			}
		}
		// Large frames: one fits, whatever its size; a second waits.
		for range 2 {
			go func() { _ = b.put(t.Context(), item{size: 2 * maxAheadBytes}) }()
		}
		synctest.Wait()
		if len(b.items) != 1 {
			t.Errorf("%d large frames are read ahead", len(b.items))
		}
		for range 2 {
			if _, err := b.drain(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(100)
		began := time.Now()
		for range 350 {
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began).Round(10 * time.Millisecond); d != 2500*time.Millisecond {
			t.Errorf("350 frames took %v", d)
		}
	})
}

func TestAppendFrame(t *testing.T) {
	t.Parallel()
	for _, f := range []*api.Frame{
		{},
		{Type: "output", Graph: "g", Seq: 1, Incarnation: 2, Output: "o", Epoch: 3, Key: json.RawMessage(`"k"`),
			FiringID: "f", Value: json.RawMessage(`{"a":1}`)},
		{Type: "gap", Graph: "g", Seq: 9, From: 3, To: 8},
		{Type: "gap", Graph: "g", Shard: 2, Seq: 9, From: 3, To: 8},
		{Type: "health", Graph: "g", Health: "degraded", Reason: &api.Reason{Code: `"`, Detail: "<\n>"}},
		{Type: "health", Graph: "g", Health: "live", Paused: new(true)},
	} {
		want, err := wire.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendFrame(nil, f)
		if err != nil || string(got) != string(want) {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
	}
	if _, err := appendFrame(nil, &api.Frame{Firing: &api.Firing{Key: json.RawMessage("{")}}); err == nil {
		t.Error("a firing with a broken key is encoded")
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		`{"type":"result","id":1}`:            struct{}{},
		`{"type":"result","id":1,"n":"<"}`:    map[string]string{"n": "<"},
		`{"type":"result","id":1,"epoch":0,"`: api.FireResult{},
	} {
		got, err := appendResult(nil, []byte("1"), v)
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	raw := []byte(`{"type":"event","id":123456,"data":{"symbol":"AAPL","bid":101.25,"ask":101.27,"ts":1763632800123}}`)
	b.ReportAllocs()
	for b.Loop() {
		var f frame
		if f.parse(raw, 64) != nil {
			b.Fatal("bad")
		}
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	f := &api.Frame{Type: "output", Graph: "market_maker", Seq: 123456, Incarnation: 7, Output: "signals",
		Epoch:    123456,
		FiringID: "0190163d-8694-739b-aea5-966c26f8ad91",
		Value:    json.RawMessage(`{"symbol":"AAPL","mid":101.26,"spread":0.02,"ts":1763632800123}`)}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = appendFrame(out[:0], f)
	}
}

// TestBadFrameKeepsItsID: whatever is wrong with a frame, the error names the request, wherever
// its id stands, as far as there is one to read.
func TestBadFrameKeepsItsID(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, c := range []struct{ frame, code, id string }{
		{`{"id":7,"nope":1}`, api.CodeInvalidFrame, "7"},
		{`{"nope":1,"id":7}`, api.CodeInvalidFrame, "7"},
		{`{"type":"event","type":"event","id":"a"}`, api.CodeDuplicateKey, `"a"`},
		{`{"id":1,"nope":{"id":2},"id":3}`, api.CodeInvalidFrame, "1"},
		{`{"data":` + deep + `,"id":7}`, api.CodeTooDeep, "7"},
		{`{"id":7,"data":tru}`, api.CodeInvalidJSON, "7"},
		{`{"id":7,"data":1`, api.CodeInvalidJSON, "7"},
		{`{"id":7,"data":1}}`, api.CodeInvalidJSON, "7"},
		{"{\"data\":\"\xff\",\"id\":7}", api.CodeInvalidUTF8, "7"},
		{"{\"data\":1,\"id\":\"\xff\"}", api.CodeInvalidUTF8, ""},
		{`{"data":tru,"id":7}`, api.CodeInvalidJSON, ""},
		{`{"nope":1,"id":[7]}`, api.CodeInvalidFrame, ""},
		{`{"nope":1,"id":"` + strings.Repeat("x", maxID) + `"}`, api.CodeInvalidFrame, ""},
		{`{"nope":1,"id":`, api.CodeInvalidJSON, ""},
		{`{"nope":1,"id"`, api.CodeInvalidJSON, ""},
		{`{"nope":1,`, api.CodeInvalidJSON, ""},
		{`[{"id":7}]`, api.CodeInvalidFrame, ""},
		{``, api.CodeInvalidJSON, ""},
	} {
		var f frame
		bad := f.parse([]byte(c.frame), 64)
		if bad == nil || bad.code != c.code || string(f[memberID]) != c.id {
			t.Errorf("%s: %+v of the frame %s, want %s of %s", c.frame, bad, f[memberID], c.code, c.id)
		}
	}
}
