package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// siblings is a graph of two inputs with an output each, and one that delivers nothing.
const siblings = `graph: g
description: "%s"
accumulators:
  a: { source: { generator: { every: 1s, expr: i } }, strategy: sequential }
  b: { strategy: sequential }
nodes: { x: { expr: a }, y: { expr: b } }
outputs:
  oa: { from: x, sink: { stdout: {} } }
  ob: { from: y, sink: { stdout: {} } }
  seen: { from: y, sink: { drop: {} } }
durability: { mode: %s }
`

// siblingBed runs it; a is fed by a source that goes on, an event each 100 ms, behind the
// position that it is given.
type siblingBed struct {
	*bed
	oa, ob *picky
	store  checkpoint.Store
}

func newSiblings(t *testing.T) *siblingBed {
	s := &siblingBed{oa: &picky{}, ob: &picky{}, store: lasting{memstore.New()}}
	s.begin(t)
	return s
}

func (s *siblingBed) begin(t *testing.T) {
	s.bed = newBed(t, s.store, &scripted{
		sink: into(map[string]sink.Sink{"oa": s.oa, "ob": s.ob}),
		source: func(name string) accumulator.Source {
			if name != "a" {
				return nil
			}
			return sourceFunc(func(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
				at := int64(0)
				if len(from) > 0 {
					at = from[0].Offset
				}
				out.Health(accumulator.Live, "")
				for tick := time.Tick(100 * time.Millisecond); ; {
					select {
					case <-ctx.Done():
						return nil
					case <-tick:
					}
					at++
					ev := boundary.Event{Raw: fmt.Append(nil, at), Pos: boundary.Position{Offset: at}}
					if out.Emit(ctx, []boundary.Event{ev}) != nil {
						return nil
					}
				}
			})
		},
	})
}

func (s *siblingBed) ref() api.Ref { return api.Ref{Tenant: "default", Name: "g"} }

func (s *siblingBed) stop(p api.Part) api.GraphSummary {
	s.t.Helper()
	sum, err := s.e.StopPart(s.t.Context(), s.ref(), p, "ann")
	if err != nil {
		s.t.Fatalf("stop %+v: %v", p, err)
	}
	return sum
}

func (s *siblingBed) start(p api.Part) api.GraphSummary {
	s.t.Helper()
	sum, err := s.e.StartPart(s.t.Context(), s.ref(), p, "ann")
	if err != nil {
		s.t.Fatalf("start %+v: %v", p, err)
	}
	return sum
}

// sofar is how many values oa has, which are those from 1 on without a gap or a double.
func (s *siblingBed) sofar(p *picky) int {
	s.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	n := len(p.took)
	p.mu.Unlock()
	if want := fmt.Sprint(numbers(1, n, 1, 0)); p.taken() != want {
		s.t.Fatalf("took %s, want %s", p.taken(), want)
	}
	return n
}

// M11, W27, M42: an input that is stopped alone reads nothing and refuses what is pushed, its
// sibling goes on, and the start goes on where it was; over restarts and an update too.
func TestM11StopOneInput(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t)
				s.apply(fmt.Sprintf(siblings, "one", mode), "g")
				time.Sleep(1050 * time.Millisecond)
				sum := s.stop(api.Part{Accumulator: "a"})
				had := s.sofar(s.oa)
				if had != 10 {
					t.Fatalf("%d values before the stop", had)
				}
				still := func(sum api.GraphSummary) {
					t.Helper()
					a, b := &sum.Accumulators[0], &sum.Accumulators[1]
					if a.Health != "stopped" || a.Stopped == nil || a.Stopped.By != "ann" ||
						!strings.Contains(a.HealthReason.Detail, "ann") ||
						b.Health != "socket_only" || b.Stopped != nil {
						t.Errorf("%+v %+v, %+v", a, a.HealthReason, b)
					}
					if sum.Health != "live" || len(sum.Degraded) > 0 || sum.HealthReason == nil ||
						sum.HealthReason.Code != "part_stopped" {
						t.Errorf("%s %v %+v", sum.Health, sum.Degraded, sum.HealthReason)
					}
				}
				still(sum)
				refused := func() {
					t.Helper()
					_, err := s.e.Push(t.Context(), s.ref(), "a", []json.RawMessage{[]byte("7"), []byte("8")})
					if e := new(api.Error); !errors.As(err, &e) || e.Status != http.StatusConflict ||
						e.Code != "input_stopped" {
						t.Errorf("a push to it: %v", err)
					}
				}
				refused()
				s.push("g", "b", "1", "2")
				time.Sleep(time.Minute)
				if n := s.sofar(s.oa); n != had || s.sofar(s.ob) != 2 {
					t.Fatalf("%d values of the stopped input, its sibling has %s", n, s.ob.taken())
				}
				s.close()
				s.begin(t)
				defer func() { s.close() }()
				time.Sleep(time.Second)
				still(s.summary("g"))
				refused()
				if _, err := s.reapply(fmt.Sprintf(siblings, "two", mode)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				still(s.summary("g"))
				refused()
				s.push("g", "b", "3")
				time.Sleep(time.Minute)
				if c := s.summary("g").Accumulators[0].Counters; c.Rejected != 6 || c.Received != int64(had)+6 ||
					c.Consumed != int64(had) {
					t.Errorf("books of the stopped input: %+v", c)
				}
				sum = s.start(api.Part{Accumulator: "a"})
				if sum.Health != "live" || sum.HealthReason != nil || sum.Accumulators[0].Health != "live" {
					t.Errorf("%s %+v %s", sum.Health, sum.HealthReason, sum.Accumulators[0].Health)
				}
				time.Sleep(1050 * time.Millisecond)
				if n := s.sofar(s.oa); n != had+10 || s.sofar(s.ob) != 3 {
					t.Errorf("%d values after the start", n)
				}
			})
		})
	}
}

