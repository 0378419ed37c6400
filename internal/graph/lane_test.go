package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// crew are the workers of a test: goroutines that evaluate so many runs of each pool at a time, in whatever order.
type crew struct {
	threads int
	places  map[int]chan struct{}
	done    chan *Run
	given   int
	away    map[int]int
	// late lets Take say at once that the time of the epoch is up.
	late bool
}

func newCrew(threads int) *crew {
	return &crew{threads: threads, places: map[int]chan struct{}{}, done: make(chan *Run, 100), away: map[int]int{}}
}

func (c *crew) Give(w *Run) {
	c.given++
	if c.late {
		return
	}
	if c.places[w.Lane()] == nil {
		c.places[w.Lane()] = make(chan struct{}, c.threads)
	}
	place := c.places[w.Lane()]
	go func() { // joined by Take, which is asked for each
		place <- struct{}{}
		w.Do()
		<-place
		c.done <- w
	}()
}

func (c *crew) Take(_ time.Duration, interrupt func() error) (*Run, error) {
	if c.late {
		return nil, interrupt()
	}
	return <-c.done, nil
}

func (c *crew) Drop() int {
	c.away[-1]++
	return -1
}

func (c *crew) Away(node int) int { return c.away[node] }

// pool makes the plan of the world's declaration with nodes in pools; those of loops are in none.
func (w *world) pool(t *testing.T, inputs []Input, seed uint64, capacity int, overflow string) *Plan {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 2))
	decl := *w.decl
	decl.Nodes = slices.Clone(decl.Nodes)
	for _, name := range []string{"p", "q"} {
		decl.Lanes = append(decl.Lanes, spec.Lane{Name: name, Kind: lanes.Pool, MaxThreads: 2, QueueCapacity: capacity,
			Overflow: overflow, Reentrant: 1})
	}
	for i := range decl.Nodes {
		n := &decl.Nodes[i]
		if looped := slices.ContainsFunc(w.decl.Loops, func(l spec.Loop) bool {
			return slices.ContainsFunc(l.Nodes, func(of cycles.Name) bool { return of.Name == n.Name })
		}); !looped && n.Lane.Name == "" && rnd.IntN(4) > 0 {
			n.Lane.Name = []string{"p", "q"}[rnd.IntN(2)]
		}
	}
	plan, diagnostics := Compile(&decl, inputs, nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatalf("SIM_SEED=%d: with lanes: %v\n%s", seed, err, w)
	}
	return plan
}

// runPooled runs the epoch that w.r has just been through with nodes in pools, by 1, 2 and 8 workers: to the same, and
// where the pools have no room for all, to the same as inline.
func (w *world) runPooled(e Epoch, seen map[string]int) error {
	e.Interrupt = nil
	for k, p := range w.pooled {
		want := w.r
		if k > 0 {
			want = &Result{}
			p.Run(w.st, &e, want)
			for i := range p.nodes {
				if err := want.Node(i).Err; err != nil && err.Code == CodeLaneOverflow {
					seen["no room in a lane"]++
				}
			}
		}
		for _, threads := range []int{1, 2, 8} {
			hands, got := newCrew(threads), &Result{}
			e.Hands = hands
			p.Run(w.st, &e, got)
			if err := sameResults(p, got, want); err != nil {
				return fmt.Errorf("plan %d, %d workers: %w", k, threads, err)
			}
			if seen["in a lane"] += hands.given; got.Err != nil && hands.given > 1 {
				seen["failed with lanes"]++
			}
		}
		e.Hands = nil
	}
	return nil
}

const crowded = `
lanes: { slow: { pool: { queue_capacity: 2, overflow: %s } } }
nodes:
  one: { expr: a + 1, lane: slow, on_error: skip }
  two: { expr: a + 2, lane: slow, on_error: skip }
  beside: { expr: a + 9 }
  three: { expr: a + 3, lane: slow, on_error: skip }
  gated: { after: off, expr: a + 4, lane: slow }
  off: { route: { on: a > 100 } }
  sum: { expr: '(one ?? 0) + (two ?? 0) + (three ?? 0) + beside' }
outputs: { o: { from: sum, sink: { drop: {} } } }
`

