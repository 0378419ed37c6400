package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	all := "a: 🙂é x\r\nb: 1\rc: \u2028d: 2\n"
	x := New(all)
	for _, c := range []struct {
		of   string
		want Position
	}{
		{"a", Position{0, 0}}, {"🙂", Position{0, 3}}, {"é", Position{0, 5}}, {"x", Position{0, 7}},
		{"b", Position{1, 0}}, {"c", Position{2, 0}}, {"d", Position{2, 4}},
	} {
		at := strings.Index(all, c.of)
		if got := x.Position(at); got != c.want {
			t.Errorf("%q is at %v, want %v", c.of, got, c.want)
		}
		if got := x.Offset(c.want); got != at {
			t.Errorf("%v is %d, want %d", c.want, got, at)
		}
	}
	if got := x.Offset(Position{0, 4}); got != 3 {
		t.Errorf("within the emoji: %d", got)
	}
	if got := x.Offset(Position{0, 99}); all[got:got+2] != "\r\n" {
		t.Errorf("behind the line: %d", got)
	}
	if got := x.At(4, 1); got != strings.Index(all, "d") {
		t.Errorf("the fourth line of YAML is at %d", got)
	}
	if got := x.At(1, 5); got != strings.Index(all, "é") {
		t.Errorf("the fifth character is at %d", got)
	}
	if got := x.Replace(Range{Position{0, 3}, Position{0, 5}}, "😀😀"); !strings.HasPrefix(got, "a: 😀😀é x\r\n") {
		t.Errorf("%q", got)
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"strategy: x":  "strategy",
		`"a b": 1`:     `"a b"`,
		`"open`:        `"open`,
		"{ a: 1 }":     "{",
		"\r\nx":        "",
		"":             "",
		"🙂🙂, x":        "🙂🙂",
		"word\r\nnext": "word",
	} {
		x := New(text)
		r := x.Marked(0)
		if got := text[x.Offset(r.Start):x.Offset(r.End)]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzPlaces: a byte and its place are the same place, nothing is outside, and lines are counted as YAML counts them.
func FuzzPlaces(f *testing.F) {
	f.Add("a: 🙂\r\nb: [1, 2]\u2028c", 3, 1, 4)
	f.Add("", -1, -5, 1<<30)
	f.Fuzz(func(t *testing.T, all string, offset, line, character int) {
		if len(all) > 1000 {
			t.Skip("its length adds nothing")
		}
		x := New(all)
		for at := 0; at <= len(all); at++ {
			back := x.Offset(x.Position(at))
			whole := at == len(all) || utf8.RuneStart(all[at]) || !utf8.ValidString(all)
			within := at > 0 && at < len(all) && all[at-1] == '\r' && all[at] == '\n'
			if utf8.ValidString(all) && whole && !within && back != at {
				t.Fatalf("%d of %q comes back as %d", at, all, back)
			}
		}
		for _, at := range []int{x.Offset(Position{line, character}), x.At(line, character)} {
			if at < 0 || at > len(all) {
				t.Fatalf("%d is outside", at)
			}
			r := x.Marked(at)
			x.Replace(r, "x")
		}
		x.Marked(offset)
		x.Replace(Range{x.Position(offset), Position{line, character}}, all)
		var n yaml.Node
		if !utf8.ValidString(all) || yaml.Unmarshal([]byte(all), &n) != nil || len(n.Content) == 0 {
			return
		}
		if c := n.Content[0]; c.Kind == yaml.ScalarNode && c.Style == 0 && c.Value != "" &&
			!strings.ContainsAny(all, "\ufeff&!") && strings.Contains(all, c.Value) {
			if got := all[x.At(c.Line, c.Column):]; !strings.HasPrefix(got, c.Value[:1]) {
				t.Fatalf("%q is not at %d:%d of %q", c.Value, c.Line, c.Column, all)
			}
		}
	})
}