// M11, M30: of an output that is stopped alone the values wait, its sibling's are delivered,
// and the start delivers them in order; over restarts too. One that delivers nothing is refused.
func TestM11StopOneOutput(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t)
				s.apply(fmt.Sprintf(siblings, "one", mode), "g")
				time.Sleep(1050 * time.Millisecond)
				sum := s.stop(api.Part{Output: "oa"})
				if o := sum.Outputs[0]; o.Stopped == nil || o.Stopped.By != "ann" || sum.Health != "live" {
					t.Errorf("%+v, %s", o, sum.Health)
				}
				had := s.sofar(s.oa)
				s.push("g", "b", "1")
				time.Sleep(time.Second)
				if s.sofar(s.oa) != had || s.sofar(s.ob) != 1 {
					t.Fatalf("the stopped output has %s, its sibling %s", s.oa.taken(), s.ob.taken())
				}
				if o := s.summary("g").Outputs[0]; o.Pending != 10 || o.Error != "" {
					t.Errorf("%+v", o)
				}
				began := time.Now()
				s.close()
				if d := time.Since(began); d > time.Second {
					t.Errorf("a stopped output held the shutdown up for %v", d)
				}
				s.begin(t)
				defer func() { s.close() }()
				s.push("g", "b", "2")
				time.Sleep(time.Second)
				if o := s.summary("g").Outputs[0]; s.sofar(s.oa) != had || s.sofar(s.ob) != 2 || o.Stopped == nil {
					t.Fatalf("after a restart it has %s, its sibling %s, %+v", s.oa.taken(), s.ob.taken(), o)
				}
				s.stop(api.Part{Accumulator: "a"}) // so that there is an end
				if o := s.start(api.Part{Output: "oa"}).Outputs[0]; o.Stopped != nil {
					t.Errorf("%+v", o)
				}
				time.Sleep(time.Second)
				sum = s.summary("g")
				if n := s.sofar(s.oa); int64(n) != sum.Accumulators[0].Counters.Consumed || n < had+15 ||
					sum.Outputs[0].Pending != 0 {
					t.Errorf("%d values in the end, %+v", n, sum.Accumulators[0].Counters)
				}
				_, err := s.e.StopPart(t.Context(), s.ref(), api.Part{Output: "seen"}, "ann")
				wantCode(t, err, http.StatusConflict, "output_not_stoppable", "seen")
				_, err = s.e.StopPart(t.Context(), s.ref(), api.Part{Output: "sen"}, "ann")
				wantCode(t, err, http.StatusNotFound, "output_not_found")
				_, err = s.e.StartPart(t.Context(), s.ref(), api.Part{Accumulator: "c"}, "ann")
				wantCode(t, err, http.StatusNotFound, "accumulator_not_found")
			})
		})
	}
}

// M11, M30: of a stopped output with an outbox the values wait in the store, over a restart too;
// one whose rows are part of the commit cannot be stopped.
func TestM11StopAnOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, o := api.Ref{Tenant: "default", Name: "g"}, api.Part{Output: "o"}
		got, store := &picky{}, lasting{memstore.New()}
		kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
		b := newBed(t, store, kinds())
		b.apply(fmt.Sprintf(outboxed, ""), "g")
		b.push("g", "a", "1")
		time.Sleep(time.Second)
		if _, err := b.e.StopPart(t.Context(), g, o, "ann"); err != nil {
			t.Fatal(err)
		}
		b.push("g", "a", "2", "3")
		time.Sleep(time.Minute)
		b.close()
		b = newBed(t, store, kinds())
		b.push("g", "a", "4")
		time.Sleep(time.Minute)
		if s := b.summary("g").Outputs[0]; s.Pending != 3 || s.Stopped == nil || got.taken() != "[10]" {
			t.Errorf("%+v, took %s", s, got.taken())
		}
		if _, err := b.e.StartPart(t.Context(), g, o, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := b.summary("g").Outputs[0]; s.Pending != 0 || got.taken() != "[10 20 30 40]" {
			t.Errorf("%+v, took %s", s, got.taken())
		}
		b.close()
		memory := memstore.New()
		memory.MakeTable("t", "n")
		b = newBed(t, lasting{memory}, &scripted{sink: func(string) sink.Sink { return &table{} }})
		defer b.close()
		b.apply(fmt.Sprintf(outboxed, ""), "g")
		_, err := b.e.StopPart(t.Context(), g, o, "ann")
		wantCode(t, err, http.StatusConflict, "output_not_stoppable", "commit")
	})
}

