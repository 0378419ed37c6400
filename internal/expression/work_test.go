package expression

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// TestPatternsAreCharged: a pattern costs what it is for the text it is held against, when it is folded too.
func TestPatternsAreCharged(t *testing.T) {
	t.Parallel()
	text := Of(boundary.KindString)
	scope := Scope{Names: []Name{{Name: "s", Type: text}, {Name: "p", Type: text}}}
	long := boundary.String(strings.Repeat("a", 8<<20))
	for _, tt := range []struct {
		text, pattern string
		ok            bool
	}{
		{`s matches "a+b"`, "", true},
		{`s matches "(a{0,100}){0,9}b"`, "", false},
		{`captures(s, "(a{0,100}){0,9}b") == nil`, "", false},
		{`s matches p`, "a+b", true},
		{`s matches p`, "(a{0,100}){0,9}b", false},
		{`all(1..100000, "x" matches p)`, "(a{0,100}){0,9}x", false},
	} {
		p, err := Compile(tt.text, scope)
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		began := time.Now()
		_, err = p.Eval(&Env{Values: []boundary.Value{long, boundary.String(tt.pattern)}})
		if e, _ := errors.AsType[*EvalError](err); (err == nil) != tt.ok || err != nil && e.Code != CodeLimitExceeded {
			t.Errorf("%s with %q: got %v after %s", tt.text, tt.pattern, err, time.Since(began))
		}
	}
	if _, err := Compile(`s matches "((a{100}){10}){30}"`, scope); err == nil {
		t.Error("a pattern of 30,000 steps is compiled")
	}
}
