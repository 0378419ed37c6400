package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// silence is a graph in which nothing comes, for one reason.
type silence struct {
	name  string
	doc   string // without "graph: g"
	kinds *scripted
	do    func(b *bed)
	ask   api.WhyNotQuery
	code  string // it is told under this code
	says  string // and its sentence has this
	first bool   // it is the sentence of the answer
	none  string // nothing that is told has this
	has   func(b *api.Because) bool
}

const drops = "\noutputs: { o: { from: n, sink: { drop: {} } } }\n"

func pushed(input string, events ...string) func(b *bed) {
	return func(b *bed) { b.push("g", input, events...) }
}

func valueIs(name, want string) func(b *api.Because) bool {
	return func(b *api.Because) bool { return string(b.Values[name]) == want }
}

// ofCriteria are those that keep an epoch from running.
var ofCriteria = []silence{
	{name: "criteria", doc: "accumulators: { a: {}, b: {} }\nreactor: { when: all }\nnodes: { n: { expr: '[a, b]' " +
		"} }" + drops,
		do: pushed("a", "1"), code: "waits_for_input", says: "waits for b: when: all takes something new of each; " +
			"a has come",
		first: true},
	{name: "max_wait", doc: "accumulators: { a: {}, b: {} }\nreactor: { when: all, max_wait: 1h }\n" +
		"nodes: { n: { expr: '[a, b ?? 0]' } }" + drops, do: pushed("a", "1"), code: "waits_for_input", first: true,
		has: func(b *api.Because) bool { return b.Until != nil && b.Until.Sub(time.Now()) > 59*time.Minute }},
	{name: "guard", doc: "accumulators: { a: { strategy: sequential }, limit: { passive: true } }\n" +
		"reactor: { guard: a.size > limit }\nnodes: { n: { expr: a.size } }" + drops,
		do: func(b *bed) { b.push("g", "limit", "5"); b.push("g", "a", `{"size":3}`) }, code: "guard_false",
		says: "the guard was false of what had come of a", first: true, has: func(b *api.Because) bool {
			return string(b.Values["limit"]) == "5" && string(b.Values["a"]) == `{"size":3}` && b.Events == 1
		}},
	{name: "guard_waits", doc: "accumulators: { a: { strategy: sequential }, limit: { passive: true } }\n" +
		"reactor: { guard: a.size > limit }\nnodes: { n: { expr: a.size } }" + drops,
		do: pushed("a", `{"size":3}`), code: "guard_waits", says: "waits for limit", first: true},
	{name: "rate_limit", doc: "accumulators: { a: { strategy: sequential } }\nreactor: { rate_limit: 1h }\n" +
		"nodes: { n: { expr: a } }" + drops, do: pushed("a", "1", "2"), code: "waits_for_timer", says: "waits for " +
		"rate_limit",
		first: true, has: func(b *api.Because) bool {
			return b.Until != nil &&
				b.Until.After(time.Now().Add(time.Minute))
		}},
	{name: "debounce", doc: "accumulators: { a: {} }\nreactor: { debounce: 1h }\nnodes: { n: { expr: a } }" + drops,
		do: pushed("a", "1"), code: "waits_for_timer", says: "waits for debounce", first: true,
		has: func(b *api.Because) bool { return b.Until != nil && b.Until.Sub(time.Now()) > 59*time.Minute }},
	{name: "every", doc: "accumulators: { a: {} }\nreactor: { every: 1h }\nnodes: { n: { expr: a } }" + drops,
		do: func(b *bed) { time.Sleep(time.Second); b.push("g", "a", "1") }, code: "waits_for_timer",
		says: "waits for every", first: true},
	{name: "paused", doc: "accumulators: { a: {} }\nnodes: { n: { expr: a } }" + drops, do: func(b *bed) {
		if _, err := b.e.Pause(b.t.Context(), api.Ref{Tenant: "default", Name: "g"}, "Ada"); err != nil {
			b.t.Fatal(err)
		}
		b.push("g", "a", "1")
	}, code: "paused", says: "paused by Ada", none: "something to fire on", first: true},
	{name: "secrets of a guard", doc: "vars: { least: 5 }\naccumulators: { a: { strategy: sequential } }\nreactor: { " +
		"guard: a > vars.least }\nnodes: { n: { expr: a } }" + drops, do: pushed("a", "3"), code: "guard_false",
		first: true, has: func(b *api.Because) bool { return len(b.Values) == 1 && string(b.Values["a"]) == "3" }},
	{name: "nothing", doc: "accumulators: { a: {} }\nnodes: { n: { expr: a } }" + drops, do: pushed("a", "1"),
		code: "nothing_new", says: "the newest epoch, 1, gave values", first: true},
	{name: "silent input", doc: "accumulators: { a: {} }\nnodes: { n: { expr: a } }" + drops, do: func(*bed) {},
		code: "input_silent", says: "nothing has ever come to input a", first: true},
	{name: "key unknown", doc: "accumulators: { a: { schema: { type: object, properties: { k: { type: string } } " +
		"} } }\nreactor: { key: k }\nnodes: { n: { expr: a.k } }" + drops, do: pushed("a", `{"k":"x"}`),
		ask: api.WhyNotQuery{Key: `"y"`}, code: "key_unknown", says: `has nothing for key "y"`, first: true},
	{name: "key waits", doc: "accumulators: { a: {}, b: {} }\nreactor: { key: k, when: all }\n" +
		"nodes: { n: { expr: '[a, b]' } }" + drops, do: func(b *bed) {
		b.push("g", "a", `{"k":"x"}`, `{"k":"y"}`)
		b.push("g", "b", `{"k":"y"}`)
	}, ask: api.WhyNotQuery{Key: `"x"`}, code: "waits_for_input", says: `key "x" waits for b`, first: true},
}

