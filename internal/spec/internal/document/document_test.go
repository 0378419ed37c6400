package document

import (
	"fmt"
	"strings"
	"testing"
)

// A syntax error is where the mistake is, whatever the library says, and what can
// be read besides is read.
func TestProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: x ? y : z\nc: 2\n":                 "2:4",
		"a: 1\nb: { c: x ? y : z, d: 1 }\n":          "2:9",
		"a: 1\nb:\n  c: \"x\" == y\n  d: @x\n":       "3:6 4:6",
		"a: 1\nb: [\n  { c: \"x\" == y },\n  z ]\n":  "3:8",
		"a: 1\nb: 'x\nc: 2\n":                        "2:4",
		"a: 1\n\tb: 2\n":                             "2:1",
		"a: 1\nb:\n  c: 1\n d: 2\n":                  "4:2",
		"é: { a: 1,\n  b: *x }\n":                    "2:6",
		"a: ö ö: x : y\n":                            "1:4",
		"a: 1\nb: { c: 1\nd: 2\n":                    "3:1",
		"a: \"\\ud83d\"\n":                           "1:4",
		"a: x\x00y\n":                                "1:5",
		"a: 1\n---\nb: 2\n":                          "2:1",
		"- x: y: z\n- @w\n- 'fine'\n":                "1:6 2:3",
		"a: " + strings.Repeat("x", maxLine) + ": y": "1:1",
	} {
		d, problems := Load([]byte(text), 1<<20, 64)
		if d != nil {
			problems = append(problems, d.Unsettled()...)
		}
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d", p.Line, p.Column))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", text, problems, want)
		}
	}
}

// Repairs stop at their bounds, and the rest is one syntax error.
func TestRepairsAreBounded(t *testing.T) {
	t.Parallel()
	d, problems := Load([]byte(strings.Repeat("- @x\n", maxRepairs)), 1<<20, 64)
	if d == nil || len(d.Unsettled()) != maxRepairs || len(problems) > 0 {
		t.Errorf("got %v", problems)
	}
	d, problems = Load([]byte(strings.Repeat("- @x\n", maxRepairs+1)), 1<<20, 64)
	if d != nil || len(problems) != maxRepairs+1 {
		t.Errorf("got %d problems", len(problems))
	}
	text := strings.Repeat("- @x\n", 20)
	p := repairer{text: text, budget: 5 * (len(text) + len("- @x"))}
	if r := p.run(); r.err == nil || len(p.done) == 0 || len(p.done) > 5 {
		t.Errorf("got %d repairs beyond the budget, %v", len(p.done), r.err)
	}
}

func TestPlaceAndOffset(t *testing.T) {
	t.Parallel()
	s := newSource("a\r\nbé\u2028c\rd\u0085\n")
	for _, c := range []struct{ offset, line, column int }{
		{0, 1, 1}, {3, 2, 1}, {4, 2, 2}, {6, 2, 3}, {9, 3, 1}, {11, 4, 1}, {14, 5, 1}, {15, 6, 1},
	} {
		if line, column := s.Place(c.offset); line != c.line || column != c.column {
			t.Errorf("place of %d: got %d:%d, want %d:%d", c.offset, line, column, c.line, c.column)
		}
		if got := s.Offset(c.line, c.column); got != c.offset {
			t.Errorf("offset of %d:%d: got %d, want %d", c.line, c.column, got, c.offset)
		}
	}
	for _, c := range []struct{ line, column, want int }{{0, 1, 0}, {99, 1, 15}, {6, 99, 15}} {
		if got := s.Offset(c.line, c.column); got != c.want {
			t.Errorf("offset of %d:%d: got %d, want %d", c.line, c.column, got, c.want)
		}
	}
}
