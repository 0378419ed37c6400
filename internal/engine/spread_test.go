package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// many are daemons on one store that share the shards of one graph, g.
type many struct {
	t     *testing.T
	s     *shared
	names []string
	beds  map[string]*bed
	views map[string]*view
	read  bool // input a has a source
	mu    sync.Mutex
	deaf  map[string]bool // members that nobody reaches
	slow  map[string]bool // members that are asked and do not answer
	older map[string]bool // members that do not know what they are asked
	short map[string]bool // members that are short of memory
	open  atomic.Int64    // how many of the source are open
	opens atomic.Int64    // how often it was opened
	given atomic.Int64    // how many events it has given
}

func newMany(t *testing.T, spread, read bool, names ...string) *many {
	m := &many{t: t, read: read, s: newShared(), beds: map[string]*bed{}, views: map[string]*view{},
		deaf: map[string]bool{}, slow: map[string]bool{}, older: map[string]bool{},
		short: map[string]bool{}}
	for _, name := range names {
		m.join(name, spread)
	}
	return m
}

func (m *many) join(name string, spread bool) {
	m.t.Helper()
	m.s.mu.Lock()
	m.s.capacity[name] = 1
	v := m.s.view(name)
	m.s.mu.Unlock()
	kinds := &scripted{source: func(input string) accumulator.Source {
		if input == "a" && m.read {
			return openRead{onceRead{&m.opens, &m.given}, &m.open}
		}
		return nil
	}}
	kinds.Stdout = stdout.NewOutput(os.Stderr)
	e := New(Config{Store: v, Kinds: kinds, Log: slog.New(slog.DiscardHandler), Spread: spread,
		Quotas: quota.NewBook(nil), Members: m, Memory: func() (used, limit int64) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.short[name] {
				return 99, 100
			}
			return 0, 100
		}})
	m.mu.Lock()
	m.names, m.beds[name], m.views[name] = append(m.names, name), &bed{m.t, e, v}, v
	m.mu.Unlock()
	if err := e.Open(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// Ask implements [parts.Members], as it goes over a network.
func (m *many) Ask(ctx context.Context, member *checkpoint.Member, call *parts.Call) (*parts.Answer, bool, error) {
	m.mu.Lock()
	b, deaf, slow, older := m.beds[member.ID], m.deaf[member.ID], m.slow[member.ID], m.older[member.ID]
	m.mu.Unlock()
	if deaf || b == nil {
		return nil, false, errCut
	}
	if older {
		return nil, true, parts.ErrOtherRelease
	}
	if slow {
		<-ctx.Done()
		return nil, true, ctx.Err()
	}
	sent, heard := new(parts.Call), new(parts.Answer)
	if err := carry(call, sent); err != nil {
		return nil, false, err
	}
	return heard, true, carry(b.e.AskPart(ctx, sent), heard)
}

// Follow implements [parts.Members].
func (m *many) Follow(ctx context.Context, member *checkpoint.Member, call *parts.Call) (
	*parts.Answer, parts.Frames, error) {
	m.mu.Lock()
	b, deaf := m.beds[member.ID], m.deaf[member.ID]
	m.mu.Unlock()
	if deaf || b == nil {
		return nil, nil, errCut
	}
	sent, heard := new(parts.Call), new(parts.Answer)
	if err := carry(call, sent); err != nil {
		return nil, nil, err
	}
	answer, frames := b.e.WatchPart(ctx, sent)
	err := carry(answer, heard)
	if frames == nil || err != nil {
		return heard, nil, err
	}
	return heard, &wired{frames, m, member.ID}, nil
}

// wired are frames as they go over a network.
type wired struct {
	parts.Frames
	m  *many
	by string
}

func (w *wired) Next(ctx context.Context) (*api.Frame, error) {
	f, err := w.Frames.Next(ctx)
	if err != nil {
		return nil, err
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.m.deaf[w.by] {
		return nil, errCut
	}
	to := new(api.Frame)
	return to, carry(f, to)
}

func carry(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (m *many) close() {
	for _, b := range m.beds {
		b.close()
	}
}

// openRead is a source that knows how many of it are open.
type openRead struct {
	onceRead
	open *atomic.Int64
}

func (c openRead) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	c.open.Add(1)
	defer c.open.Add(-1)
	return c.onceRead.Run(ctx, from, out)
}

// lives are how many shards of the graph run where. No shard runs twice.
func (m *many) lives() map[string]int {
	m.t.Helper()
	at, by := map[string]int{}, map[int]string{}
	for _, name := range m.names {
		g, err := m.beds[name].e.graph(shardedRef)
		if err != nil {
			m.t.Fatal(err)
		}
		for n, s := range g.ShardIDs() {
			if !g.Runs(n) {
				continue
			}
			if before := by[n]; before != "" {
				g, err := m.beds[before].e.graph(shardedRef)
				if err != nil || g.Runs(n) {
					m.t.Fatalf("%s runs at %s and at %s (%v)", s, before, name, err)
				}
				at[before]-- // it has moved since that one was looked at
			}
			by[n] = name
			at[name]++
		}
	}
	return at
}

// whole waits until all of so many shards run, none of them at the member that is left out, and says how long that took
// and where they are.
func (m *many) whole(shards int, without string, within time.Duration) (took time.Duration, at map[string]int) {
	m.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		took, at = time.Since(began), m.lives()
		all := 0
		for _, n := range at {
			all += n
		}
		if all == shards && at[without] == 0 {
			return took, at
		}
		if took > within {
			m.t.Fatalf("after %v there are %v", within, at)
		}
	}
}

// folded is how many events of input a are in the states of all shards, as the store has them.
func (m *many) folded() (events int64) {
	m.t.Helper()
	for _, name := range m.names {
		g, err := m.beds[name].e.graph(shardedRef)
		if err != nil {
			m.t.Fatal(err)
		}
		for n := range g.ShardIDs() {
			if sum := g.Shard(n); g.Runs(n) {
				events += sum.Accumulators[0].Counters.Consumed
			}
		}
	}
	return events
}

const spreadGraph = `graph: g
accumulators:
  a: { source: { file: { path: in.ndjson } }, time: event.at, strategy: sequential }
reactor: { key: id, shards: %d }
nodes: { n: { expr: '[key, a.x]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// M49, M52: the shards of one graph run at several daemons, each of which reads the source once for its own; an owner
// that dies is followed within five seconds, one that drains within one; each has as many, a newcomer too, for which
// few others move, and each event is in the state once.
func TestM52ShardsOfOneGraphAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 24
		m := newMany(t, true, true, "a", "b", "c")
		defer m.close()
		m.beds["a"].apply(fmt.Sprintf(spreadGraph, shards), "g")
		m.whole(shards, "", 10*time.Second)
		time.Sleep(2 * time.Minute) // each has its share by then
		_, at := m.whole(shards, "", time.Second)
		for _, name := range m.names {
			if at[name] < 7 || at[name] > 9 {
				t.Errorf("%v: %s has not its share", at, name)
			}
		}
		if n := m.open.Load(); n != 3 {
			t.Errorf("3 daemons have the source open %d times", n)
		}
		if n := m.folded(); n != onceReadEvents {
			t.Errorf("%d events are in the states of all shards, want %d", n, onceReadEvents)
		}

		m.views["b"].set(true, 0) // it is gone for the others, and knows it before they take what it has
		m.whole(shards, "b", 5*time.Second)
		m.views["b"].set(false, 0)

		m.s.drain("c", true)
		m.whole(shards, "c", time.Second)
		m.s.drain("c", false)
		time.Sleep(2 * time.Minute)
		before := m.s.owned()
		m.join("d", true)
		time.Sleep(2 * time.Minute)
		_, at = m.whole(shards, "", time.Second)
		moves := 0
		for id, owner := range m.s.owned() {
			if owner != before[id] {
				moves++
			}
		}
		if at["d"] < 5 || at["d"] > 7 || moves > at["d"]+shards/6 {
			t.Errorf("%d moves for a newcomer: %v", moves, at)
		}
		if n := m.folded(); n != onceReadEvents {
			t.Errorf("%d events are in the states of all shards, want %d", n, onceReadEvents)
		}
	})
}

// M52: where they are not spread, one daemon has all shards of a graph, and they go together.
func TestM52ShardsOfOneGraphAreTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 24
		m := newMany(t, false, true, "a", "b", "c")
		defer m.close()
		m.beds["a"].apply(fmt.Sprintf(spreadGraph, shards), "g")
		for range 4 {
			time.Sleep(time.Minute)
			_, at := m.whole(shards, "", time.Second)
			if len(at) != 1 {
				t.Fatalf("%v", at)
			}
			for name := range at {
				m.s.drain(name, true)
				m.whole(shards, name, 2*time.Second)
				m.s.drain(name, false)
			}
		}
	})
}
