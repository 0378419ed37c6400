package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Vars are set by one parameter, a JSON object: texts as they are, all else as it is written.
func TestApplySets(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, Config{})
	for set, want := range map[string]struct {
		status int
		has    string
	}{
		`{"a": 1.50, "b": "x y", "c": null, "d": [1,"2"]}`: {
			http.StatusOK, `"diff":["set a=1.50 b=x y c=null d=[1,\"2\"]"]`,
		},
		`{}`:  {http.StatusOK, `"diff":["+ node n"]`},
		`a`:   {http.StatusBadRequest, "invalid_parameter"},
		`[1]`: {http.StatusBadRequest, "invalid_parameter"},
		``:    {http.StatusBadRequest, "invalid_parameter"},
	} {
		target := "/v1/graphs/h?dry_run=1&set=" + url.QueryEscape(set)
		got := do(t, s, "PUT", target, strings.NewReader("graph: h"))
		if got.status != want.status || !strings.Contains(string(got.body), want.has) {
			t.Errorf("%s: got %d %s", set, got.status, got.body)
		}
	}
}
