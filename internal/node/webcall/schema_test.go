package webcall

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// risk is the schema of an answer.
var risk = map[string]any{"type": "object", "required": []any{"risk"}, "additionalProperties": false,
	"properties": map[string]any{"risk": map[string]any{"type": "number"}}}

// A schema types the value, and one that is none is a mistake.
func TestSchemas(t *testing.T) {
	whole := kind.Place{Name: "n"}
	for _, c := range []struct {
		declared Declared
		expr     string // over the node's value
		bad      bool
	}{
		{Declared{Schema: risk}, "v.risk + 1", false}, {Declared{Schema: risk}, "v.rsik", true},
		{Declared{Schema: risk}, "v.risk matches 'a'", true},
		{Declared{Schema: risk, Answer: "full"}, "v.body.risk + v.status", false},
		{Declared{Schema: risk, Answer: "full"}, "v.body.rsik", true}, {Declared{Answer: "full"}, "v.risk", true},
		{Declared{}, "v.anything", false},
	} {
		if c.declared.Answer == "" {
			c.declared.Answer = "body"
		}
		if ds := check(c.declared, whole); len(ds) > 0 {
			t.Errorf("%v: %v", c.declared, ds)
		}
		_, err := expression.Compile(c.expr, expression.Scope{Names: []expression.Name{
			{Name: "v", Type: result(c.declared, nil)}}})
		if (err != nil) != c.bad {
			t.Errorf("%s of %v: %v", c.expr, c.declared, err)
		}
	}
	ds := check(Declared{Schema: map[string]any{"type": "objekt"}}, whole)
	if len(ds) != 1 || ds[0].Code != "schema_invalid" {
		t.Errorf("%v", ds)
	}
	if a, b := (Declared{}).Identity(), (Declared{Schema: risk}).Identity(); a == b {
		t.Error("another schema is the same node")
	}
}

// An answer that is not what the schema says is the node's error, whatever would be remembered.
func TestWhatIsNoAnswer(t *testing.T) {
	answers := []string{`{"risk": "high"}`, `{"risk": 5}`}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, answers[0])
		answers = answers[1:]
	})
	c := Declared{URL: url, Schema: risk, Cache: Cache{Key: expr("v"), TTL: time.Minute, Max: 2}}
	e := compile(t, c, spec.Retry{})
	client := open(t, e)
	if _, err := ask(t, e, client, 1); codeOf(err) != CodeInvalid {
		t.Errorf("got %v", err)
	}
	if got, err := ask(t, e, client, 1); err != nil || got != `{"risk":5}` {
		t.Errorf("got %s, %v", got, err)
	}
}
