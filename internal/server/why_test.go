package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

func (f *fake) Why(_ context.Context, g api.Ref, q api.WhyQuery) (api.Why, error) {
	raw, _ := json.Marshal(q)
	because := &api.Because{Code: "cut_off", Detail: "as before", Node: "n"}
	return api.Why{Graph: "g", Epoch: 12, At: at, Key: json.RawMessage("null"), OK: true, Sentence: "because",
		Cause: api.Reason{Code: "criteria", Detail: "news"}, Revision: &api.Revision{Revision: 3, At: at},
		Inputs: []api.WhyInput{{Name: "a", State: "new", Events: 1, Value: json.RawMessage("1")}},
		Guard:  &api.WhyGuard{Expression: "a > 0", Reads: map[string]json.RawMessage{"a": json.RawMessage("1")}},
		Nodes:  []api.WhyNode{{Name: "n", Status: "cut_off", Value: json.RawMessage("1"), Because: because}},
		Outputs: []api.WhyOutput{{Name: "o", Fate: "silent", Detail: "as before", Value: json.RawMessage("null"),
			Because: because}},
	}, f.call(g, "why "+string(raw))
}

func (f *fake) WhyNot(_ context.Context, g api.Ref, q api.WhyNotQuery) (api.WhyNot, error) {
	raw, _ := json.Marshal(q)
	return api.WhyNot{Graph: "g", Key: json.RawMessage("null"), At: at, Sentence: "paused",
		Now: []api.Because{{Code: "paused", Detail: "the graph is paused"}}, Epochs: []api.Because{},
		Refused: []api.Because{{Code: "late", Detail: "late", Input: "a", At: &at, Events: 1}},
		Counts:  map[string]int64{"late": 2}}, f.call(g, "why-not "+string(raw))
}

func (f *fake) Keys(_ context.Context, g api.Ref, q api.KeyQuery) (api.KeyPage, error) {
	raw, _ := json.Marshal(q)
	return api.KeyPage{Items: []api.KeyRow{{Key: json.RawMessage(`"k"`), Shard: 1, LastArrivalAt: at, Waiting: 2}},
		Next: "next", Keys: 9, Fitting: 3, Unknown: []int{2}}, f.call(g, "keys "+string(raw))
}

// TestWhyRoutes: what is asked of …/why, …/why-not and …/keys gets to the daemon, and what makes no sense does not.
func TestWhyRoutes(t *testing.T) {
	t.Parallel()
	const g = "/v1/graphs/g"
	for _, tt := range []struct {
		request string
		status  int
		code    string
		call    string // what the control was last told
		has     string // something in the answer
	}{
		{request: "GET " + g + "/why", status: 200, call: `why {}`, has: `"because":{"code":"cut_off"`},
		{request: "GET " + g + "/why?epoch=12&shard=3", status: 200, call: `why {"epoch":12,"shard":3}`},
		{request: "GET " + g + "/why?key=K", status: 200, call: `why {"key":"\"K\""}`},
		{request: "GET " + g + "/why?firing_id=6BA7B810-9dad-51d1-80b4-00c04fd430c8", status: 200,
			call: `why {"firing_id":"6ba7b810-9dad-51d1-80b4-00c04fd430c8"}`},
		{request: "GET " + g + "/why?firing_id=x", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/why?epoch=x", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/why?epoch=1&key=K", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/why?output=o", status: 400, code: "unknown_parameter"},
		{request: "GET " + g + "/why-not?output=o&since=5m", status: 200, call: `why-not {"output":"o","since":"5m"}`,
			has: `"counts":{"late":2}`},
		{request: "GET " + g + "/why-not?output=O-o", status: 400, code: "invalid_name"},
		{request: "GET " + g + "/keys?search=K%22&sort=key&limit=7&before=x", status: 200,
			call: `keys {"search":"K\"","sort":"key","limit":7,"before":"x"}`, has: `"fitting":3`},
		{request: "GET " + g + "/keys", status: 200, call: `keys {}`},
		{request: "GET " + g + "/keys?limit=0", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/keys?key=1", status: 400, code: "unknown_parameter"},
		{request: "GET " + g + "/keys?search=" + strings.Repeat("x", 1025), status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/why-not?epoch=1", status: 400, code: "unknown_parameter"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			t.Parallel()
			ctl := newFake()
			_, target, _ := strings.Cut(tt.request, " ")
			x := do(t, newServer(t, ctl, Config{}), http.MethodGet, target, strings.NewReader(""))
			if x.status != tt.status || x.code(t) != tt.code || !strings.Contains(string(x.body), tt.has) {
				t.Errorf("got %d %s, want %d %s\n%s", x.status, x.code(t), tt.status, tt.code, x.body)
			}
			_, calls, _ := ctl.seen()
			if tt.call != "" && (len(calls) == 0 || calls[len(calls)-1] != tt.call) {
				t.Errorf("the control was told %q, want %q", calls, tt.call)
			}
		})
	}
}