// ofEvents are those by which events come to nothing.
var ofEvents = []silence{
	{name: "where", doc: "accumulators: { a: { where: event.x > 5 } }\nnodes: { n: { expr: a.x } }" + drops,
		do: pushed("a", `{"x":3}`), code: "filtered_where", says: "the where of input a was false", first: true,
		has: valueIs("event", `{"x":3}`)},
	{name: "late", doc: "accumulators: { a: { time: event.t, time_unit: s, window: { tumbling: 10s, aggregate: { " +
		"n: count() } } } }\nnodes: { n: { expr: a } }" + drops,
		do: pushed("a", `{"t":946684700}`, `{"t":946684790}`, `{"t":946684701}`), code: "late",
		says: "came too late and was dropped: its time is 1999-12-31T23:58:21Z, and the watermark was at " +
			"1999-12-31T23:59:50Z, 1m29s later"},
	{name: "open window", doc: "accumulators: { a: { time: event.t, time_unit: s, window: { tumbling: 1h, " +
		"aggregate: { n: count() } } } }\nnodes: { n: { expr: a } }" + drops,
		do: pushed("a", `{"t":946684700}`), code: "window_open", says: "goes by pushes, whose newest event is of " +
			"1999-12-31T23:58:20Z",
		first: true},
	{name: "partition", doc: "accumulators: { a: { time: event.at, time_unit: s, window: { tumbling: 10s, " +
		"aggregate: { n: count() } } } }\nnodes: { n: { expr: a } }" + drops,
		kinds: &scripted{source: func(string) accumulator.Source { return sourceFunc(twoPartitions) }},
		do:    func(*bed) {}, code: "window_open", first: true, says: "the first window ends at " +
			"1970-01-01T00:01:50Z; the watermark is at 1970-01-01T00:01:43Z and goes by " +
			"partition p0, whose newest event is of " +
			"1970-01-01T00:01:43Z"},
	{name: "conflated", doc: "accumulators: { a: {} }\nreactor: { rate_limit: 1h }\nnodes: { n: { expr: a } }" + drops,
		do: func(b *bed) {
			for _, e := range []string{"1", "2", "3"} {
				b.push("g", "a", e)
			}
		}, code: "conflated", says: "a value of a was overwritten"},
	{name: "evicted", doc: "accumulators: { a: {}, b: {} }\nreactor: { key: k, when: all, max_keys: 1 }\n" +
		"nodes: { n: { expr: '[a, b]' } }" + drops, do: pushed("a", `{"k":"x"}`, `{"k":"y"}`), code: "key_evicted",
		ask: api.WhyNotQuery{Key: `"x"`}, says: "more keys than max_keys",
		has: func(b *api.Because) bool { return string(b.Key) == `"x"` }},
	{name: "full", doc: "accumulators: { a: {}, b: {} }\nreactor: { key: k, when: all, strategy: sequential, " +
		"max_waiting: 1 }\n" +
		"nodes: { n: { expr: '[a, b]' } }" + drops, do: pushed("a", `{"k":"x"}`, `{"k":"x"}`), code: "key_full",
		says: "could hold no more: more than the 1 boundaries of max_waiting"},
	{name: "rejected", doc: "accumulators: { a: { schema: { type: object, required: [x] } } }\nnodes: { n: { " +
		"expr: a } }" + drops,
		do: pushed("a", `{"y":1}`), code: "rejected", says: "input a has refused 1 event, and told who " +
			"pushed: 1 as against_schema"},
}

