package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/sink"
)

// why asks after an epoch of the graph g.
func (b *bed) why(q api.WhyQuery) api.Why {
	b.t.Helper()
	w, err := b.e.Why(b.t.Context(), api.Ref{Tenant: "default", Name: "g"}, q)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// tells says that a list has a code.
func tells(list []api.Because, code string) bool {
	return slices.ContainsFunc(list, func(b api.Because) bool { return b.Code == code })
}

// TestWhyNotOfABusyGraph: a graph that does not come out of its epoch is answered for, and says that.
func TestWhyNotOfABusyGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, hold, names := stuckBed(t, 1, &picky{})
		defer b.close()
		defer close(hold)
		time.Sleep(3 * time.Second)
		w, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: names[0]}, api.WhyNotQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if !tells(w.Now, "reactor_busy") ||
			!strings.Contains(w.Sentence, "node n has run for") {
			t.Errorf("%q, now %+v", w.Sentence, w.Now)
		}
	})
}

// TestWhyBeforeAChange: an epoch from before a change of the declaration is told of by its record, and what it gave is
// not said to be delivered by an output that is gone.
func TestWhyBeforeAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"sums": &picky{}})})
		defer b.close()
		b.apply(whyDoc, "g")
		b.push("g", "a", "700")
		time.Sleep(2 * time.Second)
		b.apply(strings.NewReplacer("sum: {", "total: {", "sum > 100", "total > 100", "from: sum", "from: total",
			"  alarms: { from: alarm, sink: { drop: {} } }\n", "", "a > limit", "a > limit + 1").Replace(whyDoc), "g")
		time.Sleep(2 * time.Second)
		w := b.why(api.WhyQuery{Epoch: new(int64(1))})
		if w.Revision == nil || w.Revision.Revision != 1 || w.Revision.Current || w.Guard != nil ||
			!strings.Contains(w.Sentence, "it ran under a declaration that is not the present one") {
			t.Errorf("%q, revision %+v, guard %+v", w.Sentence, w.Revision, w.Guard)
		}
		var nodes, outputs []string
		for _, n := range w.Nodes {
			nodes = append(nodes, n.Name+" "+n.Status)
		}
		for _, o := range w.Outputs {
			outputs = append(outputs, o.Name+" "+o.Fate)
		}
		if got := strings.Join(nodes, ", "); got != "size ran, alarm ran, sum ran" {
			t.Errorf("nodes %s", got)
		}
		if got := strings.Join(outputs, ", "); got != "sums delivered, alarms unknown" {
			t.Errorf("outputs %s", got)
		}
		not, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.WhyNotQuery{})
		if err != nil || len(not.Epochs) > 0 || not.Looked != 1 {
			t.Errorf("of epochs without the node: %+v, %v", not.Epochs, err)
		}
		b.push("g", "a", "800")
		if w = b.why(api.WhyQuery{}); w.Epoch != 2 || w.Guard == nil || w.Revision == nil || w.Revision.Revision != 2 {
			t.Errorf("epoch %d: revision %+v, guard %+v", w.Epoch, w.Revision, w.Guard)
		}
	})
}

// TestWhyOfAShardThatWent: what an epoch gave of a shard that there is no more is not said to be delivered.
func TestWhyOfAShardThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(withShards(4), "g")
		for n := range 40 {
			b.push("g", "a", fmt.Sprintf(`{"id":"k%d","x":%d}`, n, n))
		}
		time.Sleep(2 * time.Second)
		b.apply(withShards(2), "g")
		time.Sleep(2 * time.Second)
		w := b.why(api.WhyQuery{Epoch: new(int64(1)), Shard: new(3)})
		if o := w.Outputs[0]; o.Fate != "unknown" || !strings.Contains(o.Detail, "shard") ||
			!strings.Contains(w.Sentence, "what has become of o is not known") {
			t.Errorf("%q: %+v", w.Sentence, o)
		}
	})
}

// TestWhyOfAPushedValue: what was pushed into an input with a default is told as that, though its record has left the
// history, and of an input that the keys share whichever key has taken it.
func TestWhyOfAPushedValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply(whyDoc+"history: { keep: 1 }\n", "g")
		b.push("g", "limit", "6")
		for _, a := range []string{"7", "8", "9", "10"} {
			b.push("g", "a", a)
		}
		time.Sleep(3 * time.Second)
		if in := b.why(api.WhyQuery{}).Inputs[1]; in.State != "cached" || in.AgeSeconds != nil {
			t.Errorf("what has left the history: %+v", in)
		}
		b.apply("graph: g\naccumulators: { a: { strategy: sequential }, limit: { global: true, default: 5 } }\n"+
			"reactor: { key: k }\nnodes: { n: { expr: '[a.k, limit]' } }"+drops, "g")
		b.push("g", "limit", "6")
		b.push("g", "a", `{"k":"x"}`)
		took := b.why(api.WhyQuery{}).Epoch
		time.Sleep(4 * time.Second)
		b.push("g", "a", `{"k":"y"}`)
		w := b.why(api.WhyQuery{})
		if in := w.Inputs[1]; in.State != "cached" || in.SinceEpoch != took || in.AgeSeconds == nil ||
			*in.AgeSeconds != 4 {
			t.Errorf("what the keys share: %+v, of %s, taken by %d", in, w.Key, took)
		}
	})
}

