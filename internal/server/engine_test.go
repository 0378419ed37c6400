package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/engine"
)

var _ Control = (*engine.Engine)(nil)

const declaration = `
graph: pairs
description: Differences of two inputs.
accumulators:
  left: { schema: { type: object, required: [x] } , where: event.x != 13 }
  right: { default: { x: 0 } }
reactor: { when: { any: [left] }, strategy: sequential }
nodes:
  difference: { expr: left.x - right.x }
  ratio: { expr: left.x / right.x, on_error: dead_letter }
  size:
    route: { large: difference > 100, small: "true" }
  alarm: { after: size.large, expr: '"large: " + string(difference)' }
outputs:
  differences: { from: difference, sink: { websocket: {} } }
  alarms: { from: alarm, sink: { drop: {} } }
`

// TestAgainstTheEngine: what the real engine answers is what the document says, over REST and
// over WebSocket.
func TestAgainstTheEngine(t *testing.T) {
	t.Parallel()
	s := overEngine(t)
	const g = "/v1/graphs/pairs"
	step := func(request, body string, status int, code string) []byte {
		t.Helper()
		method, target, _ := strings.Cut(request, " ")
		x := do(t, s, method, target, strings.NewReader(body)) // holds it against the document
		if x.status != status || x.code(t) != code {
			t.Errorf("%s: got %d %s, want %d %s", request, x.status, x.body, status, code)
		}
		return x.body
	}
	step("PUT "+g, "graph: pairs\nnodes: { a: { exp: 1 } }", 422, "declaration_invalid")
	step("PUT "+g+"?dry_run=1", declaration, 200, "")
	step("PUT "+g, declaration, 201, "")
	step("PUT "+g, declaration, 200, "")
	step("PUT /v1/graphs/other", declaration, 422, "name_mismatch")
	url := serve(t, s)

	watcher := connect(t, url+"/v1/ws"+strings.TrimPrefix(g, "/v1")+"/reactor")
	watcher.send(`{"type":"subscribe","id":1,"topics":["outputs","firings","health","state"]}`)
	watcher.want(`{"type":"result","id":1,"topics":["outputs","firings","health","state"],"at":"1:0"}`)
	pusher := connect(t, url+"/v1/ws"+strings.TrimPrefix(g, "/v1")+"/accumulators/left")
	pusher.send(`{"type":"events","id":1,"data":[{"x":150},{"x":13},{"y":1}]}`)
	if got := pusher.next(); !strings.HasPrefix(got, `{"type":"ack","id":1,"accepted":2,"filtered":1,`+
		`"durable":false,"rejected":[{"index":2,"code":"against_schema",`) {
		t.Errorf("got %s", got)
	}
	for seen := map[string]bool{}; !seen["output"] || !seen["firing"]; { // each is held against the document
		var f struct{ Type string }
		if err := json.Unmarshal([]byte(watcher.next()), &f); err != nil {
			t.Fatal(err)
		}
		seen[f.Type] = true
	}

	step("POST "+g+"/accumulators/left/events", `{"x":1}`, 200, "")
	step("POST "+g+"/accumulators/left/events", `{"y":1}`, 422, "all_rejected")
	step("POST "+g+"/accumulators/left/events", `{"x":1,"x":1}`, 400, "duplicate_key")
	step("POST "+g+"/accumulators/left/events", `{`, 400, "invalid_json")
	step("POST "+g+"/accumulators/left/events", `[]`, 200, "")
	step("POST "+g+"/accumulators/none/events", `{`, 404, "accumulator_not_found")
	step("POST "+g+"/drain", "", 200, "")
	step("GET "+g, "", 200, "")
	step("GET /v1/graphs", "", 200, "")
	step("GET "+g+"/plan", "", 200, "")
	step("GET "+g+"/state", "", 200, "")
	step("GET "+g+"/state?key=A", "", 422, "not_keyed")
	step("GET "+g+"/keys", "", 422, "not_keyed")
	step("GET "+g+"/firings", "", 200, "")
	step("GET "+g+"/firings?limit=1", "", 200, "")
	step("GET "+g+"/firings?before=x", "", 400, "bad_cursor")
	step("GET "+g+"/firings/1", "", 200, "")
	step("GET "+g+"/why", "", 200, "")
	step("GET "+g+"/why?epoch=999", "", 404, "firing_not_found")
	step("GET "+g+"/why-not?output=alarms", "", 200, "")
	step("GET "+g+"/why-not?output=none", "", 404, "output_not_found")
	step("GET "+g+"/firings/999", "", 404, "firing_not_found")
	step("GET "+g+"/accumulators", "", 200, "")
	step("GET "+g+"/accumulators/left", "", 200, "")
	step("GET "+g+"/recovery-events", "", 200, "")
	step("POST "+g+"/fire", `{"mode":"force"}`, 200, "")
	step("POST "+g+"/fire", `{"mode":"with","cache":{"left":{"x":7}},"replace":false}`, 200, "")
	step("POST "+g+"/fire", `{"mode":"with","cache":{"up":1}}`, 422, "unknown_input")
	step("POST "+g+"/step", "", 409, "not_paused")
	step("POST "+g+"/pause", "", 200, "")
	step("POST "+g+"/step", `{"n":2}`, 200, "")
	step("POST "+g+"/resume", "", 200, "")
	step("POST "+g+"/checkpoint", "", 200, "")
	step("POST "+g+"/stop", `{"accumulator":"left"}`, 200, "")
	step("POST "+g+"/accumulators/left/events", `{"x":9}`, 409, "input_stopped")
	step("POST "+g+"/skip-lost", `{"accumulator":"left"}`, 409, "input_stopped")
	step("GET "+g, "", 200, "")
	step("POST "+g+"/start", `{"accumulator":"left"}`, 200, "")
	step("POST "+g+"/stop", `{"accumulator":"nobody"}`, 404, "accumulator_not_found")
	step("POST "+g+"/stop", `{"output":"nobody"}`, 404, "output_not_found")
	step("POST "+g+"/skip-lost", `{"accumulator":"left"}`, 409, "nothing_lost")
	letters(t, step("GET "+g+"/dead-letters", "", 200, ""), step, g)
	step("POST "+g+"/restart", `{"accumulator":"left"}`, 200, "")
	step("GET /v1/tree", "", 200, "")
	step("GET /v1/limits", "", 200, "")
	step("GET /readyz", "", 200, "")
	step("DELETE "+g+"?state=delete", "", 204, "")
	for { // what is left of the stream, and its end
		if got := watcher.next(); strings.HasPrefix(got, `{"type":"error","code":"graph_ended"`) {
			break
		}
	}
	watcher.wantClose(1001)
	step("GET "+g, "", 404, "graph_not_found")
}

// letters goes through what the division by zero has left.
func letters(t *testing.T, list []byte, step func(string, string, int, string) []byte, g string) {
	t.Helper()
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(list, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Items) < 2 { // one of each push
		t.Fatalf("dead letters: %s", list)
	}
	// a node's letter is no event
	step("POST "+g+"/dead-letters/"+page.Items[0].ID+"/replay", "", 409, "not_replayable")
	step("DELETE "+g+"/dead-letters/"+page.Items[len(page.Items)-1].ID, "", 204, "")
	step("DELETE "+g+"/dead-letters/none", "", 404, "dead_letter_not_found")
}