// M23: what a pool has no room for is decided by the plan's order, and is an error of the node. It is the same inline
// and for any number of workers.
func TestM23OverflowOfALane(t *testing.T) {
	t.Parallel()
	for overflow, want := range map[string]string{
		"block":       "one ran 11; two ran 12; three ran 13; sum ran 55",
		"drop_oldest": "one failed 2; two ran 12; three ran 13; sum ran 46",
		"drop_newest": "one ran 11; two ran 12; three failed 4; sum ran 46",
		"reject":      "one ran 11; two ran 12; three failed; sum ran 42",
	} {
		for _, threads := range []int{0, 1, 8} {
			h := start(t, "a*", fmt.Sprintf(crowded, overflow))
			wide := start(t, "a*", fmt.Sprintf(crowded, "block"))
			wide.set("a", 1).fire()
			h.st = wide.st // as if there had been room before
			h.e = wide.e
			if threads > 0 {
				h.e.Hands = newCrew(threads)
			}
			h.set("a", 10).fire().want(want)
			var counts Counts
			if h.r.Count(&counts); (counts.Overflows == 1) != (overflow != "block") {
				t.Errorf("%s: %d overflows are counted", overflow, counts.Overflows)
			}
		}
	}
	for _, threads := range []int{0, 1, 8} {
		h := start(t, "a*", fmt.Sprintf(crowded, "fail_fast"))
		if threads > 0 {
			h.e.Hands = newCrew(threads)
		}
		h.set("a", 10).run().fails(CodeLaneOverflow, "three").emits("")
	}
}

// M23: what is not due, and what is after a route that was not taken, takes no room in a lane.
func TestM23IdleNodesTakeNoRoom(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{0, 2} {
		h := start(t, "a* b* c*", `
lanes: { slow: { pool: { queue_capacity: 1, overflow: reject } } }
nodes:
  one: { expr: a, lane: slow }
  two: { expr: b, lane: slow }
  three: { expr: c, lane: slow }
`)
		if threads > 0 {
			h.e.Hands = newCrew(threads)
		}
		h.set("a", 1).run() // every node is due in the first epoch, and two have nothing to read
		h.fails(CodeLaneOverflow, "two")
		h.st.stamp = h.e.Stamp
		h.set("b", 1).fire().want("one idle; two ran 1; three idle")
		h.set("c", 1).fire().want("one idle; two idle 1; three ran 1")

		h = start(t, "a*", `
lanes: { slow: { pool: { queue_capacity: 1, overflow: drop_oldest } } }
nodes:
  up: { route: { on: a > 0, off: true } }
  one: { after: up.on, expr: a, lane: slow }
  two: { after: up.off, expr: a, lane: slow }
`)
		if threads > 0 {
			h.e.Hands = newCrew(threads)
		}
		h.set("a", 1).fire().want("one ran 1; two skipped")
		h.set("a", -1).fire().want("one skipped; two ran -1")
	}
}

// M25: a node that does not come back in the time of its epoch makes that fail, and by name. While it is away it fails
// by its on_error, and in a graph with a journal the epoch does.
func TestM25NodeOfALaneThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ more, want, code string }{
		{"", "before ran 2; away failed; behind ran 1", ""},
		{"durability: { mode: journal }\n", "", CodeEpochTimeout},
	} {
		h := start(t, "a*", c.more+`
lanes: { slow: { pool: {} } }
nodes:
  before: { expr: a }
  away: { expr: before, lane: slow, on_error: skip }
  behind: { expr: 'away ?? 1' }
`)
		hands := newCrew(1)
		hands.late = true
		h.e.Hands = hands
		h.e.Clock = func() int64 { return 1 }
		h.e.Interrupt = func() error {
			if hands.given > 0 {
				return ErrEpochTimeout
			}
			return nil
		}
		h.set("a", 1).run().fails(CodeEpochTimeout, "away").want("before ran 1; away failed; behind idle")
		if !strings.Contains(h.r.Err.Text, "had not come back") || hands.away[-1] != 1 {
			t.Errorf("%q, dropped %d times", h.r.Err.Text, hands.away[-1])
		}
		given := hands.given
		h.e.Interrupt = nil
		hands.away[h.nodes["away"]] = 1
		h.set("a", 2).run()
		if c.code == "" {
			if h.r.Err != nil {
				t.Fatal(h.r.Err)
			}
			h.want(c.want)
			if code := h.r.Node(h.nodes["away"]).Err.Code; code != CodeStuckNode {
				t.Errorf("the node failed with %s", code)
			}
		} else {
			h.fails(c.code, "away")
		}
		if hands.given != given {
			t.Error("a node that is away was run again")
		}
	}
}

