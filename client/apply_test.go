package client

import "testing"

// Vars go with the declaration as one parameter.
func TestApplySets(t *testing.T) {
	t.Parallel()
	r := &recorder{answer: "{}"}
	c := newClient(t, r, "")
	o := ApplyOptions{Revision: 3, DryRun: true, Set: map[string]any{"a": 1.5, "b": "x y"}}
	if _, err := c.ApplyWith(t.Context(), "g", []byte("graph: g"), o); err != nil {
		t.Fatal(err)
	}
	const want = "PUT /v1/graphs/g?dry_run=1&set=%7B%22a%22%3A1.5%2C%22b%22%3A%22x+y%22%7D If-Match:\"3\" " +
		"Content-Type:application/yaml graph: g"
	if r.request != want {
		t.Errorf("got %s, want %s", r.request, want)
	}
	if _, err := c.ApplyWith(t.Context(), "g", nil, ApplyOptions{Set: map[string]any{"a": func() {}}}); err == nil {
		t.Error("what is no JSON was sent")
	}
}
