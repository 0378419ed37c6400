package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M49: where an event does not tell which shard it belongs to, the declaration is refused, with the input and a way
// out.
func TestM49WhatCanBeDealt(t *testing.T) {
	t.Parallel()
	const declared = `graph: g
accumulators:
  a: { %s }
reactor: { key: %s, shards: %d }
outputs:
  o: { from: a, sink: { drop: {} } }
`
	const window = "window: { tumbling: 10s, aggregate: { n: count() }"
	for name, c := range map[string]struct{ input, key, why string }{
		"passes through":      {"schema: { type: object }", "k", ""},
		"a key of its own":    {"key: event.x", "[k]", ""},
		"a fold by the key":   {"fold: { step: state, key: event.k }", "k", ""},
		"a fold by more":      {"fold: { step: state, key: [event.j, event.k] }", "k", ""},
		"a part of the key":   {"fold: { step: state, key: [event.j + 1, event.k] }", "'key[0]'", ""},
		"a window by the key": {window + ", key: event.k }", "k", ""},
		"late events":         {window + ", key: event.k, late: b }", "k", ""},
		"one window":          {window + " }", "start", "one group"},
		"one fold":            {"fold: { step: state }", "7", "one group"},
		"when it ends":        {window + ", key: event.k }", "[k, end]", "reads end"},
		"what is counted":     {window + ", key: event.k }", "n", "reads n"},
		"late events by emit": {"emit: { k: event.j, j: event.k }, " + window + ", key: event.k, late: b }", "k",
			"late events"},
		"late events by a form": {window + ", key: event.k, late: b }", "k + 1", "late events"},
	} {
		for _, shards := range []int{1, 2} {
			text := fmt.Sprintf(declared, c.input, c.key, shards)
			_, ds := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
			switch {
			case c.why == "" || shards == 1:
				if len(ds) > 0 {
					t.Errorf("%s, %d shards: %v", name, shards, ds)
				}
			case len(ds) != 1 || ds[0].Code != "cannot_shard" || ds[0].Line != 3 ||
				!strings.Contains(ds[0].Text, c.why) || !strings.HasPrefix(ds[0].Text, "a cannot be dealt"):
				t.Errorf("%s: got %v, want cannot_shard with %q", name, ds, c.why)
			}
		}
	}
}