// ofAsking are those that depend on what is asked for.
var ofAsking = []silence{
	{name: "output from the reactor", doc: "accumulators: { a: {}, b: { where: event.x > 5 } }\n" +
		"outputs: { o: { from: reactor, sink: { drop: {} } } }\n", do: pushed("b", `{"x":3}`),
		ask: api.WhyNotQuery{Output: "o"}, code: "filtered_where", says: "the where of input b was false"},
	{name: "output of all", doc: "accumulators: { a: {}, b: { where: event.x > 5 } }\nreactor: { when: all }\n" +
		"nodes: { n: { expr: a } }" + drops, do: func(b *bed) { b.push("g", "a", "1"); b.push("g", "b", `{"x":3}`) },
		ask: api.WhyNotQuery{Output: "o"}, code: "filtered_where", says: "the where of input b was false"},
	{name: "another's event", doc: "accumulators: { a: { where: event.x > 5 } }\nreactor: { key: k }\n" +
		"nodes: { n: { expr: a.x } }" + drops, do: func(b *bed) {
		b.push("g", "a", `{"k":"x","x":9}`)
		time.Sleep(time.Second)
		b.push("g", "a", `{"k":"y","x":3}`)
	}, ask: api.WhyNotQuery{Key: `"x"`}, code: "nothing_new", says: "the newest epoch, 1, gave values", first: true},
	{name: "listed all the same", doc: "accumulators: { a: { where: event.x > 5 } }\nreactor: { key: k }\n" +
		"nodes: { n: { expr: a.x } }" + drops, do: pushed("a", `{"k":"x","x":9}`, `{"k":"y","x":3}`),
		ask: api.WhyNotQuery{Key: `"x"`}, code: "filtered_where", says: "the where of input a was false"},
	{name: "keys wait", doc: "accumulators: { a: {}, b: {} }\nreactor: { key: k, when: all, strategy: sequential }\n" +
		"nodes: { n: { expr: '[a, b]' } }" + drops, do: pushed("a", `{"k":"x"}`, `{"k":"y"}`, `{"k":"y"}`),
		code: "keys_wait", says: "waiting in keys: 3 boundaries"},
	{name: "dead letters", doc: "accumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: 1 / a } }" + drops,
		do: pushed("a", `0`), code: "dead_lettered", says: "input a has made dead letters of 1 event"},
	{name: "behind a join", doc: "accumulators:\n  a: { time: event.at, time_unit: s, where: event.x > 5 }\n" +
		"  b: { time: event.at, time_unit: s }\n  c: { where: event.x > 5 }\n  j: { join: { left: a, right: b, " +
		"on: k, within: 10s } }\nnodes: { n: { expr: j.k } }" + drops, do: func(b *bed) {
		b.push("g", "a", `{"k":"x","x":3,"at":946684700}`)
		b.push("g", "c", `{"x":3}`)
	}, ask: api.WhyNotQuery{Output: "o"}, code: "filtered_where", says: "the where of input a was false",
		none: "input c"},
	{name: "late for a join", doc: "accumulators:\n  a: { time: event.at, time_unit: s }\n  b: { time: event.at, " +
		"time_unit: s }\n  j: { join: { left: a, right: b, on: k, within: 10s } }\nnodes: { n: { expr: j.k } }" +
		drops, do: func(b *bed) {
		b.push("g", "a", `{"k":"x","at":946684700}`, `{"k":"x","at":946684900}`)
		b.push("g", "b", `{"k":"x","at":946684900}`)
		b.push("g", "b", `{"k":"x","at":946684700}`)
	}, code: "late", says: "came too late"},
}

