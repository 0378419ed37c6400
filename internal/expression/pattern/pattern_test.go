package pattern

import (
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, `^\d{4}-\d{2}$`: true, "(a|b)*": true, strings.Repeat("x", 10_000): true, "a{1000}": true,
		"(": false, "((a{100}){10}){20}": false, strings.Repeat("a{1000}", 25): false,
		strings.Repeat("(a{900})", 30): false,
	} {
		if _, err := Compile(text); (err == nil) != ok {
			t.Errorf("%.40q: got %v", text, err)
		}
	}
}

func TestWork(t *testing.T) {
	t.Parallel()
	small, err := Compile("a")
	if err != nil {
		t.Fatal(err)
	}
	large, err := Compile("(a{0,100}b){9}")
	if err != nil {
		t.Fatal(err)
	}
	if s, l := small.Work(1000), large.Work(1000); s > 1000 || l < 100*s {
		t.Errorf("a text of 1,000 bytes is %d units of work, and %d", s, l)
	}
}
