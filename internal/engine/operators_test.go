package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// operated is a graph in the hands of an operator, and what it has to say by what it was told: it sums what is pushed.
type operated struct {
	t     *testing.T
	rng   *rand.Rand
	store checkpoint.Store
	b     *bed
	got   *receiver
	dead  []*bed // processes that were lost, fenced by those after them

	mode    string
	shards  int  // 0: without keys
	outputs int  // further outputs of the declaration
	there   bool // the graph is
	paused  bool
	pushed  int64 // the last number that was pushed
	// taken is what each input has taken in since its state began; of those a crash leaves at least so many as durable.
	taken   map[string][]int64
	durable map[string]int
	did     []string
}

var operatedRef = api.Ref{Tenant: "default", Name: "g"}

// document is the declaration.
func (o *operated) document() string {
	doc := "graph: g\naccumulators:\n  a:\n    strategy: sequential\n    fold: { init: { n: 0, sum: 0 }, " +
		"step: { n: state.n + 1, sum: state.sum + event.x } }\n" +
		"  b: { strategy: sequential, batch: { size: 3 }, emit: event.x, default: [] }\n" +
		"  s: { strategy: sequential, state: { keep: 3 }, emit: event.x, default: [] }\n"
	if o.shards > 0 {
		doc = "graph: g\nreactor: { key: k, shards: " + strconv.Itoa(o.shards) + " }\naccumulators:\n  a:\n" +
			"    strategy: sequential\n    fold: { key: event.k, init: { n: 0, sum: 0 }, " +
			"step: { n: state.n + 1, sum: state.sum + event.x } }\n"
	}
	doc += "nodes: { n: { expr: a.sum }"
	if o.shards == 0 {
		doc += ", b3: { expr: b }, s3: { expr: s }"
	}
	doc += " }\noutputs:\n  o: { from: n, sink: { stdout: {} } }\n"
	for i := range o.outputs {
		doc += fmt.Sprintf("  o%d: { from: n, sink: { drop: {} } }\n", i)
	}
	return doc + "durability: { mode: " + o.mode + ", interval: 1h }\n"
}

// inputs are those of the declaration.
func (o *operated) inputs() []string {
	if o.shards > 0 {
		return []string{"a"}
	}
	return []string{"a", "b", "s"}
}

// forget notes that nothing is left of what was taken in.
func (o *operated) forget() { o.taken, o.durable = map[string][]int64{}, map[string]int{} }

// all is how many events all inputs have taken in.
func (o *operated) all() (n int) {
	for _, list := range o.taken {
		n += len(list)
	}
	return n
}

func (o *operated) key(x int64) string {
	if o.shards == 0 {
		return ""
	}
	return fmt.Sprintf(`"k%d"`, x%5)
}

// start begins a process on the store.
func (o *operated) start() {
	kinds := &scripted{sink: func(string) sink.Sink { return o.got },
		source: func(string) accumulator.Source { return nil }}
	if o.shards > 0 {
		o.b = newShardedOf(o.t, o.store, kinds)
	} else {
		o.b = newBed(o.t, o.store, kinds)
	}
	synctest.Wait()
}

// lose takes back what was lost with the process: what is left must be a beginning of what was there.
func (o *operated) lose() {
	if !o.there {
		return
	}
	if o.mode == "none" {
		o.forget()
		return
	}
	if o.mode == "journal" {
		o.saved()
	}
	if o.shards > 0 && o.mode == "checkpoint" {
		o.t.Fatal("each shard has a beginning of its own")
	}
	sum := o.b.summary("g")
	for i, input := range o.inputs() {
		left := int(sum.Accumulators[i].Counters.Received)
		if left < o.durable[input] || left > len(o.taken[input]) {
			o.t.Fatalf("%d of %d of %s are left, and %d were durable", left, len(o.taken[input]), input,
				o.durable[input])
		}
		o.taken[input], o.durable[input] = slices.Clip(o.taken[input][:left]), left
	}
}

// saved notes that all there is is durable.
func (o *operated) saved() {
	if o.mode == "none" {
		return
	}
	for input, list := range o.taken {
		o.durable[input] = len(list)
	}
}

