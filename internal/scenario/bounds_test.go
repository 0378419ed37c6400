package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

const doubles = `graph: doubles
accumulators: { a: { strategy: sequential } }
reactor: { when: any }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// What a short document makes of itself by its aliases is bounded by its bytes too, before anything is made of it.
func TestALargeTextIsNotNamedAgainAndAgain(t *testing.T) {
	t.Parallel()
	const head = "graph: doubles\ncases:\n  - name: c\n    steps:\n      - push: { a: [&x \""
	doc := head + strings.Repeat("y", 100_000) + "\"" + strings.Repeat(", *x", 1000) + "] }\n"
	if _, err := Parse([]byte(doc), ""); err == nil || !strings.Contains(err.Error(), "or 16 MiB") {
		t.Errorf("got %v", err)
	}
	if _, err := Parse([]byte(strings.ReplaceAll(doc, strings.Repeat(", *x", 1000), ", *x")), ""); err != nil {
		t.Errorf("of one that is named once more: %v", err)
	}
}

// So many mistakes of a document are told, each in so many bytes, with what would have been right.
func TestMistakesAreBounded(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("graph: g\ncases: ["+strings.Repeat("1, ", 5000)+"1]\n"), "")
	if found := Mistakes(err); len(found) != maxMistakes {
		t.Errorf("%d mistakes", len(found))
	}
	long := strings.Repeat("y", 10_000)
	_, err = Parse([]byte("graph: g\ncases: [{ name: c, steps: [{ advance: "+long+" }, { puhs: 1 }] }]\n"), "")
	found := Mistakes(err)
	if len(found) != 2 || len(found[0].Text) > maxText+4 ||
		found[1].Text != `"puhs" is not known here; known are advance, answers, command, expect, push` {
		t.Errorf("got %v", found)
	}
}

// Each mistake is told with where it stands and what it is about; one does not hide those beside and within it.
func TestMistakesHavePlaces(t *testing.T) {
	t.Parallel()
	const doc = `graph: doubles
cases:
  - name: twice
    steps:
      - psh: { a: 1 }
      - expect: { oo }
      - push: { a: 1 }
        advance: soon
  - { steps: 3 }
`
	want := []string{
		`t.yaml:5:9 cases.0.steps.0.psh: "psh" is not known here; known are advance, answers, command, expect, push`,
		"t.yaml:6:19 cases.0.steps.1.expect.oo: an output is expected as a list of values: oo: [VALUE, …]",
		"t.yaml:7:9 cases.0.steps.2: a step is one of push, advance, command, answers and expect; several are steps " +
			"of their own",
		`t.yaml:8:18 cases.0.steps.2.advance: "soon" is not a duration such as 250ms or 10s`,
		"t.yaml:9:14 cases.1.steps: a list is expected here",
		"t.yaml:9:5 cases.1: the case has no name",
	}
	_, err := Parse([]byte(doc), "t.yaml")
	var got []string
	for _, m := range Mistakes(err) {
		got = append(got, fmt.Sprintf("%s:%d:%d %s: %s", m.File, m.Line, m.Column, m.Path, m.Text))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err == nil || !strings.HasPrefix(err.Error(), `t.yaml:5:9: "psh" is not known`) {
		t.Errorf("in a line: %v", err)
	}
}

// A case tells so many failures, and so much of a value.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(doubles), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("y", 3*maxShown)
	doc, err := Parse([]byte("graph: doubles\ncases:\n  - name: c\n    steps:\n      - push: { a: ["+long+
		strings.Repeat(", 1", 999)+"] }\n      - expect: { o: [] }\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), u, doc)
	if err != nil || len(got) != 1 || len(got[0].Failures) != maxFailures+1 ||
		!strings.HasSuffix(got[0].Failures[maxFailures], "and more than these, which are not told") ||
		len(got[0].Failures[0]) > maxShown+200 || len(got[0].At) != maxFailures+1 {
		t.Errorf("%v: %d failures of %d bytes, the last %s", err, len(got[0].Failures), len(got[0].Failures[0]),
			got[0].Failures[len(got[0].Failures)-1])
	}
}

// A call fails with a code that there is.
func TestAnswersFailWithACode(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\ncases: [{ name: c, steps: [{ answers: { n: { error: ERROR } } }] }]\n"
	if _, err := Parse([]byte(strings.Replace(doc, "ERROR", "call_timeout", 1)), ""); err != nil {
		t.Error(err)
	}
	_, err := Parse([]byte(strings.Replace(doc, "ERROR", "call_tiemout", 1)), "")
	if err == nil || !strings.Contains(err.Error(), "error is one of call_timeout, ") {
		t.Errorf("got %v", err)
	}
}
