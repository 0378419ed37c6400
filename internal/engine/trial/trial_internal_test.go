package trial

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
)

const declared = `graph: doubles
vars: { factor: 2 }
accumulators: { a: { strategy: sequential } }
reactor: { when: any }
nodes: { n: { expr: a * vars.factor } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

const tests = `graph: doubles
cases:
  - name: twice
    steps:
      - push: { a: [1, 2] }
      - expect: { o: [2, 4] }
  - name: thrice
    steps:
      - push: { a: 1 }
      - expect: { o: [3] }
`

const endless = "graph: doubles\ncases:\n  - name: far\n    steps: [{ push: { a: 1 } }, { advance: 900000h }]\n"

func bench(memory func() (int64, int64)) *Bench { return New(&builtin.Kinds{}, memory) }

func little() (used, limit int64) { return 1, 0 }

// try runs tests of the declaration, and is what came of it in a line.
func try(t *testing.T, b *Bench, tests string, set map[string]string) string {
	t.Helper()
	d := &Declaration{Text: []byte(declared), Set: set}
	if tests == endless {
		d.Text = []byte(strings.Replace(declared, "when: any", "when: any, every: 1ms", 1))
	}
	got, err := b.Test(t.Context(), api.Ref{Tenant: "default", Name: "doubles"}, d, tests)
	refused, ok := errors.AsType[*api.Error](err)
	switch {
	case ok:
		return strings.TrimSpace(refused.Error() + " " + refused.Diagnostics.Error())
	case err != nil:
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %d %+v", got.Passed, got.Failed, got.Cases)
}

// Tests that are sent say of each case what became of it and at which line, and vars that are set count.
func TestCases(t *testing.T) {
	t.Parallel()
	const want = "1 1 [{Case:twice Line:3 Passed:true Failures:[]} {Case:thrice Line:7 Passed:false Failures:[" +
		"{Line:10 Text:output o: value 1: is 2, expected 3 (got 2)}]}]"
	b := bench(little)
	if got := try(t, b, tests, nil); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := try(t, b, tests, map[string]string{"factor": "3"}); !strings.HasPrefix(got, "1 1 [{Case:twice Line:3 "+
		"Passed:false") {
		t.Errorf("with a var: %s", got)
	}
}

// What cannot be run is refused with the place of each mistake, and what is too much is broken off.
func TestBounds(t *testing.T) {
	t.Parallel()
	many := "graph: doubles\ncases:\n" + strings.Repeat("  - { name: c, steps: [] }\n", MaxCases+1)
	aliases := "graph: doubles\ncases:\n  - name: c\n    steps:\n      - push: { a: &x0 [1, 1] }\n"
	for i := range 30 {
		aliases += fmt.Sprintf("      - push: { a: &x%d [[*x%d, *x%d]] }\n", i+1, i, i)
	}
	var grown atomic.Int64
	for name, c := range map[string]struct {
		b           *Bench
		tests, want string
	}{
		"no document": {bench(little), "graph: [", "tests_invalid"},
		"a mistake": {bench(little), strings.Replace(tests, "push: { a: 1 }", "psuh: 1", 1),
			`:9:9: tests_invalid: "psuh"`},
		"no tests":      {bench(little), "", "invalid_body: tests is missing or empty"},
		"another graph": {bench(little), strings.Replace(tests, "doubles", "halves", 1), `graph "halves"`},
		"cases":         {bench(little), many, "tests_too_large: there are 201 cases"},
		"bytes":         {bench(little), tests + strings.Repeat("#", MaxTests), "tests_too_large: the tests have"},
		"aliases":       {bench(little), aliases, "with its aliases the document has more than"},
		"time": {&Bench{&builtin.Kinds{}, little, bench(little).turns, 50 * time.Millisecond}, endless,
			`off in case "far"`},
		"memory": {bench(func() (int64, int64) { return grown.Add(MaxMemory/2 + 1), 0 }), endless,
			`has grown by 256 MiB while case "far" ran`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "memory" {
				c.b.most = time.Minute
			}
			if got := try(t, c.b, c.tests, nil); !strings.Contains(got, c.want) {
				t.Errorf("got %.300s, want %s", got, c.want)
			}
		})
	}
}

// A declaration of another graph than it was sent for is none of this caller's, and mistakes name what they are about.
func TestMisnamed(t *testing.T) {
	t.Parallel()
	_, err := bench(little).Test(t.Context(), api.Ref{Tenant: "default", Name: "other"},
		&Declaration{Text: []byte(declared)}, tests)
	if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Code != api.CodeNameMismatch {
		t.Error(err)
	}
	_, err = bench(little).Test(t.Context(), api.Ref{Tenant: "default", Name: "other"}, &Declaration{}, tests)
	if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Code != api.CodeInvalidBody ||
		!strings.HasPrefix(refused.Detail, "declaration is missing") {
		t.Errorf("without a declaration: %v", err)
	}
	_, err = bench(little).Test(t.Context(), api.Ref{Tenant: "default", Name: "doubles"},
		&Declaration{Text: []byte(declared)}, strings.Replace(tests, "push: { a: 1 }", "psuh: 1", 1))
	if refused, ok := errors.AsType[*api.Error](err); !ok || len(refused.Diagnostics) != 1 ||
		refused.Diagnostics[0].Path != "cases.1.steps.0.psuh" {
		t.Errorf("with a mistake: %v", err)
	}
}
