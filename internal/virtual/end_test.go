package virtual_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/virtual"
)

// M26: at the end of a run time goes on as in a silence. What is open closes at its own time, early results and ticks
// come in between, a latest input gives each window its epoch, and then comes what no time completes. Nobody waits for
// ticks: when nothing else is left there is one more, for the nodes that have not seen the end.
func TestM26TheEndIsASilence(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  w: { time: event.at, time_unit: s, strategy: latest,
    window: { tumbling: 1s, lateness: 2s, early: 700ms, aggregate: { n: count() } } }
  b: { time: event.at, time_unit: s, batch: { size: 100 } }
  c: { time: event.at, time_unit: s, strategy: latest, batch: { interval: 2500ms } }
lanes: { l: { fixed_rate: { period: 2500ms } } }
nodes:
  at: { event: true, expr: '[now().Second(), w.end.Second(), w.early ? "early" : "whole"]' }
  some: { event: true, expr: '[now().Second(), len(b)]' }
  more: { event: true, expr: '[now().Second(), len(c)]' }
  tick: { expr: '[now().Second(), len(b ?? [])]', lane: l }
outputs:
  at: { from: at, sink: { drop: {} } }
  some: { from: some, sink: { drop: {} } }
  more: { from: more, sink: { drop: {} } }
  tick: { from: tick, sink: { drop: {} } }
`)
	for i := range 3 {
		s.push(i, `{"at":10}`, `{"at":11}`)
	}
	s.out = nil // what came before the end
	s.must(s.g.Close())
	const want = `at [11,12,"early"]; tick [12,0]; at [13,11,"whole"]; more [13,2]; at [14,12,"whole"]; ` +
		`some [14,2]; tick [15,2]`
	if got := strings.Join(s.out, "; "); got != want {
		t.Errorf("put out %s\nwant %s", got, want)
	}
}

// M26: an epoch that waits is waited for, and so is what it may wait with: behind a debounce each window has its own.
func TestM26TheEndWaitsForEachDebounce(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  w: { time: event.at, time_unit: s, strategy: latest,
    window: { tumbling: 10s, lateness: 30s, aggregate: { n: count() } } }
reactor: { debounce: 3s }
nodes:
  o: { event: true, expr: '[now(), w.end]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`)
	s.push(0, `{"at":100}`, `{"at":111}`)
	s.must(s.g.Close())
	const want = `o ["1970-01-01T00:02:23.000Z","1970-01-01T00:01:50.000Z"]; ` +
		`o ["1970-01-01T00:02:33.000Z","1970-01-01T00:02:00.000Z"]`
	if got := strings.Join(s.out, "; "); got != want {
		t.Errorf("put out %s\nwant %s", got, want)
	}
}

// M26: a stage is waited for until what it holds open at the end of its inputs is complete. What ticks open behind that
// stays open, and is queued: they go on for ever.
func TestM26TheEndOfAStageThatTicksFeed(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, strategy: sequential }
  s: { from: beat, time: event.t, window: { tumbling: 10s, aggregate: { n: count() } } }
lanes: { l: { fixed_rate: { period: 3s } } }
nodes:
  beat: { expr: '{ "t": now(), "n": a.at }', lane: l }
  whole: { event: true, expr: '[now(), s.end, s.n]' }
outputs:
  whole: { from: whole, sink: { drop: {} } }
`)
	s.push(0, `{"at":1}`, `{"at":22}`)
	s.out = nil
	s.must(s.g.Close())
	const want = `whole ["1970-01-01T00:00:30.000Z","1970-01-01T00:00:30.000Z",3]`
	if got := strings.Join(s.out, "; "); got != want {
		t.Errorf("put out %s\nwant %s", got, want)
	}
	if b := s.g.Core().Look().Inputs[1].Books; b.Queued == 0 {
		t.Errorf("the tick at the end is in nothing: %+v", b)
	}
}

// M26: what ticks feed when nothing else waits any more is not waited for, be it that an epoch of it could run: each
// tick feeds anew. What waited before has its epoch.
func TestM26TheEndOfEpochsThatTicksCallFor(t *testing.T) {
	t.Parallel()
	for _, of := range []string{
		"lanes: { l: { fixed_rate: { period: 1s } } }\nnodes: { beat: { expr: '[now(), a.n]', lane: l }",
		"nodes: { beat: { event: true, expr: '[now(), a.n, cause()]' }",
	} {
		every := ""
		if !strings.Contains(of, "lane") {
			every = ", every: 1s"
		}
		s := newStaged(t, `graph: hang
