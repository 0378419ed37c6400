package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// whyNot asks why nothing comes of the graph g.
func (b *bed) whyNot(q api.WhyNotQuery) api.WhyNot {
	b.t.Helper()
	w, err := b.e.WhyNot(b.t.Context(), shardedRef, q)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// TestWhyNotWhoIsHeldBack: M26: inputs that wait for one that is behind in the time of events say for which.
func TestWhyNotWhoIsHeldBack(t *testing.T) {
	a, b := newTape(false), newTape(true)
	clocked(t, a, b, "", func(bed *bed, _ *heard) {
		a.events("s", 100)
		time.Sleep(time.Second + time.Millisecond)
		w := bed.whyNot(api.WhyNotQuery{})
		if w.Now[0].Code != "held_back" || !strings.HasPrefix(w.Sentence, "the other inputs wait for b, which is "+
			"behind in the time of events") {
			t.Errorf("%q, now %+v", w.Sentence, w.Now)
		}
		b.caughtUp("", true)
		time.Sleep(time.Second)
		if w = bed.whyNot(api.WhyNotQuery{}); tells(w.Now, "held_back") || w.Looked != 1 {
			t.Errorf("when it has caught up: %q, now %+v", w.Sentence, w.Now)
		}
	})
}

// TestWhyOfARow: M30: of a co-transaction a row is held until the commit of its epoch, which is what delivers it; one
// that was refused is a dead letter.
func TestWhyOfARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, got := memstore.New(), &table{}
		memory.MakeTable("t", "n")
		b := newBed(t, memory, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(outboxed, ", on_error: dead_letter"), "g")
		b.push("g", "a", "1")
		if o := b.why(api.WhyQuery{}).Outputs[0]; o.Fate != "held" || len(memory.Rows("t")) != 0 {
			t.Errorf("before its commit: %+v, rows %v", o, memory.Rows("t"))
		}
		time.Sleep(time.Second)
		w := b.why(api.WhyQuery{})
		if o := w.Outputs[0]; o.Fate != "delivered" || o.Detail != "the commit of its epoch has written its row" ||
			len(memory.Rows("t")) != 1 {
			t.Errorf("%+v, rows %v", o, memory.Rows("t"))
		}
		if w = b.why(api.WhyQuery{FiringID: w.Outputs[0].FiringID}); w.Epoch != 1 {
			t.Errorf("by its id it is epoch %d", w.Epoch)
		}
		b.push("g", "a", "5")
		time.Sleep(time.Second)
		if o := b.why(api.WhyQuery{}).Outputs[0]; o.Fate != "dead_letter" || !strings.Contains(o.Detail,
			"fifty is no row") || o.Letter == "" {
			t.Errorf("a row that was refused: %+v", o)
		}
	})
}

// TestWhyOfShards: M48: of a graph with shards a firing id and a key lead to the epoch of the shard that has it, and
// why not is told of all shards, or of the one that has the key.
func TestWhyOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &ids{}
		got.set(func(batch []sink.Message) error {
			for i := range batch {
				got.at.Lock()
				got.got = append(got.got, batch[i].FiringID())
				got.at.Unlock()
			}
			return nil
		})
		b := newShardedOf(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got },
			source: func(string) accumulator.Source { return nil }})
		defer b.close()
		doc := strings.Replace(shardedGraph, "strategy: sequential", "strategy: sequential, where: event.x < 30", 1)
		b.apply(strings.Replace(doc, "websocket: {}", "drop: {}", 1), "g")
		b.push("g", "a", events(0, 40)...)
		time.Sleep(3 * time.Second)
		shards, first := map[int]bool{}, ""
		for n := range 30 {
			key := fmt.Sprintf(`"k%d"`, n)
			w := b.why(api.WhyQuery{Key: key})
			o := w.Outputs[0]
			if string(w.Key) != key || o.Fate != "delivered" || !slices.Contains(got.got, o.FiringID) {
				t.Fatalf("of %s: %+v", key, w)
			}
			if by := b.why(api.WhyQuery{FiringID: o.FiringID}); by.Epoch != w.Epoch || by.Shard != w.Shard {
				t.Fatalf("by its id %d/%d, and not %d/%d", by.Shard, by.Epoch, w.Shard, w.Epoch)
			}
			if by := b.why(api.WhyQuery{Epoch: &w.Epoch, Shard: &w.Shard}); string(by.Key) != key {
				t.Fatalf("of epoch %d/%d: %s", w.Shard, w.Epoch, by.Key)
			}
			if shards[w.Shard] = true; w.Shard == 0 {
				first = key
			}
		}
		if len(shards) != 4 {
			t.Errorf("the keys are in %v", slices.Sorted(maps.Keys(shards)))
		}
		all := b.whyNot(api.WhyNotQuery{})
		if all.Counts["filtered_where"] != 10 || all.Looked != 30 {
			t.Errorf("of all shards: %d looked at, counts %v", all.Looked, all.Counts)
		}
		one := b.whyNot(api.WhyNotQuery{Key: `"k7"`})
		if string(one.Key) != `"k7"` || one.Looked != 1 || one.Counts["filtered_where"] >= 10 {
			t.Errorf("of a key: %d looked at, counts %v, key %s", one.Looked, one.Counts, one.Key)
		}
		none := b.whyNot(api.WhyNotQuery{Key: `"k35"`})
		if none.Now[0].Code != "key_unknown" || none.Now[0].Shard != 0 && !shards[none.Now[0].Shard] {
			t.Errorf("of a key that was kept back: %+v", none.Now)
		}
		got.set(func([]sink.Message) error { return errors.New("connection refused") })
		b.push("g", "a", fmt.Sprintf(`{"id":%s,"x":1}`, first))
		time.Sleep(time.Second)
		for n := range 30 { // the sink of one shard is in trouble, and not what the others gave
			key, want := fmt.Sprintf(`"k%d"`, n), "delivered"
			if key == first {
				want = "pending"
			}
			if o := b.why(api.WhyQuery{Key: key}).Outputs[0]; o.Fate != want {
				t.Errorf("of %s: %+v, want %s", key, o, want)
			}
		}
	})
}