// check compares what the graph says with what it has to.
func (o *operated) check() {
	o.t.Helper()
	time.Sleep(time.Second) // what is told of a graph may be as old
	synctest.Wait()
	if !o.there {
		return
	}
	s := o.b.summary("g")
	if s.Health != string(reactor.HealthLive) && !(o.paused && s.Health == "paused") || s.Paused != o.paused {
		o.t.Fatalf("%s %+v, paused %v and not %v", s.Health, s.HealthReason, s.Paused, o.paused)
	}
	if s.Counters.Received != int64(o.all()) {
		o.t.Fatalf("received %d, and was given %d", s.Counters.Received, o.all())
	}
	if o.paused { // what was pushed waits
		return
	}
	sums := map[string]int64{}
	for _, x := range o.taken["a"] {
		sums[o.key(x)] += x
	}
	if o.shards > 0 && s.Keys.Count != len(sums) {
		o.t.Fatalf("%d keys, and %d were pushed", s.Keys.Count, len(sums))
	}
	for key, sum := range sums {
		st, err := o.b.e.State(o.t.Context(), operatedRef, key)
		if err != nil {
			o.t.Fatal(err)
		}
		if got := string(st.Nodes["n"]); got != fmt.Sprint(sum) {
			o.t.Fatalf("key %s: the node has %s, and %d were pushed", key, got, sum)
		}
		if o.shards == 0 {
			o.checkLists(&st)
		}
	}
}

// checkLists compares the last batch, and the last values of a state.
func (o *operated) checkLists(st *api.State) {
	o.t.Helper()
	for input, open := range map[string]int{"b": len(o.taken["b"]) % 3, "s": 0} {
		list := o.taken[input]
		list = list[:len(list)-open]
		list = list[max(0, len(list)-3):]
		want, err := json.Marshal(list)
		if err != nil {
			o.t.Fatal(err)
		}
		if got := string(st.Nodes[input+"3"]); got != string(want) && (len(list) > 0 || got != "[]") {
			o.t.Fatalf("%s: the node has %s, want %s of %v", input, got, want, o.taken[input])
		}
	}
}

// live is one life of a graph. Failures name what was done.
func (o *operated) live(length int) {
	defer func() {
		if o.t.Failed() {
			o.t.Logf("after: %s", strings.Join(o.did, ", "))
		}
		_ = o.b.e.Close() // what it says of a graph that has failed is told above
		for _, b := range o.dead {
			_ = b.e.Close() // it finds that it is fenced
		}
	}()
	o.forget()
	o.start()
	for range length {
		ctx, cancel := context.WithTimeout(o.t.Context(), time.Hour)
		s := steps[o.rng.IntN(len(steps))]
		if o.rng.IntN(3) == 0 {
			s = steps[0]
		}
		if !o.there && !strings.Contains(s.name, "process") {
			s = step{"apply", func(o *operated, ctx context.Context) error {
				if err := o.update(ctx); err != nil {
					return err
				}
				synctest.Wait()
				o.lose()
				return nil
			}}
		}
		o.did = append(o.did, s.name)
		was := *o
		if err := s.do(o, ctx); err != nil {
			o.did[len(o.did)-1] += fmt.Sprintf(" (%v)", err)
			if !slices.Contains([]string{"step"}, s.name) {
				o.t.Fatal(err)
			}
			o.paused, o.there = was.paused, was.there
		}
		cancel()
		o.check()
		o.did[len(o.did)-1] += fmt.Sprintf(" %d", o.all())
	}
}

// M29, M33, M54: whatever operators do to a graph, in whatever order and between whatever crashes, it runs on with all
// that its durability promises. OPERATED_SEED names one life, OPERATED_MANY how many there are.
func TestOperatorsDoNotBreakAGraph(t *testing.T) {
	many, first := 60, uint64(0)
	for name, into := range map[string]any{"OPERATED_SEED": &first, "OPERATED_MANY": &many} {
		if text := os.Getenv(name); text != "" {
			if _, err := fmt.Sscan(text, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	if os.Getenv("OPERATED_SEED") != "" {
		many = 1
	}
	for seed := first; seed < first+uint64(many); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				o := &operated{t: t, rng: rng, got: &receiver{}, store: lasting{memstore.NewSeeded(seed)},
					mode: []string{"journal", "checkpoint", "none"}[rng.IntN(3)]}
				if rng.IntN(2) == 0 {
					o.shards = 1 + rng.IntN(4)
					o.mode = []string{"journal", "none"}[rng.IntN(2)]
				}
				o.live(40)
			})
		})
	}
}
