package expression

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/boundary"
)

// FuzzCompile compiles any text and evaluates what compiles: no panic, no
// absent value without an error, a place within the text in every error.
func FuzzCompile(f *testing.F) {
	for _, row := range semantics {
		f.Add(row.text)
	}
	w := worldOf(f, false)
	typed := worldOf(f, true)
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range []*world{w, typed} {
			p, err := Compile(text, w.scope)
			if err != nil {
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Offset < 0 || e.Offset > len(text) || e.Code == "" || e.Text == "" {
					t.Fatalf("%q: a bad error: %#v", text, err)
				}
				if utf8.ValidString(text) && !utf8.ValidString(e.Text) {
					t.Fatalf("%q: the error is not UTF-8: %q", text, e.Text)
				}
				if e.Text == "the expression cannot be compiled; write it in a simpler way" {
					t.Fatalf("%q: the compiler panicked", text)
				}
				continue
			}
			env := w.env()
			v, err := p.Eval(env)
			if v.IsAbsent() != (err != nil) {
				t.Fatalf("%q: %v with error %v", text, v, err)
			}
			if err == nil && v.Depth() < 100 {
				if _, rest, err := boundary.DecodeBinary(v.AppendBinary(nil)); err != nil || len(rest) > 0 {
					t.Fatalf("%q: the result does not survive: %v", text, err)
				}
			}
			p.Reads()
			_ = p.Type().String()
		}
	})
}