// TestWhyNotOfShardsElsewhere: M48: why not is told of the shards of all daemons, of a key by the one that has it, and
// of those that cannot be reached it is said that they cannot.
func TestWhyNotOfShardsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		m.beds["a"].push("g", "a", events(0, 60)...)
		time.Sleep(5 * time.Second)
		for name, b := range m.beds {
			if w := b.whyNot(api.WhyNotQuery{}); w.Looked != 60 || w.Now[0].Code != "nothing_new" {
				t.Errorf("asked at %s: %d looked at, %+v", name, w.Looked, w.Now)
			}
			for n := range 12 {
				w := b.whyNot(api.WhyNotQuery{Key: fmt.Sprintf(`"k%d"`, n)})
				if w.Looked != 1 || string(w.Key) != fmt.Sprintf(`"k%d"`, n) || w.Now[0].Code != "nothing_new" {
					t.Errorf("of k%d, asked at %s: %d looked at, %+v", n, name, w.Looked, w.Now)
				}
			}
		}
		m.mu.Lock()
		m.deaf["b"] = true
		m.mu.Unlock()
		w := m.beds["a"].whyNot(api.WhyNotQuery{})
		if !tells(w.Now, api.CodeOwnerUnreachable) || w.Looked == 0 || w.Looked >= 60 ||
			!strings.Contains(w.Sentence, "cannot be reached") {
			t.Errorf("%q, %d looked at, now %+v", w.Sentence, w.Looked, w.Now)
		}
		m.mu.Lock()
		m.deaf["b"] = false
		m.mu.Unlock()
	})
}

// TestWhyNamesTheCause: what made an epoch run is told, of each way to make one run.
func TestWhyNamesTheCause(t *testing.T) {
	for name, tt := range map[string]struct {
		doc  string
		do   func(b *bed)
		code string
		says string
	}{
		"any": {"accumulators: { a: {}, b: {} }\n", pushed("a", "1"), "criteria",
			"a had something new, and any of 2 inputs fires"},
		"all": {"accumulators: { a: {}, b: {} }\nreactor: { when: all }\n", func(b *bed) {
			b.push("g", "a", "1")
			b.push("g", "b", "1")
		}, "criteria", "all of a and b had something new"},
		"timer": {"accumulators: { a: {} }\nreactor: { debounce: 1s }\n", pushed("a", "1"), "criteria",
			"a had something new; it was let run by debounce 1s"},
		"max_wait": {"accumulators: { a: {}, b: {} }\nreactor: { when: all, max_wait: 1s }\n", pushed("a", "1"),
			"max_wait", "a had waited for 1s, which is as long as max_wait allows; b had not come"},
		"tick": {"accumulators: { a: {} }\nreactor: { every: 1s }\n", func(b *bed) {
			b.push("g", "a", "1")
			time.Sleep(2 * time.Second)
		}, "tick", "its cadence was due, every 1s, with nothing new"},
		"lane": {"accumulators: { a: {} }\nlanes: { l: { fixed_rate: { period: 1s } } }\n", pushed("a", "1"), "tick",
			"the cadence of l was due, with nothing new"},
		"force": {"accumulators: { a: {} }\nreactor: { guard: a > 5 }\n", func(b *bed) {
			b.push("g", "a", "1")
			b.fire(api.FireRequest{Mode: "force"})
		}, "force", "an operator asked for it"},
		"with": {"accumulators: { a: {} }\n", func(b *bed) {
			b.fire(api.FireRequest{Mode: "with", Cache: map[string]json.RawMessage{"a": json.RawMessage("1")}})
		}, "with", "an operator handed in values"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, memstore.New(), &scripted{})
				defer b.close()
				node := "nodes: { n: { expr: a } }"
				if name == "lane" {
					node = "nodes: { n: { expr: a, lane: l } }"
				}
				b.apply("graph: g\n"+tt.doc+node+drops, "g")
				tt.do(b)
				time.Sleep(3*time.Second + time.Millisecond)
				w := b.why(api.WhyQuery{})
				if w.Cause.Code != tt.code || !strings.HasPrefix(w.Cause.Detail, tt.says) {
					t.Errorf("%+v", w.Cause)
				}
			})
		})
	}
}

func (b *bed) fire(req api.FireRequest) {
	b.t.Helper()
	if _, err := b.e.Fire(b.t.Context(), shardedRef, req); err != nil {
		b.t.Fatal(err)
	}
}