// ofNodes are those by which an epoch gives nothing to an output.
var ofNodes = []silence{
	{name: "cut off", doc: "accumulators: { a: {} }\nnodes: { big: { expr: a > 5 }, n: { expr: 'big ? 1 : 0' } }" +
		drops,
		do: func(b *bed) { b.push("g", "a", "1"); b.push("g", "a", "2") }, code: "cut_off",
		says: "node big ran and came to what it was before", first: true, has: valueIs("big", "false")},
	{name: "route", doc: "accumulators: { a: {} }\nnodes:\n  size: { route: { large: a > 5, small: true } }\n" +
		"  n: { after: size.large, expr: a }" + drops, do: pushed("a", "1"), code: "route_not_taken",
		says: "node n comes after route size.large, and size took small", first: true, has: valueIs("size", `"small"`)},
	{name: "no route", doc: "accumulators: { a: {} }\nnodes:\n  size: { route: { large: a > 5 } }\n" +
		"  n: { after: size.large, expr: a }" + drops, do: pushed("a", "1"), code: "no_route", first: true},
	{name: "absent", doc: "accumulators: { a: {}, b: { passive: true } }\nnodes: { n: { expr: a + b } }" + drops,
		do: pushed("a", "1"), ask: api.WhyNotQuery{Output: "o"}, code: "no_value",
		says: "node n reads input b, which had no value"},
	{name: "not due", doc: "accumulators: { a: {}, b: {} }\nnodes: { n: { expr: b } }" + drops,
		do: func(b *bed) { b.push("g", "b", "1"); b.push("g", "a", "1") }, code: "not_due",
		says: "nothing new of b", first: true},
	{name: "null", doc: "accumulators: { a: {} }\nnodes: { n: { expr: 'a > 5 ? a : nil' } }" + drops,
		do: pushed("a", "1"), code: "output_null", first: true},
	{name: "output where", doc: "accumulators: { a: {} }\nnodes: { n: { expr: a } }\n" +
		"outputs: { o: { from: n, where: value > 5, sink: { drop: {} } } }\n", do: pushed("a", "1"),
		code:  "output_where",
		first: true, has: valueIs("n", "1")},
	{name: "unchanged", doc: "accumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: 'a % 2' } }\n" +
		"outputs: { o: { from: n, emit: on_change, sink: { drop: {} } } }\n", do: pushed("a", "1", "3"),
		code: "output_unchanged", first: true},
	{name: "failed", doc: "accumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: 1 / a } }" + drops,
		do: pushed("a", "0"), code: "epoch_failed", says: "node n: ", first: true},
	{name: "skipped failure", doc: "accumulators: { a: { strategy: sequential } }\n" +
		"nodes: { n: { expr: 1 / a, on_error: skip } }" + drops, do: pushed("a", "0"), code: "node_failed",
		first: true},
}

