package server

import (
	"encoding/json"
	"strings"
	"testing"
)

const keyedDeclaration = `
graph: pairs
accumulators:
  left: { emit: { s: event.s, x: event.x } }
  right: { key: event.sym, default: { x: 0 } }
  limit: { global: true, default: 100 }
reactor: { key: s, strategy: sequential, max_keys: 3 }
nodes:
  difference: { expr: '[key, left.x - right.x, limit]' }
outputs:
  differences: { from: difference, sink: { websocket: {} } }
`

// TestM13AgainstTheEngine: a keyed graph over REST and WebSocket: key in state, firings,
// commands and frames; refused without one, and for one that is not there.
func TestM13AgainstTheEngine(t *testing.T) {
	t.Parallel()
	s := overEngine(t)
	const g = "/v1/graphs/pairs"
	step := func(request, body string, status int, code string, want ...string) {
		t.Helper()
		method, target, _ := strings.Cut(request, " ")
		x := do(t, s, method, target, strings.NewReader(body)) // holds it against the document
		if x.status != status || x.code(t) != code {
			t.Errorf("%s: got %d %s, want %d %s", request, x.status, x.body, status, code)
		}
		for _, part := range want {
			if !strings.Contains(string(x.body), part) {
				t.Errorf("%s: got %s, want %s in it", request, x.body, part)
			}
		}
	}
	step("PUT "+g, keyedDeclaration, 201, "")
	watcher := connect(t, serve(t, s)+"/v1/ws"+strings.TrimPrefix(g, "/v1")+"/reactor")
	watcher.send(`{"type":"subscribe","id":1,"topics":["outputs","firings","state"]}`)
	watcher.want(`{"type":"result","id":1,"topics":["outputs","firings","state"],"at":"1:0"}`)

	step("POST "+g+"/accumulators/left/events", `[{"s":"A","x":1},{"s":7,"x":2},{"x":3}]`, 200, "", `"accepted":2`,
		`"key_missing"`)
	step("POST "+g+"/accumulators/right/events", `{"sym":"A","x":5}`, 200, "")
	step("POST "+g+"/drain", "", 200, "")
	for seen := map[string]bool{}; !seen["output"] || !seen["firing"] || !seen["state"]; {
		var f struct {
			Type   string
			Key    json.RawMessage
			Firing struct{ Key json.RawMessage }
		}
		if err := json.Unmarshal([]byte(watcher.next()), &f); err != nil {
			t.Fatal(err)
		}
		if k := string(f.Key) + string(f.Firing.Key); k != `"A"` && k != "7" {
			t.Errorf("a %s frame has the key %q", f.Type, k)
		}
		seen[f.Type] = true
	}
	step("GET "+g, "", 200, "", `"keys":{"count":2,"max":3,"evicted":0,"waiting":0,"waiting_bytes":0,`)
	step("GET "+g+"/state?key=A", "", 200, "", `"left":{"s":"A","x":1}`, `"right":{"sym":"A","x":5}`,
		`"difference":["A",-4,100]`)
	step("GET "+g+"/state?key=7", "", 200, "", `"difference":[7,2,100]`)
	step("GET "+g+"/state", "", 422, "key_required")
	step("GET "+g+"/state?key=B", "", 404, "key_not_found")
	step("GET "+g+"/state?key=%7B%7D", "", 422, "bad_key")
	step("GET "+g+"/firings?key=7", "", 200, "", `"epoch":2`)
	step("GET "+g+"/firings?key=B", "", 200, "", `"items":[]`)
	step("POST "+g+"/fire", `{"mode":"force"}`, 422, "key_required")
	step("POST "+g+"/fire", `{"mode":"force","key":"B"}`, 404, "key_not_found")
	step("POST "+g+"/fire", `{"mode":"force","key":"A"}`, 200, "", `"epoch":4`)
	step("POST "+g+"/fire", `{"mode":"with","key":"B","cache":{"left":{"s":"B","x":9}},"replace":false}`, 200, "",
		`"differences":["B",9,100]`)
	step("GET "+g+"/state?key=B", "", 404, "key_not_found") // an aside leaves no key behind
	step("POST "+g+"/fire", `{"mode":"with","key":"B","cache":{"left":{"s":"B","x":9}}}`, 200, "", `"epoch":6`)
	step("GET "+g+"/state?key=B", "", 200, "", `"left":{"s":"B","x":9}`)
	step("POST "+g+"/fire", `{"mode":"with","key":"12","cache":{"left":{"s":"12","x":9}}}`, 200, "")
	step("GET "+g+"/state?key=12", "", 200, "", `"left":{"s":"12","x":9}`) // the text, for there is no number 12
	step("GET "+g+"/firings?key=12", "", 200, "", `"key":"12"`)
	step("GET "+g, "", 200, "", `"keys":{"count":3,"max":3,"evicted":1,"waiting":0,"waiting_bytes":0,`)
}
