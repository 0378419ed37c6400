package expression_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/expression"
)

// What other languages write is told how it is written here.
func TestWordsOfElsewhere(t *testing.T) {
	t.Parallel()
	scope := expression.Scope{Epoch: true, Names: []expression.Name{{Name: "a", Type: expression.Any()}}}
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
		"a = 1":                      `unexpected "="; write == to compare`,
		"a <> 1":                     `unexpected ">"; write !=`,
		`a.contains("x")`:            "write a contains b",
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