// TestWhyTheGuardFailed: a guard that could not be evaluated is not told as one that held.
func TestWhyTheGuardFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nreactor: { guard: 1 / a > 0 }\n"+
			"nodes: { n: { expr: a } }"+drops, "g")
		b.push("g", "a", "0")
		w := b.why(api.WhyQuery{})
		if w.OK || strings.Contains(w.Sentence, "held") || !strings.Contains(w.Sentence, "changed nothing: guard: ") ||
			w.Guard == nil || string(w.Guard.Reads["a"]) != "0" {
			t.Errorf("%q, it read %+v", w.Sentence, w.Guard)
		}
	})
}

// TestWhyOfAnOutbox: a value is held until the commit of its epoch, and found by the id that its sink has it under,
// which has no incarnation.
func TestWhyOfAnOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ids []string
		got := &picky{}
		got.set(func(batch []sink.Message) error {
			mu.Lock()
			defer mu.Unlock()
			for i := range batch {
				ids = append(ids, batch[i].FiringID())
			}
			return nil
		})
		b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"o": got})})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, delivery: outbox, sink: { http: { url: 'http://127.0.0.1:9' } } } }\n"+
			"durability: { interval: 1h }\n", "g")
		b.push("g", "a", "7")
		if o := b.why(api.WhyQuery{}).Outputs[0]; o.Fate != "held" {
			t.Errorf("before its commit: %+v", o)
		}
		not, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.WhyNotQuery{Output: "o"})
		if err != nil || !tells(not.Now, "waits_for_commit") {
			t.Errorf("why not: %+v, %v", not.Now, err)
		}
		if _, err := b.e.Checkpoint(t.Context(), api.Ref{Tenant: "default", Name: "g"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w := b.why(api.WhyQuery{})
		mu.Lock()
		defer mu.Unlock()
		if o := w.Outputs[0]; o.Fate != "delivered" || !slices.Equal(ids, []string{o.FiringID}) {
			t.Fatalf("%+v, its sink has %v", o, ids)
		}
		if w = b.why(api.WhyQuery{FiringID: ids[0]}); w.Epoch != 1 {
			t.Errorf("by its id it is epoch %d", w.Epoch)
		}
	})
}

// TestWhyOfShardsElsewhere: of an epoch of another daemon's shard it is told what has become of what it gave, and where
// that daemon cannot be reached that nobody knows.
func TestWhyOfShardsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		a := m.beds["a"]
		a.push("g", "a", events(0, 200)...)
		time.Sleep(5 * time.Second) // for the records to be in the store
		fates := func() map[string]int {
			n := map[string]int{}
			for shard := range 12 {
				n[a.why(api.WhyQuery{Epoch: new(int64(1)), Shard: &shard}).Outputs[0].Fate]++
			}
			return n
		}
		if n := fates(); n["watched"] != 12 {
			t.Errorf("while all answer: %v", n)
		}
		away := m.lives()["b"]
		m.mu.Lock()
		m.deaf["b"] = true
		m.mu.Unlock()
		if n := fates(); n["unknown"] != away || n["watched"] != 12-away {
			t.Errorf("%d are elsewhere: %v", away, n)
		}
		m.mu.Lock()
		m.deaf["b"] = false
		m.mu.Unlock()
	})
}

// diesOf has a graph be owned as often as it may be tried, each time by one who dies of its first epoch.
func diesOf(t *testing.T, store checkpoint.Store, graph string) {
	t.Helper()
	for range graphrun.MaxAttempts {
		id := checkpoint.ID{Tenant: "default", Graph: graph}
		head, err := store.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Attempt(t.Context(), id, head.Fence, head.Epoch+1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhyNotOfAQuarantinedGraph: a graph that is not tried any more says so first.
func TestWhyNotOfAQuarantinedGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newBed(t, store, &scripted{})
		b.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }"+drops, "g")
		b.close()
		diesOf(t, store, "g")
		b = newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		w, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.WhyNotQuery{})
		if err != nil || w.Now[0].Code != "crash_loop" || w.Sentence != w.Now[0].Detail {
			t.Errorf("%q, now %+v, %v", w.Sentence, w.Now, err)
		}
	})
}
