package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/testbed/leaks"
	"github.com/graphd/graphd/internal/virtual"
	"go.uber.org/goleak"
)

const ticking = `graph: ticking
accumulators:
  a: { time: event.at, emit: { k: event.k, bid: event.bid } }
  rate: { global: true, time: event.at, emit: { v: event.v } }
reactor: { key: k, shards: 5 }
nodes:
  both: { expr: a.bid * rate.v }
outputs:
  all: { from: both, sink: { drop: {} } }
`

// M51: what a batch holds is bounded whatever fills it, also where what all keys share comes alone.
func TestM51WhatAllKeysShareFillsBatchesToo(t *testing.T) {
	defer leaks.None(t, goleak.IgnoreCurrent())
	u, ds := (&builtin.Kinds{}).Parse([]byte(ticking), "ticking.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	const shards, ticks, most, every = 5, 20_000, 512, 2_000
	released := 0
	f := New(t.Context(), Config{
		Unit: u, Shards: shards, Batch: most, Letter: func(*checkpoint.DeadLetter) error { return nil },
		Release: func(batch []sink.Message) error { released += len(batch); return nil },
	})
	defer f.Stop()
	g := virtual.New(u, time.Time{}, nil)
	g.Tap = f
	held := 0
	for n := range ticks {
		now := time.Unix(0, int64(n)*int64(time.Millisecond)).UTC()
		ev := boundary.Event{Raw: fmt.Appendf(nil, `{"at":%d,"v":%d}`, n, n%7)}
		must(t, g.AdvanceTo(now))
		if n%every == 0 {
			ev.Raw = fmt.Appendf(nil, `{"at":%d,"k":%d,"bid":%d}`, n, n, n)
			must(t, f.Add(0, &ev, nil, now))
		} else {
			must(t, f.Shared(now))
			g.Stir()
			g.Add(1, &ev, true)
		}
		must(t, g.Step())
		items := 0
		for s := range f.batch.items {
			items += len(f.batch.items[s])
		}
		held = max(held, items)
	}
	must(t, g.Close())
	must(t, f.End(true))
	if held > most+shards {
		t.Errorf("a batch held %d items, want %d and what one more event makes", held, most)
	}
	if released == 0 {
		t.Error("nothing was released")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
