package eventschema

import (
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/graphd/graphd/internal/boundary"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The quick check must admit nothing that the full one does not.
func TestQuickAgreesWithFull(t *testing.T) {
	t.Parallel()
	schemas := []string{
		`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1,"maximum":3}}}`,
		`{"type":["object","null"],"properties":{"a":{"type":["string","null"]},"b":{"items":{"type":"number"}}}}`,
		`{"items":{"type":"object","required":["x"]}}`, `{"type":"integer"}`,
		`{"type":"number","minimum":9007199254740993}`,
		`{"minimum":0.1,"description":"x","additionalProperties":true}`, `{}`,
	}
	events := []string{
		`{}`, `{"a":1}`, `{"a":1.0}`, `{"a":1.5}`, `{"a":3}`, `{"a":4}`, `{"a":"x"}`, `{"a":null}`, `null`, `[]`,
		`[{}]`, `[{"x":1}]`,
		`{"b":[1,2.5]}`, `{"b":[1,"x"]}`, `1`, `1.0`, `0.1`, `0.10000000000000002`, `9007199254740993`,
		`9007199254740992`, `9007199254740994`, `true`, `"x"`,
	}
	for _, text := range schemas {
		s, err := Compile(parse(t, text), "the event")
		if err != nil {
			t.Fatal(err)
		}
		if s.quick == nil {
			t.Errorf("no quick check for %s", text)
		}
		for _, ev := range events {
			v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(ev))
			if err != nil {
				t.Fatal(err)
			}
			full := s.full.Validate(plain(v.Any())) == nil
			if s.quick.admits(v) && !full {
				t.Errorf("%s admits %s, which it does not", text, ev)
			}
			if (s.Check(v) == "") != full {
				t.Errorf("%s and %s: check says %q", text, ev, s.Check(v))
			}
		}
	}
	for _, text := range []string{
		`{"pattern":"a"}`, `{"properties":{"a":{"enum":[1]}}}`, `{"additionalProperties":false}`, `true`,
		`{"$ref":"#"}`,
	} {
		if newQuick(parse(t, text)) != nil {
			t.Errorf("%s is more than the quick check understands", text)
		}
	}
}

// A schema that cannot be used is told in one line, without the validator's own names.
func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"objekt"}`:                      "type",
		`{"properties":{"a":{"minimum":"x"}}}`:   "minimum",
		`{"pattern":"("}`:                        "pattern",
		`{"$ref":"https://example.com/s.json"}`:  "$ref",
		`{"$ref":"/etc/passwd"}`:                 "$ref",
		`{"$ref":"other.json"}`:                  "$ref",
		`{"$ref":"#/$defs/none"}`:                "none",
		`{"$schema":"https://example.com/meta"}`: "$ref",
		`7`:                                      "",
	} {
		s, err := Compile(parse(t, text), "the event")
		if err == nil || s != nil {
			t.Errorf("%s is no error", text)
			continue
		}
		if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "schema:/") ||
			strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want something with %q", text, got, want)
		}
	}
	if _, err := Compile(map[string]any{"a": make(chan int)}, "the event"); err == nil {
		t.Error("what is not JSON is no error")
	}
}

// Times and durations are judged by what they are as JSON.
func TestTimesAreTexts(t *testing.T) {
	t.Parallel()
	s, err := Compile(
		parse(t, `{"items":{"type":"string"},"properties":{"at":{"type":"string","format":"date-time"}}}`),
		"the event")
	if err != nil {
		t.Fatal(err)
	}
	v, err := boundary.FromAny(map[string]any{"at": time.Unix(0, 0), "in": []any{time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check(v); got != "" {
		t.Errorf("got %q", got)
	}
}