// twoPartitions gives events of two partitions, of which p0 is behind.
func twoPartitions(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	var batch []boundary.Event
	for i, at := range []int{103, 104, 115} {
		batch = append(batch, boundary.Event{Raw: fmt.Appendf(nil, `{"at":%d}`, at),
			Pos: boundary.Position{Stream: fmt.Sprintf("p%d", min(i, 1)), Offset: int64(at)}})
	}
	if err := out.Emit(ctx, batch); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func broken(context.Context, []boundary.Position, accumulator.Out) error {
	return errors.New("no such broker")
}

// ofOthers are those by which something else is in the way.
var ofOthers = []silence{
	{name: "sink", doc: "accumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }" + drops,
		kinds: &scripted{sink: func(string) sink.Sink {
			return &picky{fail: func([]sink.Message) error { return errors.New("connection refused") }}
		}}, do: pushed("a", "1"), code: "sink_blocks", says: "connection refused", first: true},
	{name: "output stopped", doc: "accumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }" + drops,
		kinds: &scripted{sink: func(string) sink.Sink { return &picky{} }}, do: func(b *bed) {
			stop(b, api.Part{Output: "o"})
			b.push("g", "a", "1")
		}, code: "output_stopped", says: "Ada has stopped output o alone"},
	{name: "input stopped", doc: "accumulators: { a: {} }\nnodes: { n: { expr: a } }" + drops,
		do: func(b *bed) { stop(b, api.Part{Accumulator: "a"}) }, code: "input_stopped", says: "Ada has stopped " +
			"input a"},
	{name: "input ill", doc: "accumulators: { a: {}, b: {} }\nnodes: { n: { expr: a } }" + drops,
		kinds: &scripted{source: func(name string) accumulator.Source {
			if name == "b" {
				return sourceFunc(broken)
			}
			return nil
		}}, do: func(*bed) { time.Sleep(time.Second) }, code: "input_unhealthy", says: "input b is "},
	{name: "failed graph", doc: "accumulators: { a: {} }\nreactor: { warm_timeout: 1s, on_warm_timeout: fail }\n" +
		"nodes: { n: { expr: a } }" + drops,
		kinds: &scripted{source: func(string) accumulator.Source { return sourceFunc(broken) }},
		do:    func(*bed) { time.Sleep(5 * time.Second) }, code: "warm_timeout", says: "the graph is failed",
		first: true},
}

func stop(b *bed, part api.Part) {
	b.t.Helper()
	if _, err := b.e.StopPart(b.t.Context(), api.Ref{Tenant: "default", Name: "g"}, part, "Ada"); err != nil {
		b.t.Fatal(err)
	}
}

// TestWhyNotNamesTheReason: of each graph in which nothing comes, why-not says why.
func TestWhyNotNamesTheReason(t *testing.T) {
	for _, s := range slices.Concat(ofCriteria, ofEvents, ofAsking, ofNodes, ofOthers) {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if s.kinds == nil {
					s.kinds = &scripted{}
				}
				b := newBed(t, memstore.New(), s.kinds)
				defer b.close()
				b.apply("graph: g\n"+s.doc, "g")
				s.do(b)
				time.Sleep(3 * time.Second) // for marks, and what sinks fail with
				synctest.Wait()
				w, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, s.ask)
				if err != nil {
					t.Fatal(err)
				}
				s.holds(t, &w)
			})
		})
	}
}

// holds checks an answer.
func (s *silence) holds(t *testing.T, w *api.WhyNot) {
	t.Helper()
	all := slices.Concat(w.Now, w.Epochs, w.Refused)
	i := slices.IndexFunc(all, func(b api.Because) bool {
		return b.Code == s.code && strings.Contains(b.Detail,
			s.says)
	})
	told := func(b api.Because) bool { return strings.Contains(b.Detail, s.none) }
	switch {
	case s.none != "" && slices.ContainsFunc(all, told):
		t.Errorf("%q is told: %+v", s.none, all)
	case i < 0:
		t.Errorf("%s, %q is not told: %q, now %+v, epochs %+v, refused %+v", s.code, s.says, w.Sentence, w.Now,
			w.Epochs,
			w.Refused)
	case s.has != nil && !s.has(&all[i]):
		t.Errorf("told as %+v", all[i])
	case s.first && w.Sentence != all[i].Detail:
		t.Errorf("the sentence is %q, and should be %q", w.Sentence, all[i].Detail)
	}
}

// TestWhyNotIsBounded: a flood is counted, and a sample of it is told; what was before `since` is left out.
func TestWhyNotIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { where: event > 5 } }\nnodes: { n: { expr: a } }"+drops, "g")
		many := make([]string, 1000)
		for i := range many {
			many[i] = "1"
		}
		b.push("g", "a", many...)
		time.Sleep(time.Minute)
		b.push("g", "a", "2")
		time.Sleep(2 * time.Second)
		ask := func(q api.WhyNotQuery) api.WhyNot {
			w, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, q)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := ask(api.WhyNotQuery{})
		if w.Counts["filtered_where"] != 1001 || len(w.Refused) < 2 || len(w.Refused) > 4 ||
			string(w.Refused[0].Values["event"]) != "2" {
			t.Errorf("counts %v, %d told: %+v", w.Counts, len(w.Refused), w.Refused)
		}
		if w = ask(api.WhyNotQuery{Since: "30s"}); len(w.Refused) != 1 || w.Counts["filtered_where"] != 1001 {
			t.Errorf("since 30s: %+v", w.Refused)
		}
		for _, q := range []api.WhyNotQuery{{Since: "yesterday"}, {Output: "none"}, {Key: "7"}} {
			if _, err := b.e.WhyNot(t.Context(), api.Ref{Tenant: "default", Name: "g"}, q); err == nil {
				t.Errorf("%+v is answered", q)
			}
		}
	})
}