accumulators:
  a: { strategy: sequential, time: event.at, time_unit: s }
  held: { from: beat, strategy: sequential }
  again: { from: more, strategy: sequential }
reactor: { strategy: sequential, debounce: 2s, max_wait: 5s`+every+` }
`+of+`, more: { expr: 'held[0]' }, fed: { event: true, expr: '[now(), again]' } }
outputs:
  fed: { from: fed, sink: { drop: {} } }
`)
		s.g.Interrupt = func() error {
			if s.g.Now().After(time.Unix(500, 0)) {
				return errors.New("it goes on and on")
			}
			return nil
		}
		s.push(0, `{"at":1,"n":1}`, `{"at":12,"n":2}`)
		s.out = nil
		if err := s.g.Close(); err != nil || len(s.out) == 0 {
			t.Errorf("%v: at %v, put out %v", err, s.g.Now(), s.out)
		}
		s.balanced()
	}
}

// M26: so it is however ticks come to what waits: by a node that runs in every epoch, by a chain of stages, behind an
// input of which there is more than its partner has, by what came late.
func TestM26TheEndIsNotOfTicks(t *testing.T) {
	t.Parallel()
	const lane = "lanes: { l: { fixed_rate: { period: 1s } } }\n"
	for name, c := range map[string]struct {
		doc  string
		most int
	}{
		"a node of every epoch": {`reactor: { strategy: sequential, rate_limit: 3s }
` + lane + `nodes:
  clock: { expr: 'now()', lane: l }
  seen: { event: true, expr: '[a.n, cause()]' }
  fed: { event: true, expr: '[now(), s]' }
accumulators:
  s: { from: seen, strategy: sequential }
`, 60},
		"a chain": {`reactor: { strategy: sequential, rate_limit: 10s }
` + lane + `nodes:
  beat: { expr: '[now(), a.n]', lane: l }
  more: { event: true, expr: 's1' }
  fed: { event: true, expr: '[now(), s]' }
accumulators:
  s1: { from: beat, strategy: sequential }
  s: { from: more, strategy: sequential }
`, 60},
		"a surplus": {`reactor: { strategy: sequential, rate_limit: 3s, when: all }
` + lane + `nodes:
  beat: { expr: '[now(), a.n]', lane: l }
  fed: { event: true, expr: '[now(), a, b]' }
accumulators:
  b: { time: event.at, time_unit: s, strategy: sequential }
  s: { from: beat, strategy: sequential }
`, 60},
		"through a node": {`reactor: { strategy: sequential, debounce: 2s, max_wait: 5s, every: 1s }
nodes:
  beat: { event: true, expr: '[now(), a.n, cause()]' }
  n: { event: true, expr: beat }
  more: { expr: 's1[0]' }
  fed: { event: true, expr: '[now(), s]' }
accumulators:
  s1: { from: n, strategy: sequential }
  s: { from: more, strategy: sequential }
