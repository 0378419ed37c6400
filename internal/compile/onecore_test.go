package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M51, M26: where time completes what several inputs hold open at the end of a run, that alone has it run as one.
func TestM51WhatRunsAsOneAtItsEnd(t *testing.T) {
	t.Parallel()
	const declared = `graph: g
accumulators:
  a: { time: event.t, %s }
  b: { time: event.t, %s }
reactor: { key: k, shards: 8, strategy: sequential }
nodes:
  n: { expr: '[a, b]' }
outputs:
  o: { from: n, sink: { %s } }
`
	const window = "window: { tumbling: 10s, late: %s, key: event.k, aggregate: { n: count() } }"
	const counted = "window: { count: { size: 9 }, key: event.k, aggregate: { n: count() } }"
	const file = "file: { path: out.ndjson }"
	aside, dropped := fmt.Sprintf(window, "aside"), fmt.Sprintf(window, "drop")
	for name, c := range map[string]struct {
		parts [3]any
		one   bool
		by    string
	}{
		"a window":          {[3]any{aside, "", "drop: {}"}, false, "8 shards by key, beside each other"},
		"two":               {[3]any{aside, dropped, "drop: {}"}, true, "beside each other live, and as one in"},
		"a batch by size":   {[3]any{dropped, "batch: { key: event.k, size: 9 }", "drop: {}"}, false, "beside each"},
		"a batch by time":   {[3]any{dropped, "batch: { key: event.k, interval: 9s }", "drop: {}"}, true, "as one in"},
		"so many events":    {[3]any{dropped, counted, "drop: {}"}, false, "beside each other"},
		"as one live, too":  {[3]any{dropped, dropped, file}, true, "at its end, and live, since output o"},
		"and that one only": {[3]any{dropped, "", file}, false, "beside each other in graphd run"},
	} {
		u, ds := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, declared, c.parts[:]...), "g.yaml")
		if len(ds) > 0 {
			t.Errorf("%s: %v", name, ds)
			continue
		}
		if why := u.OneRun(true); (why != "") != c.one || u.OneRun(false) != "" {
			t.Errorf("%s: runs as one since %q, and without a flush since %q", name, why, u.OneRun(false))
		}
		if by := u.ShardsBy(); !strings.Contains(by, c.by) {
			t.Errorf("%s: the plan says %q, want %q", name, by, c.by)
		}
	}
}

// M51: what several shards would tell otherwise than one is run as one, and the plan says why.
func TestM51WhatRunsAsOne(t *testing.T) {
	t.Parallel()
	const declared = `graph: g
accumulators:
  a: { %s }
  b: { %s }
reactor: { key: k, shards: 8%s }
nodes:
  n: { expr: '%s' }
outputs:
  o: { from: n, sink: { drop: {} } }
durability: { on_failure: %s }
`
	const clock = "window: { tumbling: 10s, key: event.k, aggregate: { n: count() } }"
	early := strings.Replace(clock, "10s", "10s, early: 1s", 1)
	for name, c := range map[string]struct {
		parts [5]any
		why   string
	}{
		"nothing":              {[5]any{"", "", "", "a", "advance"}, ""},
		"a halt":               {[5]any{"", "", "", "a", "halt"}, "halts"},
		"the number":           {[5]any{"", "", "", "[a, epoch()]", "advance"}, "number of the epoch"},
		"one clock":            {[5]any{clock, "", "", "a", "advance"}, ""},
		"two clocks":           {[5]any{clock, clock, "", "a", "advance"}, "several inputs"},
		"a table":              {[5]any{"", "table: { key: event.j }", "", "b[a.j]", "advance"}, ""},
		"rows that expire":     {[5]any{"", "table: { key: event.j, ttl: 1h }", "", "b[a.j]", "advance"}, "b is"},
		"a global input":       {[5]any{"", "global: true", "", "[a, b]", "advance"}, ""},
		"a global fold":        {[5]any{"", "global: true, fold: { step: 1 }", "", "[a, b]", "advance"}, "b is"},
		"keys that end":        {[5]any{"", "", ", ttl: 1h", "a", "advance"}, ""},
		"keys that leave some": {[5]any{"", "", ", ttl: 1h, when: all", "a", "advance"}, "at its ttl"},
		"keys that drop it":    {[5]any{"", "", ", ttl: 1h, when: all, on_evict: drop", "a", "advance"}, ""},
		"early results":        {[5]any{"time: event.t, " + early, "", "", "a", "advance"}, "early results"},
	} {
		u, ds := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, declared, c.parts[:]...), "g.yaml")
		if len(ds) > 0 {
			t.Errorf("%s: %v", name, ds)
			continue
		}
		why, by := u.OneCore(), u.ShardsBy()
		if c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: runs as one since %q, want %q", name, why, c.why)
		}
		if !strings.HasPrefix(by, "8 shards") || !strings.Contains(by, why) {
			t.Errorf("%s: the plan says %q", name, by)
		}
	}
}
