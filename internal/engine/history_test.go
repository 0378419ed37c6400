package engine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const counted = `# what the desk asked for
graph: g
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: %s } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// told are the revisions of g as "revision change", newest first.
func (b *bed) told() (lines []string) {
	b.t.Helper()
	page, err := b.e.Revisions(b.t.Context(), api.Ref{Tenant: "default", Name: "g"})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range page.Items {
		v := &page.Items[i]
		if v.Declaration != "" || v.Current != (i == 0) {
			b.t.Errorf("%+v", v)
		}
		lines = append(lines, fmt.Sprintf("%d %s", v.Revision, v.Change))
	}
	return lines
}

// M33: what was applied can be read as it was sent, and applied again as an update of its own.
func TestM33Rollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		first, second := fmt.Sprintf(counted, "a"), fmt.Sprintf(counted, "a * 2")
		by := api.Author{Agent: "ops/1", Host: "10.0.0.1"}
		fresh := api.Change{IfMatch: api.IfNone}
		if _, err := b.e.Apply(t.Context(), g, []byte(first), fresh); err != nil {
			t.Fatal(err)
		}
		fresh.DryRun = true
		_, err := b.e.Apply(t.Context(), g, []byte(second), fresh)
		wantCode(t, err, http.StatusPreconditionFailed, "revision_conflict", "there is a graph of this name already")
		_, err = b.e.Rollback(t.Context(), g, 0, api.Change{})
		wantCode(t, err, http.StatusConflict, "no_earlier_revision")
		if _, err := b.e.Apply(t.Context(), g, []byte(second), api.Change{By: by}); err != nil {
			t.Fatal(err)
		}
		b.push("g", "a", "1", "2")
		_, err = b.e.Revision(t.Context(), g, 3)
		wantCode(t, err, http.StatusNotFound, "revision_not_found", "graphd history g")
		_, err = b.e.Rollback(t.Context(), g, 7, api.Change{})
		wantCode(t, err, http.StatusNotFound, "revision_not_found")
		_, err = b.e.Rollback(t.Context(), g, 1, api.Change{IfMatch: 1})
		wantCode(t, err, http.StatusPreconditionFailed, "revision_conflict")

		want := []string{"changed nodes.n.expr: a * 2 → a"}
		dry, err := b.e.Rollback(t.Context(), g, 0, api.Change{DryRun: true})
		if err != nil || !slices.Equal(dry.Diff, want) || dry.Restored != 1 || dry.Plan == nil {
			t.Fatalf("dry: %+v, %v", dry, err)
		}
		if got := b.told(); !slices.Equal(got, []string{"2 changed nodes.n", "1 made"}) {
			t.Fatalf("after a dry run: %q", got)
		}
		res, err := b.e.Rollback(t.Context(), g, 0, api.Change{By: by})
		if err != nil || res.Revision != 3 || !res.Changed || !slices.Equal(res.Diff, want) {
			t.Fatalf("%+v, %v", res, err)
		}
		synctest.Wait()
		all := []string{"3 back to 1: changed nodes.n", "2 changed nodes.n", "1 made"}
		if got := b.told(); !slices.Equal(got, all) {
			t.Fatalf("after the rollback: %q", got)
		}
		now, err := b.e.Revision(t.Context(), g, 0)
		if err != nil || now.Declaration != first || now.Revision != 3 || !now.Current || now.By != by {
			t.Fatalf("%+v, %v", now, err)
		}
		if s := b.summary("g"); s.Revision != 3 || s.Counters.Consumed != 2 || s.Health != "live" {
			t.Fatalf("the graph did not go on: %+v", s)
		}
	})
}

// A text that means the same is stored, for it is what the next one reads; the graph runs on.
func TestCommentsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		first := fmt.Sprintf(counted, "a")
		b.apply(first, "g")
		before := b.summary("g")
		again := strings.Replace(first, "the desk", "nobody", 1)
		dry, err := b.e.Apply(t.Context(), g, []byte(again), api.Change{DryRun: true})
		if err != nil || dry.Changed || !dry.Restated || dry.Revision != 1 {
			t.Fatalf("dry: %+v, %v", dry, err)
		}
		for range 2 { // the second time it is what is there
			if _, err := b.reapply(again); err != nil {
				t.Fatal(err)
			}
		}
		now, err := b.e.Revision(t.Context(), g, 0)
		if err != nil || now.Declaration != again || now.Revision != 2 {
			t.Fatalf("%+v, %v", now, err)
		}
		if got := b.told(); !slices.Equal(got, []string{"2 text only", "1 made"}) {
			t.Fatalf("%q", got)
		}
		if s := b.summary("g"); s.Incarnation != before.Incarnation || s.Revision != 2 {
			t.Fatalf("the graph was started anew: %+v", s)
		}
	})
}

// A rollback of a graph that a file declares says that the file still has the other.
func TestRollbackOfAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		for _, expr := range []string{"a", "a + 1"} {
			doc := fmt.Sprintf(counted, expr)
			_, err := b.e.ApplyFile(t.Context(), "default", "/graphs/g.yaml", []byte(doc), api.Change{})
			if err != nil {
				t.Fatal(err)
			}
		}
		res, err := b.e.Rollback(t.Context(), api.Ref{Tenant: "default", Name: "g"}, 1, api.Change{})
		if err != nil || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "/graphs/g.yaml still holds") {
			t.Fatalf("%+v, %v", res, err)
		}
	})
}

func TestInAWord(t *testing.T) {
	for _, test := range []struct {
		diff []string
		want string
	}{
		{[]string{"changed nodes.n.expr: a → b", "changed nodes.n.after: c → d"}, "changed nodes.n"},
		{[]string{"added nodes.m", "removed outputs.o"}, "added nodes.m, removed outputs.o"},
		{[]string{"added nodes.n.when: x"}, "changed nodes.n"},
		{[]string{`changed description: "a.b.c" → "d"`, "reordered nodes"}, "changed description, reordered nodes"},
		{[]string{"added a.b", "added a.c", "added a.d", "added a.e", "added a.f"},
			"added a.b, added a.c, added a.d, 2 more"},
	} {
		if got := inAWord(test.diff); got != test.want {
			t.Errorf("%q: %q, want %q", test.diff, got, test.want)
		}
	}
}