`, 60},
	} {
		doc := strings.Replace(c.doc, "accumulators:\n",
			"accumulators:\n  a: { strategy: sequential, time: event.at, time_unit: s }\n", 1)
		s := newStaged(t, "graph: g\n"+doc+"outputs: { fed: { from: fed, sink: { drop: {} } } }\n")
		s.g.Interrupt = func() error {
			if s.g.Now().After(time.Unix(5000, 0)) {
				return errors.New("it goes on and on")
			}
			return nil
		}
		s.push(0, `{"at":1,"n":1}`, `{"at":2,"n":2}`)
		if name == "a surplus" {
			s.push(1, `{"at":3,"n":1}`)
		}
		s.push(0, `{"at":12,"n":3}`)
		if err := s.g.Close(); err != nil || len(s.out) == 0 || len(s.out) > c.most {
			t.Errorf("%s: %v: at %v, put out %d values", name, err, s.g.Now(), len(s.out))
		}
		s.balanced()
	}
}

// M26: where ticks put a debounce off, what came of the inputs would wait for ever. The run says so, and what to do;
// with max_wait it ends, and so it does where the ticks are rare enough.
func TestM26TheEndOfADebounceThatTicksPutOff(t *testing.T) {
	t.Parallel()
	const period, early = "{ from: beat, strategy: sequential }", `{ from: beat, time: event.t, window: {
		tumbling: 1h, early: 1s, aggregate: { n: count() } } }`
	for _, c := range []struct {
		stage, criteria string
		ends            bool
	}{
		{period, "debounce: 2s", false},
		{period, "debounce: 1s", false},
		{early, "debounce: 3s", false},
		{period, "debounce: 2s, max_wait: 5s", true},
		{period, "debounce: 900ms", true},
	} {
		s := newStaged(t, `graph: g
accumulators:
  a: { strategy: sequential, time: event.at, time_unit: s }
  s: `+c.stage+`
lanes: { l: { fixed_rate: { period: 1s } } }
reactor: { strategy: sequential, `+c.criteria+` }
nodes:
  beat: { expr: '{ "t": now(), "n": a.n }', lane: l }
  o: { event: true, expr: '[now(), a, s]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`)
		s.push(0, `{"at":1,"n":1}`, `{"at":2,"n":2}`)
		err := s.g.Close()
		if ended := err == nil; ended != c.ends || !ended && (!errors.Is(err, virtual.ErrPutOff) ||
			!strings.Contains(err.Error(), "set max_wait in reactor")) {
			t.Errorf("%s: %s: it ends with %v", c.stage, c.criteria, err)
		}
		s.balanced()
	}
}

// M22, M26: at the end a stage that goes by the times of its own events gives what it holds open, for none comes any
// more.
func TestM26TheEndOfAStageThatGoesByItsEvents(t *testing.T) {
	t.Parallel()
	for _, clock := range []string{"", "clock: arrival\n"} {
		s := newStaged(t, "graph: g\n"+clock+`accumulators:
  a: { strategy: sequential }
  s: { from: n, strategy: sequential, time: event.at, time_unit: s, window: { tumbling: 10s, lateness: 1s,
       aggregate: { n: count() } } }
nodes:
  n: { event: true, expr: a }
  o: { event: true, expr: '[s.start, s.n]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`)
		s.push(0, `{"at":100}`, `{"at":105.5}`, `{"at":112}`)
		s.must(s.g.Close())
		const want = `o ["1970-01-01T00:01:40.000Z",2]; o ["1970-01-01T00:01:50.000Z",1]`
		if got := strings.Join(s.out, "; "); got != want {
			t.Errorf("%sput out %s\nwant %s", clock, got, want)
		}
	}
}

// M22, M26: what ticks feed to a stage that has ended is not late for it while time goes on for another.
func TestM26TheEndMakesNothingLate(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, strategy: latest }
  s: { from: beat, time: event.t, strategy: sequential, window: { tumbling: 5s, late: update, retain: 1m,
       aggregate: { n: count() } } }
  s2: { from: beat2, time: event.t, strategy: sequential, window: { tumbling: 60s, aggregate: { n: count() } } }
lanes: { l: { fixed_rate: { period: 1s } } }
nodes:
  beat: { expr: 'now().Second() % 10 == 0 ? { "t": now(), "n": a.n } : nil', lane: l }
  beat2: { event: true, expr: '{ "t": now(), "n": a.n }' }
  o: { event: true, expr: '[now(), s]' }
  o2: { event: true, expr: '[now(), s2]' }