// M21: a panic of a node of a lane is its error, and what it came to before is not seen.
func TestM21PanicInALane(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes:
  bad: { expr: a, lane: slow, on_error: skip }
  good: { expr: a + 1, lane: slow }
`)
	h.plan.steps[h.nodes["bad"]].program = panicking{"boom"}
	h.e.Hands = newCrew(2)
	for i := range 3 {
		h.set("a", i).fire().want(fmt.Sprintf("bad failed; good ran %d", i+1))
		if err := h.r.Node(h.nodes["bad"]).Err; err.Code != CodePanic || err.Stack == "" {
			t.Errorf("got %+v", err)
		}
	}
}

// slowly is an evaluator that changes nothing and takes its time.
type slowly struct{ spend func() }

func (s slowly) Eval(*expression.Env) (boundary.Value, error) {
	s.spend()
	return boundary.Int(1), nil
}

// M25: a budget counts what the node itself takes, and on_overrun is heeded in a lane too.
func TestM25BudgetInALane(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]string{
		"record": "slow ran 1", "degrade": "slow failed", "cancel_epoch": "slow failed 1",
	} {
		h := start(t, "a*", `
lanes: { pool: { pool: {} } }
nodes: { slow: { expr: a, lane: pool, budget: 5ns, on_overrun: `+on+` } }
`)
		var now atomic.Int64
		h.plan.steps[0].program = slowly{func() { now.Add(10) }}
		h.e.Clock = now.Load
		h.e.Hands = newCrew(1)
		h.set("a", 1).run().want(want)
		if (h.r.Err != nil) != (on == "cancel_epoch") {
			t.Errorf("%s: %v", on, h.r.Err)
		}
	}
}

// M47: what cannot be in a pool is refused, and by its reason.
func TestWhatCannotBeInALane(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]string{
		"n: { expr: 'ema(a, 3)', lane: slow }":                              "ema remembers",
		"n: { http: { url: 'http://x', body: a }, lane: slow }":             "what n calls is called beside the epoch",
		"n: { expr: 't[a]', lane: slow }":                                   "looks rows of t up",
		"n: { expr: 'm ?? a', lane: slow }, m: { expr: n, on_error: skip }": "runs in the loop",
	} {
		text := "graph: g\naccumulators: { a: { strategy: sequential }, t: {} }\n" +
			"lanes: { slow: { pool: {} }, fast: { event_loop: {} } }\nnodes: { " + rest + " }\n"
		if strings.Contains(rest, "m: ") {
			text += "loops: { l: { nodes: [n, m] } }\n"
		}
		compiled := func(text string) spec.Diagnostics {
			g := parse(t, text)
			inputs := inputsOf(g)
			inputs[1].Type = expression.TableOf(expression.Any(), expression.Any())
			_, diagnostics := Compile(g, inputs, nodetest.Nodes())
			return diagnostics
		}
		diagnostics := compiled(text)
		err := diagnostics.Err()
		if err == nil || !strings.Contains(err.Error(), want) || diagnostics[0].Code != spec.CodeConflict {
			t.Errorf("%s: %v", rest, err)
		}
		more := compiled(strings.Replace(text, "lane: slow", "lane: fast", 1))
		if err := more.Err(); err != nil {
			t.Errorf("in an event loop: %v", err)
		}
	}
}
