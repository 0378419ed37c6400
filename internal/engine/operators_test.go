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
	pushed  int64   // the last number that was pushed
	taken   []int64 // what the graph has taken in since its state began
	durable int     // of those, how many a crash leaves at least
	did     []string
}

var operatedRef = api.Ref{Tenant: "default", Name: "g"}

// document is the declaration.
func (o *operated) document() string {
	doc := "graph: g\naccumulators:\n  a:\n    strategy: sequential\n    fold: { init: { n: 0, sum: 0 }, " +
		"step: { n: state.n + 1, sum: state.sum + event.x } }\n"
	if o.shards > 0 {
		doc = "graph: g\nreactor: { key: k, shards: " + strconv.Itoa(o.shards) + " }\naccumulators:\n  a:\n" +
			"    strategy: sequential\n    fold: { key: event.k, init: { n: 0, sum: 0 }, " +
			"step: { n: state.n + 1, sum: state.sum + event.x } }\n"
	}
	doc += "nodes: { n: { expr: a.sum } }\noutputs:\n  o: { from: n, sink: { stdout: {} } }\n"
	for i := range o.outputs {
		doc += fmt.Sprintf("  o%d: { from: n, sink: { drop: {} } }\n", i)
	}
	return doc + "durability: { mode: " + o.mode + ", interval: 1h }\n"
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
		o.taken, o.durable = nil, 0
		return
	}
	if o.mode == "journal" {
		o.durable = len(o.taken)
	}
	if o.shards > 0 && o.mode == "checkpoint" {
		o.t.Fatal("each shard has a beginning of its own")
	}
	left := int(o.b.summary("g").Counters.Received)
	if left < o.durable || left > len(o.taken) {
		o.t.Fatalf("%d of %d are left, and %d were durable", left, len(o.taken), o.durable)
	}
	o.taken, o.durable = o.taken[:left], left
}

// saved notes that all there is is durable.
func (o *operated) saved() {
	if o.mode != "none" {
		o.durable = len(o.taken)
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
	if s.Counters.Received != int64(len(o.taken)) {
		o.t.Fatalf("received %d, and was given %d", s.Counters.Received, len(o.taken))
	}
	if o.paused { // what was pushed waits
		return
	}
	sums := map[string]int64{}
	for _, x := range o.taken {
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
	}
}

// step is one thing that is done to it.
type step struct {
	name string
	do   func(o *operated, ctx context.Context) error
}

// steps are all that may be done; a refusal is told by its code.
var steps = []step{
	{"push", func(o *operated, _ context.Context) error {
		for range 1 + o.rng.IntN(4) {
			o.pushed++
			event := fmt.Sprintf(`{"x":%d,"k":"k%d"}`, o.pushed, o.pushed%5)
			res, err := o.b.e.Push(o.t.Context(), operatedRef, "a", []json.RawMessage{[]byte(event)})
			if err != nil {
				return err
			}
			if res.Accepted != 1 {
				o.t.Fatalf("push: %+v", res)
			}
			o.taken = append(o.taken, o.pushed)
		}
		return nil
	}},
	{"pause", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Pause(ctx, operatedRef, "op")
		if err == nil {
			o.paused = true
			o.saved()
		}
		return err
	}},
	{"resume", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Resume(ctx, operatedRef, "op")
		if err == nil {
			o.paused = false
		}
		return err
	}},
	{"step", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Step(ctx, operatedRef, 1)
		return err
	}},
	{"force", func(o *operated, ctx context.Context) error {
		req := api.FireRequest{Mode: "force"}
		if len(o.taken) == 0 {
			return nil
		}
		if o.shards > 0 {
			req.Key = json.RawMessage(o.key(o.taken[0]))
		}
		_, err := o.b.e.Fire(ctx, operatedRef, req)
		return err
	}},
	{"checkpoint", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Checkpoint(ctx, operatedRef)
		if err == nil {
			o.saved()
		}
		return err
	}},
	{"restart", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Restart(ctx, operatedRef, "", "op")
		synctest.Wait()
		if err == nil {
			o.lose()
		}
		return err
	}},
	{"restart the input", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Restart(ctx, operatedRef, "a", "op")
		return err
	}},
	{"reset", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Reset(ctx, operatedRef, "g", "op")
		if err == nil {
			o.taken, o.durable = nil, 0
		}
		return err
	}},
	{"stop the input", func(o *operated, ctx context.Context) error {
		if _, err := o.b.e.StopPart(ctx, operatedRef, api.Part{Accumulator: "a"}, "op"); err != nil {
			return err
		}
		_, err := o.b.e.StartPart(ctx, operatedRef, api.Part{Accumulator: "a"}, "op")
		return err
	}},
	{"stop the output", func(o *operated, ctx context.Context) error {
		if _, err := o.b.e.StopPart(ctx, operatedRef, api.Part{Output: "o"}, "op"); err != nil {
			return err
		}
		_, err := o.b.e.StartPart(ctx, operatedRef, api.Part{Output: "o"}, "op")
		return err
	}},
	{"another output", func(o *operated, ctx context.Context) error {
		o.outputs = 1 - o.outputs
		return o.update(ctx)
	}},
	{"another durability", func(o *operated, ctx context.Context) error {
		before := o.mode
		o.mode = []string{"journal", "checkpoint", "none"}[o.rng.IntN(3)]
		if o.shards > 0 { // where a crash leaves a beginning of each shard's
			o.mode = []string{"journal", "none"}[o.rng.IntN(2)]
		}
		if before == o.mode {
			return nil
		}
		if before == "none" { // which leaves nothing to who comes after it
			o.taken = nil
		}
		return o.update(ctx)
	}},
	{"another number of shards", func(o *operated, ctx context.Context) error {
		if o.shards == 0 || o.mode == "none" {
			return nil
		}
		if n := 1 + o.rng.IntN(4); n == o.shards {
			return nil
		} else {
			o.shards = n
		}
		return o.update(ctx)
	}},
	{"remove", func(o *operated, ctx context.Context) error {
		gone := o.rng.IntN(2) == 0
		err := o.b.e.Delete(ctx, operatedRef, gone)
		if err == nil {
			o.there = false
			o.saved()
			if gone || o.mode == "none" {
				o.taken, o.durable = nil, 0
			}
			if gone {
				o.paused = false
			}
		}
		return err
	}},
	{"stop the process", func(o *operated, _ context.Context) error {
		o.b.close()
		o.saved()
		o.start()
		o.lose()
		return nil
	}},
	{"lose the process", func(o *operated, _ context.Context) error {
		o.dead = append(o.dead, o.b)
		o.start()
		o.lose()
		return nil
	}},
}

func (o *operated) update(ctx context.Context) error {
	_, err := o.b.e.Apply(ctx, operatedRef, []byte(o.document()), api.Change{})
	if err == nil {
		o.there = true
		o.saved()
		if o.mode == "none" {
			o.taken = nil
		}
	}
	return err
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
			o.paused, o.there, o.taken = was.paused, was.there, was.taken
		}
		cancel()
		o.check()
		o.did[len(o.did)-1] += fmt.Sprintf(" %d", len(o.taken))
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