outputs:
  o: { from: o, sink: { drop: {} } }
  o2: { from: o2, sink: { drop: {} } }
`)
	s.push(0, `{"at":61,"n":1}`, `{"at":72,"n":2}`, `{"at":75,"n":3}`)
	s.must(s.g.Close())
	if l, late := s.g.Core().LateDrops(1); late {
		t.Errorf("late: %+v", l)
	}
	s.balanced()
}

// M26: a join hands over alone when it would live, and what a table or a key forgets is not waited for.
func TestM26TheEndOfAJoin(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  l: { time: event.at, time_unit: s }
  r: { time: event.at, time_unit: s }
  rows: { time: event.at, time_unit: s, table: { key: event.k, ttl: 1h } }
  j: { join: { left: l, right: r, on: k, within: 20s, type: left, lateness: 2s } }
nodes:
  o: { event: true, expr: '[now().Second(), j.key, j.matched]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`)
	s.push(0, `{"at":5,"k":"a"}`, `{"at":6,"k":"b"}`, `{"at":8,"k":"c"}`)
	s.push(1, `{"at":8,"k":"c"}`)
	s.push(2, `{"at":8,"k":"c"}`)
	s.must(s.g.Close())
	const want = `o [8,"c",true]; o [27,"a",false]; o [28,"b",false]`
	if got := strings.Join(s.out, "; "); got != want {
		t.Errorf("put out %s\nwant %s", got, want)
	}
	if at := s.g.Now(); at.After(time.Unix(29, 0)) {
		t.Errorf("it ends at %v", at)
	}
}

// M26: what a join keeps of a pair, of which nothing comes any more, holds back a stage behind it, as live: time goes
// on until it is let go of.
func TestM26TheEndOfAStageBehindPairs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"left": "15,1", "right": "16,1", "full": "16,1", "inner": "10,1",
	} {
		s := newStaged(t, fmt.Sprintf(`graph: g
accumulators:
  l: { time: event.at, time_unit: s }
  r: { time: event.at, time_unit: s }
  j: { join: { left: l, right: r, on: k, within: 10s, type: %s } }
  w: { from: n, time: event.at, window: { tumbling: 10s, aggregate: { c: count() } } }
nodes:
  n: { expr: '{ "at": j.at }' }
  o: { event: true, expr: '[now().Second(), w.c]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`, kind))
		s.push(0, `{"at":5,"k":"a"}`)
		s.push(1, `{"at":6,"k":"a"}`)
		s.must(s.g.Close())
		if got := strings.Join(s.out, "; "); got != "o ["+want+"]" {
			t.Errorf("%s: put out %s, want o [%s]", kind, got, want)
		}
	}
}

// M26: stages end behind what no time completes: a batch that waits for more is handed over into their windows, for
// which it would be late else.
func TestM26StagesEndBehindBatchesThatWait(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  b: { time: event.at, time_unit: s, batch: { size: 3 } }
  w: { from: n, time: event.at, window: { tumbling: 10s, aggregate: { sum: sum(event.sum) } } }
  i: { from: n, batch: { interval: 3s } }
reactor: { strategy: sequential }
nodes:
  n: { expr: '{ "at": b[0].at, "sum": len(b) }' }
  o: { event: true, expr: '[now().Second(), fresh(w) ? "window" : "batch", fresh(w) ? w.sum : sum(i, .sum)]' }
outputs:
  o: { from: o, sink: { drop: {} } }
`)
	for at := 1; at <= 4; at++ {
		s.push(0, fmt.Sprintf(`{"at":%d}`, at))
	}
	s.must(s.g.Close())
	const want = `o [6,"batch",4]; o [10,"window",4]`
	got := strings.Join(s.out, "; ")
	if l, late := s.g.Core().LateDrops(1); late || got != want {
		t.Errorf("put out %s, want %s; late: %+v", got, want, l)
	}
	s.balanced()
}
