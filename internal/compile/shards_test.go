package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
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

// M54, M13: events of an input are of other shards where their key is made of something else: by a key, by what they
// are joined on, or by the emit that these read. An input that comes or goes, and what no key reads, change nothing.
func TestM54WhatEventsAreDealtOn(t *testing.T) {
	t.Parallel()
	const first = `graph: g
accumulators:
  a: { key: event.x, emit: { k: event.k, y: event.y } }
  b: { emit: { k: event.k, y: event.y } }
  c: { emit: event }
  f: { fold: { step: state, key: event.k } }
  l: { time: event.at, emit: { k: event.k, y: event.y } }
  r: { time: event.at }
  j: { join: { left: l, right: r, on: k, within: 1m } }
reactor: { key: k, shards: 2 }
outputs: { o: { from: a, sink: { drop: {} } } }
`
	on := func(was, is string) string {
		if !strings.Contains(first, was) {
			t.Fatalf("there is no %s", was)
		}
		u, ds := (&builtin.Kinds{}).Parse([]byte(strings.Replace(first, was, is, 1)), "g.yaml")
		if err := ds.Err(); err != nil {
			t.Fatalf("%s: %v", is, err)
		}
		return u.DealtOn()
	}
	declared := on("graph: g", "graph: g")
	if declared != "a=3d1da1d7529d0669 b=37084f4204965264 c=37084f4204965264 f=37084f4204965264 l=37084f4204965264 "+
		"r=37084f4204965264" { // stores have it: another text for the same would be another key
		t.Errorf("dealt on %s", declared)
	}
	for _, c := range []struct {
		was, is string
		anew    bool
	}{
		{"a: { key: event.x", "a: { key: event.y", true},
		{"a: { key: event.x,", "a: {", true},
		{"emit: { k: event.k, y: event.y } }\n  b", "emit: { k: event.z, y: event.y } }\n  b", false},
		{"emit: { k: event.k, y: event.y } }\n  c", "emit: { k: event.z, y: event.y } }\n  c", true},
		{"emit: { k: event.k, y: event.y } }\n  c", "emit: { k: event.k, y: event.z } }\n  c", false},
		{"emit: event }", "emit: event.of }", true},
		{"emit: { k: event.k, y: event.y } }\n  r", "emit: { k: event.z, y: event.y } }\n  r", true},
		{"emit: { k: event.k, y: event.y } }\n  r", "emit: { k: event.k, y: event.z } }\n  r", false},
		{"within: 1m", "within: 2m", false},
		{"  c: { emit: event }\n", "", false},
		{"  c: { emit: event }\n", "  c: { emit: event }\n  d: { key: event.z }\n", false},
	} {
		if got := compile.Rekeyed(declared, on(c.was, c.is)); got != c.anew {
			t.Errorf("%s in place of %s: %t", c.is, c.was, got)
		}
	}
	if one := on("shards: 2", "shards: 1"); one != declared || compile.Rekeyed("", declared) ||
		compile.Rekeyed(declared, "") {
		t.Errorf("with one shard %q", one)
	}
	joined := func(on string) string {
		u, ds := (&builtin.Kinds{}).Parse([]byte(`graph: g
accumulators:
  l: { time: event.at }
  r: { time: event.at }
  j: { join: { left: l, right: r, on: `+on+`, within: 1m } }
reactor: { key: key, shards: 2 }
outputs: { o: { from: j, sink: { drop: {} } } }
`), "g.yaml")
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		return u.DealtOn()
	}
	if k := joined("k"); !compile.Rekeyed(k, joined("{ left: k, right: y }")) || compile.Rekeyed(k, joined("k")) {
		t.Errorf("joined on k: %s", k)
	}
}
