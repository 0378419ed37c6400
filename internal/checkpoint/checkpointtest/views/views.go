// Package views is what tests of the views for SQL need: what is told of them, and something for each to show.
package views

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/docs"
	"github.com/graphd/graphd/internal/checkpoint"
)

var viewColumn = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([a-z]+) \\|")

// Told are the columns that docs/sql.md tells of each view of a store, as "name type".
func Told(t testing.TB) map[string][]string {
	t.Helper()
	page, err := docs.Pages.ReadFile("sql.md")
	if err != nil {
		t.Fatal(err)
	}
	views, view := map[string][]string{}, ""
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			view = strings.TrimSpace(name)
		}
		if m := viewColumn.FindStringSubmatch(line); m != nil {
			views[view] = append(views[view], m[1]+" "+m[2])
		}
	}
	return views
}

// Fill puts the graphs g and bare of the tenant acme into a store, and commits something of g for each view.
func Fill(t testing.TB, s checkpoint.Store, at time.Time) {
	t.Helper()
	for _, graph := range []string{"g", "bare"} {
		d := checkpoint.Declaration{Tenant: "acme", Graph: graph, Updated: at}
		if _, err := s.PutDeclaration(t.Context(), d, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(t.Context(), checkpoint.ID{Tenant: "acme", Graph: graph}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Commit(t.Context(), commit(at)); err != nil {
		t.Fatal(err)
	}
}

func commit(at time.Time) *checkpoint.Commit {
	return &checkpoint.Commit{ID: checkpoint.ID{Tenant: "acme", Graph: "g"}, Fence: 1, Seq: 1, Epoch: 2, At: at,
		KeepFirings: 9,
		Meta: []byte(`{"format":2,"paused":true,"last_fired":"2026-11-23T16:07:32.647604674Z","books":{"a":{` +
			`"conflated":4,"dead_lettered":1,"consumed":3,"reasons":{"type_error":1}},"b":{}},"emitted":{"o":2},` +
			`"filtered":{"o":1},"refused":{"o":5}}`),
		Cells: []checkpoint.Cell{{Kind: "acc", Name: "a", Data: []byte("abc")},
			{Kind: "keys", Key: `["A",1]`, Data: []byte("abcd")}},
		Firings: []checkpoint.Firing{
			{Incarnation: 1, Epoch: 1, Data: []byte(`{"epoch":1,"at":"2026-11-23T16:07:32.647604674Z",` +
				`"cause":"criteria","ok":true,"error":null,"duration_us":28,"inputs":{"a":1}}`)},
			{Incarnation: 1, Epoch: 2, Key: `"A"`, Data: []byte(`{"epoch":2,"at":"2026-11-23T16:07:32.764049356Z",` +
				`"cause":"criteria","ok":false,"error":"no\u0000thing","duration_us":39.5,"inputs":{"a":"x\u0000"` +
				`}}`)}},
		DeadLetters: []checkpoint.DeadLetter{{ID: "l1", At: at, Accumulator: "a", Stage: "node", Code: "type_error",
			Reason: "bad", Epoch: 2, Position: "7", Events: 1, Attempts: 1, Payload: []byte("p")}}}
}
