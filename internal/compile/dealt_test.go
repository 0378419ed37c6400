package compile_test

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/timeline"
)

// M54, M33: an event is dealt by its key alone. One that `where`, `schema` or `time` leaves out is of the shard that it
// would be of if they did not, so that a change of these has none that one shard has passed and another never had.
func TestM54WhatIsLeftOutIsDealtByItsKey(t *testing.T) {
	t.Parallel()
	const shards = 7
	for _, out := range []string{
		"time: event.at", "time: event.at, where: event.n > 3", "time: event.at, where: lower(event.n) == 'x'",
		"time: event.when", "time: event.at, schema: { type: object, required: [z] }",
		"time: event.at, emit: { k: event.k, x: lower(event.n) }",
	} {
		u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, `graph: g
accumulators:
  p: { %[1]s }
  w: { %[1]s, window: { tumbling: 1m, key: event.k, aggregate: { n: count() } } }
  f: { %[1]s, fold: { key: event.k, init: 0, step: state + 1 } }
  l: { %[1]s }
  r: { %[1]s }
  j: { join: { left: l, right: r, on: k, within: 1m } }
reactor: { key: k, shards: %[2]d, strategy: sequential }
nodes: { n: { expr: '[p?.k, w?.k, f?.k, j?.k]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, out, shards), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		for i := range u.Programs[:5] {
			d := u.Dealer(i)()
			for n := range 30 {
				key := fmt.Sprintf("k%d", n)
				ev := boundary.Event{Raw: fmt.Appendf(nil, `{"k":%q,"n":%d,"at":%d}`, key, n%6, n)}
				shard, _ := d.Deal(&ev, accumulator.Dated{At: timeline.Never}, nil, shards)
				if want := boundary.KeyOf(boundary.String(key)).Shard(shards); shard != want {
					t.Errorf("%s, %s: %s is dealt to shard %d of %d, want %d", out, u.Programs[i].Name(), ev.Raw, shard,
						shards, want)
					break
				}
			}
			none := boundary.Event{Raw: []byte(`{"n":4,"at":1}`)}
			never := accumulator.Dated{At: timeline.Never}
			if shard, vouched := d.Deal(&none, never, nil, shards); shard != 0 || vouched {
				t.Errorf("%s, %s: without a key: shard %d, %t", out, u.Programs[i].Name(), shard, vouched)
			}
		}
	}
}
