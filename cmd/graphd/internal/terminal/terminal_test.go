package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                       "0s",
		500:                                     "500ns",
		1250:                                    "1.3µs",
		85 * time.Microsecond:                   "85µs",
		1234567:                                 "1.2ms",
		999 * time.Millisecond:                  "999ms",
		1500 * time.Millisecond:                 "1.5s",
		12400 * time.Millisecond:                "12s",
		time.Minute:                             "1m",
		90 * time.Second:                        "1m30s",
		10 * time.Minute:                        "10m",
		59*time.Minute + 59*time.Second:         "59m59s",
		time.Hour:                               "1h",
		2*time.Hour + 30*time.Minute:            "2h30m",
		20*time.Hour + 20*time.Second:           "20h",
		47*time.Hour + 59*time.Minute:           "47h59m",
		72 * time.Hour:                          "3d",
		59*time.Minute + 59800*time.Millisecond: "1h",
	} {
		if got := Short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	term := &Terminal{Now: func() time.Time { return now }}
	for _, tc := range []struct {
		at   *time.Time
		want string
	}{
		{nil, "-"},
		{new(time.Time{}), "-"},
		{new(now.Add(-3 * time.Second)), "3s ago"},
		{new(now.Add(-999 * time.Millisecond)), "now"},
		{new(now.Add(time.Minute)), "now"}, // the daemon's clock may be ahead
	} {
		if got := term.Ago(tc.at); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.at, got, tc.want)
		}
	}
}

// What comes from outside cannot move the cursor of the terminal it is shown on.
func TestClean(t *testing.T) {
	t.Parallel()
	got := Clean("a\x1b[2J\x00b\u0085c\r\nd\te\u2028f\xff ✓ é\u202e\x9b")
	if want := `a\x1b[2J\x00b\u0085c d e\u2028f\xff ✓ é\u202e\x9b`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A document of somebody else's is for a pipe as it was sent, and harmless for a person who looks at it.
func TestDocument(t *testing.T) {
	t.Parallel()
	const sent = "# \u202efi\r\na: \"\u009b2J\"\n\tb: 1\x1b[2J"
	for looks, want := range map[bool]string{false: sent, true: "# \\u202efi\na: \"\\u009b2J\"\n\tb: 1\\x1b[2J"} {
		var out bytes.Buffer
		term := New(nil, &out, nil, func(string) string { return "" })
		term.Screen = func(io.Writer) bool { return looks }
		if err := term.Document([]byte(sent)); err != nil || out.String() != want {
			t.Errorf("looked at %t: got %q, want %q (%v)", looks, out.String(), want, err)
		}
	}
}

func TestValueAndClip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ raw, want string }{
		{"", "-"},
		{"{ \"a\" : [1, 2] }", `{"a":[1,2]}`},
		{`"ééééééééééé"`, `"ééééééééé…`},
		{"not json", "not json"},
	} {
		if got := Value(json.RawMessage(tc.raw), 11); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.raw, got, tc.want)
		}
	}
}

func table() *Table {
	t := NewTable("NAME", "STATE", "N").Numbers(2).Color(1, HealthTone)
	t.Row("é", "live", "1")
	t.Row("longer", "failed", "1000")
	return t
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	term := &Terminal{Out: &out, Getenv: func(string) string { return "" }}
	if err := term.Table(table()); err != nil {
		t.Fatal(err)
	}
	want := "NAME     STATE       N\n" + "é        live        1\n" + "longer   failed   1000\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	// With colour the columns stand where they stood.
	out.Reset()
	if err := table().write(&out, true); err != nil {
		t.Fatal(err)
	}
	want = strings.NewReplacer("live", string(Good)+"live"+toneEnd, "failed", string(Bad)+"failed"+toneEnd).Replace(
		want)
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	out.Reset()
	if err := term.Section(NewTable("A")); err != nil || out.Len() != 0 {
		t.Errorf("a section without rows: got %q, %v", out.String(), err)
	}
}

// Colour needs a terminal, and NO_COLOR, --no-color and a dumb terminal each forbid it.
func TestColorOffATerminal(t *testing.T) {
	t.Parallel()
	if (&Terminal{Out: &bytes.Buffer{}, Getenv: func(string) string { return "" }}).Color() {
		t.Error("colour off a terminal")
	}
}

// YAML says the same as JSON, in the same order, and strings stay strings.
func TestEncode(t *testing.T) {
	t.Parallel()
	data := struct {
		Zeta  string          `json:"zeta"`
		Alpha json.RawMessage `json:"alpha"`
		None  []string        `json:"none"`
	}{
		"yes", json.RawMessage(`{"b":1.10,"a":"1.10","t":"2026-01-01","n":null,"s":"line\nline",` +
			`"big":12345678901234567890,"html":"<&>"}`), []string{},
	}
	text, err := Encode(data, FormatYAML)
	if err != nil {
		t.Fatal(err)
	}
	want := "zeta: \"yes\"\nalpha:\n  b: 1.10\n  a: \"1.10\"\n  t: \"2026-01-01\"\n  \"n\": null\n  s: |-\n    " +
		"line\n    line\n  big: 12345678901234567890\n  html: <&>\nnone: []\n"
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	asJSON, err := Encode(data, FormatJSON)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(asJSON, &a); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	alpha := b.(map[string]any)["alpha"].(map[string]any)
	if alpha["a"] != "1.10" || alpha["t"] != "2026-01-01" {
		t.Errorf("strings came back as %T and %T", alpha["a"], alpha["t"])
	}
	if _, err := Encode(func() {}, FormatJSON); err == nil {
		t.Error("a function was encoded")
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("boom"), 1, "graphd: boom\n"},
		{fmt.Errorf("a: %w", Exit(ExitFormat, errors.New("one\ntwo"))), 78, "graphd: a: one\ntwo\n"},
		{Exit(ExitConflict, ErrSaid), 4, ""},
		{ErrSaid, 1, ""},
	} {
		var errs bytes.Buffer
		term := &Terminal{Err: &errs}
		if code := term.Report(tc.err); code != tc.code || errs.String() != tc.text {
			t.Errorf("%v: got %d %q, want %d %q", tc.err, code, errs.String(), tc.code, tc.text)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	term := &Terminal{In: strings.NewReader("12345")}
	if _, err := term.ReadFile("-", 4); exitOf(err) != ExitFormat {
		t.Errorf("got %v, want that it is too large", err)
	}
	term.In = strings.NewReader("1234")
	if text, err := term.ReadFile("-", 4); err != nil || string(text) != "1234" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := term.ReadFile("testdata/none", 4); exitOf(err) != ExitNotFound {
		t.Errorf("got %v, want not found", err)
	}
}

func exitOf(err error) int {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return ExitFailed
}
