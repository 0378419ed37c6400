package expression

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

const userPage = "../../docs/expressions.md"

// Every example of the user's page does what the page says.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(userPage)
	if err != nil {
		t.Fatal(err)
	}
	w := docsWorld(t, string(page))
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```expressions\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			text, want, ok := strings.Cut(strings.TrimSpace(line), "=>")
			if !ok {
				t.Errorf("%q: an example without a result", line)
				continue
			}
			examples++
			if got := w.example(strings.TrimSpace(text)); got != strings.TrimSpace(want) {
				t.Errorf("%s\n got %s\nwant %s", text, got, strings.TrimSpace(want))
			}
		}
	}
	if examples < 50 {
		t.Errorf("found %d examples on the page, want 50 and more", examples)
	}
	for _, f := range Functions() {
		if !regexp.MustCompile("`" + regexp.QuoteMeta(f) + "\\b").Match(page) {
			t.Errorf("the page does not tell about %s", f)
		}
	}
}

// docsWorld has the values of the page's json block, and pricing, which has not arrived.
func docsWorld(t *testing.T, page string) *world {
	t.Helper()
	_, rest, _ := strings.Cut(page, "```json values\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page has no values")
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	w := &world{scope: Scope{Names: []Name{{"pricing", Any()}}, Epoch: true}, values: []boundary.Value{{}}}
	w.scope.Arrives = func(name int) bool { return w.scope.Names[name].Name != "limits" }
	w.fresh = func(name string) bool { return name == "orderbook" }
	for name, raw := range values {
		v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := v.AsString()
		if text, ok := strings.CutPrefix(s, "time "); ok {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			v = boundary.Time(at)
		}
		if text, ok := strings.CutPrefix(s, "duration "); ok {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			v = boundary.Duration(d)
		}
		w.scope.Names = append(w.scope.Names, Name{name, OfValue(v)})
		w.values = append(w.values, v)
	}
	return w
}

// example is what the page writes behind an expression.
func (w *world) example(text string) string {
	p, err := Compile(text, w.scope)
	if e, ok := errors.AsType[*Error](err); ok {
		if isEvalCode(e.Code) {
			return "error " + e.Code
		}
		return "mistake " + e.Code
	}
	v, err := p.Eval(w.env())
	if e, ok := errors.AsType[*EvalError](err); ok {
		return "error " + e.Code
	}
	if err != nil {
		return "skipped"
	}
	return v.String()
}
