package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/kind"
)

// scripted are hands whose runs end in the order that a test says.
type scripted struct {
	h     *harness
	given map[string]*Run
	// ends are the nodes that are taken, one after the other; "" is that the time of the epoch is up.
	ends []string
	// looks is called before each is taken; nil for nobody.
	looks func(next string)
	// busy is the node that Drop names.
	busy string
}

func (h *harness) script(busy string, ends ...string) *scripted {
	s := &scripted{h: h, given: map[string]*Run{}, ends: ends, busy: busy}
	h.e.Hands = s
	return s
}

func (s *scripted) Give(w *Run) { s.given[s.h.plan.nodes[w.Node()].Name] = w }

func (s *scripted) Take(time.Duration, func() error) (*Run, error) {
	next := s.ends[0]
	s.ends = s.ends[1:]
	if s.looks != nil {
		s.looks(next)
	}
	if next == "" {
		return nil, ErrEpochTimeout
	}
	w := s.given[next]
	delete(s.given, next)
	w.Do()
	return w, nil
}

func (s *scripted) Drop() int {
	clear(s.given)
	if at, ok := s.h.nodes[s.busy]; ok {
		return at
	}
	return -1
}

func (*scripted) Away(int) int { return 0 }

// asked is what the last epoch asks for.
func (h *harness) asked() string {
	var list []string
	for _, w := range h.r.Wants() {
		list = append(list, h.plan.nodes[w.Node].Name)
	}
	return strings.Join(list, " ")
}

// M25: an epoch whose time is up has failed, also where it waits for an answer: another try would go on without what
// has not come back, as if nothing had been. Nothing is asked for it any more.
func TestM25NobodyIsAskedWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes:
  early: { http: { url: 'http://x', body: a } }
  away: { expr: a, lane: slow, on_error: skip }
  late: { http: { url: 'http://x', body: a + 1 } }
  again: { http: { url: 'http://x', body: early } }
  reads: { expr: '[early, away, late]' }
  third: { http: { url: 'http://x', body: reads } }
`)
	h.script("away", "")
	h.set("a", 1).run().fails(CodeEpochTimeout, "away").want("early idle; away failed; late idle; reads idle")
	if h.asked() != "" {
		t.Errorf("it asks for %s", h.asked())
	}
	h.script("", "away") // what waited for an answer then waits for none any more
	h.e.Answer = func(node int, _ *kind.Request) (*kind.Answer, bool) {
		return &kind.Answer{Status: 200, Body: []byte("7")}, node != h.nodes["again"] && node != h.nodes["third"]
	}
	if h.set("a", 2).run(); h.asked() != "again third" || h.r.Node(h.nodes["early"]).Status != Ran {
		t.Errorf("the next epoch asks for %q, %v", h.asked(), h.r.Err)
	}
}

// M25: an epoch that would be tried again, for it asks for something before a node that has failed, is not when its
// time is up.
func TestM25TimeIsUpBehindAFailure(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes:
  asks: { http: { url: 'http://x', body: a } }
  bad: { expr: 1 / (a - 1), lane: slow }
  away: { expr: a, lane: slow, on_error: skip }
`)
	h.script("away", "bad", "")
	if h.set("a", 1).run().fails(CodeEpochTimeout, "away"); h.asked() != "" {
		t.Errorf("it asks for %s", h.asked())
	}
	h.script("", "bad", "away")
	if h.set("a", 1).run(); h.asked() != "asks" {
		t.Errorf("with time it asks for %q, %v", h.asked(), h.r.Err)
	}
}

// M23: a node that stands behind the one that ends the epoch asks for nothing, although it was asked while that was
// out.
func TestM23WhatFailsBeforeAQuestion(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes:
  bad: { expr: 1 / (a - 1), lane: slow }
  asks: { http: { url: 'http://x', body: a } }
`)
	for _, hands := range []Hands{nil, newCrew(1)} {
		h.e.Hands = hands
		if h.set("a", 1).run().fails("not_finite", "bad"); h.asked() != "" {
			t.Errorf("it asks for %s", h.asked())
		}
		if h.set("a", 2).run(); h.asked() != "asks" {
			t.Errorf("it asks for %q, %v", h.asked(), h.r.Err)
		}
	}
}

// drawCalls is a declaration of nodes that compute, in lanes and beside them, and of nodes that call.
func drawCalls(rnd *rand.Rand) string {
	var b strings.Builder
	b.WriteString("lanes:\n  p: { pool: { max_threads: 2 } }\n" +
		"  q: { pool: { queue_capacity: 1, overflow: drop_newest } }\nnodes:\n")
	names := []string{"a", "b"}
	for i := range 10 {
		one, two := names[rnd.IntN(len(names))], names[rnd.IntN(len(names))]
		term := fmt.Sprintf("(%s ?? 0) + (%s ?? 1)", one, two)
		if rnd.IntN(3) == 0 {
			term = fmt.Sprintf("12 / ((%s ?? 0) %% 4)", one)
		}
		fmt.Fprintf(&b, "  n%d: { on_error: %s, priority: %s, ", i,
			[]string{"fail_epoch", "skip", "last_good", "dead_letter"}[rnd.IntN(4)],
			[]string{"high", "normal", "low"}[rnd.IntN(3)])
		if rnd.IntN(3) == 0 {
			fmt.Fprintf(&b, "http: { url: 'http://x', body: '%s' } }\n", term)
		} else {
			fmt.Fprintf(&b, "expr: '%s'%s }\n", term, []string{"", ", lane: p", ", lane: q"}[rnd.IntN(3)])
		}
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return b.String()
}

// M15, M23: nodes that call and nodes of pools in one plan come to the same as inline, for any number of workers: what
// is asked for among it.
func TestM23CallsBesideLanes(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		doc := drawCalls(rnd)
		h := start(t, "a* b", doc)
		var pooled [3]Result
		for epoch := range 12 {
			if rnd.IntN(2) == 0 {
				h.set("b", rnd.IntN(6))
			}
			h.set("a", rnd.IntN(6))
			known := rnd.IntN(4)
			h.e.Answer = func(node int, r *kind.Request) (*kind.Answer, bool) {
				id := r.ID()
				n := int(id[0]) + node + epoch
				a := &kind.Answer{Status: 200, Body: fmt.Appendf(nil, "%d", n%5)}
				if n%7 == 0 {
					a.Status = 404
				}
				return a, n%4 <= known
			}
			h.e.Hands = nil
			h.run()
			e := h.e
			for k, threads := range []int{1, 2, 8} {
				e.Hands = newCrew(threads)
				h.plan.Run(h.st, &e, &pooled[k])
				err := sameResults(h.plan, &pooled[k], &h.r)
				if !slices.EqualFunc(pooled[k].Wants(), h.r.Wants(), func(a, b Want) bool {
					return a.Node == b.Node && a.Request.ID() == b.Request.ID()
				}) {
					err = fmt.Errorf("asked for %v, want %v", pooled[k].Wants(), h.r.Wants())
				}
				if err != nil {
					t.Fatalf("seed %d, epoch %d, %d workers: %v\n%s", seed, epoch, threads, err, doc)
				}
			}
			switch {
			case len(h.r.Wants()) > 0:
				seen["asked"]++
			case h.r.Err != nil:
				seen["failed"]++
			default:
				seen["kept"]++
				h.plan.Commit(h.st, &h.r)
			}
		}
	}
	for _, what := range []string{"asked", "failed", "kept"} {
		if seen[what] < 100 {
			t.Errorf("only %d epochs %s: the comparison is void", seen[what], what)
		}
	}
}
