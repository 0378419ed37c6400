package expression_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/expression"
)

// What other languages write is told how it is written here.
func TestWordsOfElsewhere(t *testing.T) {
	t.Parallel()
	scope := expression.Scope{Epoch: true, Names: []expression.Name{{Name: "a", Type: expression.Any()}, {Name: "vars",
		Type: expression.ObjectOf(map[string]expression.Type{"factor": expression.Any()}, false)}}}
	for text, want := range map[string]string{
		"exists(a)":                  "unknown function exists; write x != nil",
		"coalesce(a, 1)":             "unknown function coalesce; write a ?? b",
		"isNull(a)":                  "write x == nil",
		"a is nil":                   `unexpected "is"; write == nil or != nil`,
		"a like 'x%'":                `unexpected "like"; write contains, startsWith or matches`,
		"a between 1 and 2":          `unexpected "between"; write a <= x and x <= b`,
		"case when a then 1":         `unexpected "when"; write condition ? a : b`,
		`contains(a, "x")`:           `unexpected "contains"; it stands between two texts`,
		`a.includes("x")`:            "values have no method includes; write a contains b",
		"1 if a else 2":              `unexpected "if"; write condition ? a : b`,
		"a = 1":                      `unexpected "="; write == to compare`,
		"a <> 1":                     `unexpected ">"; write !=`,
		`a.contains("x")`:            "write a contains b",
		`a == 'x`:                    "the text that begins here has no end: close it with ' ()",
		"vars.x":                     "there are factor; declare it at the top of the declaration: vars: { x: … }",
		"vars.fator":                 "unknown field fator; there are factor (factor)",
		"avg(a)":                     "(mean)",
		"length(a)":                  "(len)",
		"toString(a)":                "(string)",
		"prev(a)":                    "(lag)",
		`cause() == "timer"`:         `no epoch has the cause "timer"; there are criteria, tick, max_wait, `,
		`"Tick" != cause()`:          "(tick)",
		`cause() in ["tick", "max"]`: `no epoch has the cause "max"`,
		`cause() in ["tick", "max_wait"] or cause() == "force"`: "",
		`cause() == a`: "",
	} {
		_, err := expression.Compile(text, scope)
		said := ""
		if e, ok := err.(*expression.Error); ok {
			said = e.Text + " (" + e.Suggest + ")"
		} else if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, want) || (said == "") != (want == "") {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
	}
}

// A text without an end is told at its beginning, also behind others and comments that look like one.
func TestTextsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`a == 'x`: 5, `'a' + "b`: 6, `"it's" + 'b`: 9, `"\"" + 'b`: 7, "1 // don't\n + 'b": 14, "'a\n' + 1": 0,
		"`a\n` + `b": 7, "'é' + 'b": 7,
	} {
		_, err := expression.Compile(text, expression.Scope{})
		if e, ok := err.(*expression.Error); !ok || e.Offset != want ||
			!strings.HasPrefix(e.Text, "the text that begins") {
			t.Errorf("%s: %v, want it at %d", text, err, want)
		}
	}
}
