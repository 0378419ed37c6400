package engine

import (
	"log/slog"
	"maps"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// M49: of two processes that share the shards of a graph each gets from the brokers what its own shards need, and what
// they get together is the topic once.
func TestM49AProcessReadsTheBytesOfItsShards(t *testing.T) {
	const shards, pad, events = 16, 2000, 4000
	w := newPartitioned(t, 2*shards)
	m := newMany(t, true, false)
	defer m.close()
	read := map[string]*atomic.Int64{"x": {}, "y": {}}
	for name, n := range read {
		m.s.capacity[name] = 1
		v := m.s.view(name)
		kinds := &scripted{source: func(string) accumulator.Source { return nil }}
		kinds.declared = func(*compile.Unit, int) accumulator.Source { return w.source(n) }
		kinds.Stdout = stdout.NewOutput(os.Stderr)
		e := New(Config{Store: v, Kinds: kinds, Log: slog.New(slog.DiscardHandler), Spread: true,
			Members: m, Patience: 100 * time.Millisecond})
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.names, m.beds[name], m.views[name] = append(m.names, name), &bed{t, e, v}, v
	}
	w.apply(m.beds["x"], w.document(true, shards))
	deadline := time.Now().Add(3 * time.Minute)
	var at map[string]int
	var began map[string]int64
	for moved := true; moved; moved = !maps.Equal(m.lives(), at) { // what has moved was read by both
		at = m.shared(shards, deadline)
		w.produce(300, 150, -1, 0)
		w.folds(m) // both read
		began = map[string]int64{"x": read["x"].Load(), "y": read["y"].Load()}
		w.produce(events, 150, -1, pad)
		w.folds(m)
	}
	sum := int64(0)
	for name, n := range read {
		got, all := n.Load()-began[name], int64(events*pad)
		sum += got
		if share := all * int64(at[name]) / shards; got > share*3/2+all/20 {
			t.Errorf("%s has %d of %d shards, and read %d of %d bytes", name, at[name], shards, got, all)
		}
		t.Logf("%s has %d of %d shards, and read %d of %d bytes", name, at[name], shards, got, all)
	}
	if all := int64(events * pad); sum < all || sum > all*5/4 {
		t.Errorf("both have read %d bytes of %d", sum, all)
	}
}

// shared waits until x and y have as many shards each, but for one, and keep them for a while: the one that is there
// first may have all until it hears of the other, and hands them on one by one.
func (m *many) shared(shards int, deadline time.Time) (at map[string]int) {
	m.t.Helper()
	const keep = 2 * time.Second
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	since := time.Now()
	for {
		now := m.lives()
		even := now["x"]+now["y"] == shards && min(now["x"], now["y"]) >= shards/2-1
		if !even || !maps.Equal(now, at) {
			at, since = now, time.Now()
		}
		switch {
		case even && time.Since(since) >= keep:
			return at
		case time.Now().After(deadline):
			m.t.Fatalf("they do not share the shards: %v", now)
		}
		<-look.C
	}
}

// folds waits until all that was written is in the state of some shard.
func (w *partitionedWorld) folds(m *many) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); m.folded() < int64(w.sent); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d of %d events are folded", m.folded(), w.sent)
		}
	}
	if got := m.folded(); got != int64(w.sent) {
		w.t.Errorf("%d events are folded of %d", got, w.sent)
	}
}
