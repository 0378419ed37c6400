package reference

import (
	"errors"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	asked := 0
	x := Expander{Budget: 100, Lookup: func(name string) (string, bool, error) {
		asked++
		switch name {
		case "A":
			return "a", true, nil
		case "EMPTY":
			return "", true, nil
		case "file:/x/y":
			return "f}${A}", true, nil
		case "BAD":
			return "", false, errors.New("no")
		case "LONG":
			return string(make([]byte, 101)), true, nil
		}
		return "", false, nil
	}}
	for _, c := range []struct {
		raw, want string
		found     bool
		code      string
	}{
		{"plain $ { }", "plain $ { }", false, ""},
		{"${A}", "a", true, ""},
		{"x${A}y${A}z", "xayaz", true, ""},
		{"$${A}", "${A}", false, ""},
		{"$$${A}", "$${A}", false, ""},
		{"$${A}${A}", "${A}a", true, ""},
		{"${file:/x/y}", "f}${A}", true, ""}, // what comes in is not expanded again
		{"${NONE:-d}", "d", true, ""},
		{"${NONE:-}", "", true, ""},
		{"${EMPTY}", "", true, ""},
		{"${EMPTY:-d}", "d", true, ""},
		{"${A:-d}", "a", true, ""},
		{"${NONE:-a:-b}", "a:-b", true, ""},
		{"${file:/none:-d}", "d", true, ""},
		{"${NONE}", "", true, CodeUnset},
		{"${file:/none}", "", true, CodeUnset},
		{"${BAD}", "", true, CodeFailed},
		{"${BAD:-d}", "", true, CodeFailed}, // a default is for what is not set, not for what cannot be read
		{"${", "", true, CodeBad},
		{"${}", "", true, CodeBad},
		{"${1A}", "", true, CodeBad},
		{"${A-B}", "", true, CodeBad},
		{"${file:}", "", true, CodeBad},
		{"${LONG}", "", true, CodeTooLarge},
	} {
		got, found, err := x.Expand(c.raw)
		bad, _ := errors.AsType[*Error](err)
		code := ""
		if bad != nil {
			code = bad.Code
		}
		if got != c.want || found != c.found || code != c.code {
			t.Errorf("%s: got %q, %v, %v; want %q, %v, %s", c.raw, got, found, err, c.want, c.found, c.code)
		}
	}
	if asked != 7 {
		t.Errorf("asked %d times, want once per name", asked)
	}
}