// M11, M45: what is stopped stays so when another daemon takes the graph.
func TestM11StoppedOverATakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		_, err := d.b.e.StopPart(t.Context(), g, api.Part{Accumulator: "a"}, "ann")
		wantCode(t, err, http.StatusConflict, "graph_standby")
		if _, err := d.a.e.StopPart(t.Context(), g, api.Part{Accumulator: "a"}, "ann"); err != nil {
			t.Fatal(err)
		}
		d.viewA.set(true, 0)
		d.b.until("g", reactor.HealthLive, time.Minute)
		if a := d.b.summary("g").Accumulators[0]; a.Health != "stopped" || a.Stopped.By != "ann" {
			t.Errorf("%+v", a)
		}
		_, err = d.b.e.Push(t.Context(), g, "a", []json.RawMessage{[]byte("1")})
		wantCode(t, err, http.StatusConflict, "input_stopped")
		d.viewA.set(false, 0)
	})
}

// M11, M46, M42: the values of a graph that feeds a stopped input wait there, and are neither
// refused nor missing after the start; the books of both are exact.
func TestM11StopAnInputThatAGraphFeeds(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				defer b.close()
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				b.apply(fmt.Sprintf(docs[1], ""), "down")
				b.push("up", "a", numbers(1, 20, 1, 0)...)
				time.Sleep(time.Second)
				down, part := api.Ref{Tenant: "default", Name: "down"}, api.Part{Accumulator: "b"}
				if _, err := b.e.StopPart(t.Context(), down, part, "ann"); err != nil {
					t.Fatal(err)
				}
				b.push("up", "a", numbers(21, 60, 1, 0)...)
				if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "down"}, "", "ann"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if want := fmt.Sprint(numbers(1, 20, 10, 1)); end.taken() != want {
					t.Fatalf("took %s, want %s", end.taken(), want)
				}
				if up := b.summary("up"); up.Health != "live" || up.Outputs[0].Pending != 40 {
					t.Errorf("%s, %+v", up.Health, up.Outputs[0])
				}
				if _, err := b.e.StartPart(t.Context(), down, part, "ann"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if want := fmt.Sprint(numbers(1, 60, 10, 1)); end.taken() != want {
					t.Errorf("took %s, want %s", end.taken(), want)
				}
				if c := b.summary("down").Counters; c.Received != 60 || c.Consumed != 60 {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// M8, M10, M11: a graph that waits for all names the stopped input, and a start of the graph
// does not wait for it to be healthy.
func TestM11WhenAllWaitsForAStoppedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: {}, b: {} }\nreactor: { when: all }\nnodes: { n: { expr: a + b } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		g := api.Ref{Tenant: "default", Name: "g"}
		if _, err := b.e.StopPart(t.Context(), g, api.Part{Accumulator: "a"}, "ann"); err != nil {
			t.Fatal(err)
		}
		b.push("g", "b", "1")
		if s := b.summary("g"); s.Epoch != 0 || fmt.Sprint(s.WaitingFor) != "[a]" || s.Health != "live" {
			t.Errorf("epoch %d, waiting for %v, %s", s.Epoch, s.WaitingFor, s.Health)
		}
	})
}

// M11: what is stopped or goes on already is left alone: its source is not ended and begun again.
func TestM11StopAndStartTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t)
		defer s.close()
		s.apply(fmt.Sprintf(siblings, "one", "checkpoint"), "g")
		a := api.Part{Accumulator: "a"}
		restarts := func(what string, want int) {
			t.Helper()
			time.Sleep(time.Second) // what is told may be a little old
			if got := s.summary("g").Accumulators[0].Restarts; got != want {
				t.Errorf("%s: restarted %d times, want %d", what, got, want)
			}
		}
		s.start(a)
		restarts("a start of what goes on", 0)
		s.stop(a)
		s.stop(a)
		restarts("two stops", 1)
		s.start(a)
		s.start(a)
		restarts("two starts", 2)
	})
}
