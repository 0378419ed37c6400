package virtual_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/virtual"
)

// staged is a graph with stages, driven by hand.
type staged struct {
	t   *testing.T
	u   *compile.Unit
	g   *virtual.Graph
	out []string
}

func newStaged(t *testing.T, doc string) *staged {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "staged.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	s := &staged{t: t, u: u, g: virtual.New(u, time.Unix(0, 0).UTC(), nil)}
	s.g.Release = s.release
	return s
}

func (s *staged) release(batch []sink.Message) error {
	for i := range batch {
		key := ""
		if batch[i].Key != "" {
			key = string(batch[i].Key) + " "
		}
		s.out = append(s.out, batch[i].Output+" "+key+batch[i].Value.String())
	}
	return nil
}

// push gives input i events, each an instant of its own.
func (s *staged) push(i int, events ...string) {
	s.t.Helper()
	for _, e := range events {
		ev := boundary.Event{Raw: []byte(e)}
		if at, ok, err := s.g.EventTime(i, &ev); err != nil {
			s.t.Fatal(err)
		} else if ok && at.After(s.g.Now()) {
			s.must(s.g.AdvanceTo(at))
		}
		s.g.Add(i, &ev, true)
		s.must(s.g.Step())
		s.balanced()
	}
}

func (s *staged) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// balanced holds M42 for every input, and answers with the books.
func (s *staged) balanced() []reactor.Books {
	s.t.Helper()
	var all []reactor.Books
	for i, in := range s.g.Core().Look().Inputs {
		b := in.Books
		if b.Received != b.Filtered+b.Conflated+b.Rejected+b.DeadLettered+b.Consumed+b.Queued {
			s.t.Errorf("input %d does not balance: %+v", i, b)
		}
		all = append(all, b)
	}
	return all
}

func (s *staged) command(f func(c *reactor.Core, now time.Time) error) {
	s.t.Helper()
	s.must(s.g.Command(f))
	s.balanced()
}

// want compares what has come out since the last call.
func (s *staged) want(lines ...string) {
	s.t.Helper()
	if got, want := strings.Join(s.out, "\n"), strings.Join(lines, "\n"); got != want {
		s.t.Errorf("it put out\n%s\nwant\n%s", got, want)
	}
	s.out = nil
}

const twoStages = `graph: g
accumulators:
  a: { emit: event.x }
  s: { from: n, where: event < 100, emit: 'event == 13 ? [][0] : event', schema: { maximum: 1000 } }
reactor: { strategy: sequential }
nodes:
  n: { expr: 'a == 0 ? 1 / a : a == 1 ? nil : a * 1' }
  m: { expr: 's + 0.5' }
outputs:
  m: { from: m, sink: { stdout: {} } }
`

// M22: what ticks in an epoch that is kept is an event of the stage, and nothing else is: no null, no
// failed epoch.
func TestM22StagesFollowKeptEpochs(t *testing.T) {
	s := newStaged(t, twoStages)
	s.push(0, `{"x":5}`, `{"x":0}`, `{"x":1}`, `{"x":7}`, `{"x":7}`)
	s.want("m 5.5", "m 7.5", "m 7.5")
	if b := s.balanced(); b[1].Received != 3 || b[1].Consumed != 3 || b[0].DeadLettered != 1 {
		t.Errorf("books %+v", b)
	}
}

// M16: a value that is no news is no event, and a node that is due in every epoch does not feed itself.
func TestM16StagesAreFedByNews(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators: { a: { strategy: latest }, b: {}, s: { from: n }, w: { from: m } }
nodes:
  n: { expr: a }
  m: { event: true, expr: '[fresh(b), cause(), b]' }
reactor: { strategy: sequential }
outputs:
  s: { from: s, sink: { stdout: {} } }
  w: { from: w, sink: { stdout: {} } }
`)
	s.push(0, "5", "5", "6")
	s.want("s 5", "s 6")
	s.push(1, "1", "1")
	s.want(`w [true,"criteria",1]`, `w [true,"criteria",1]`)
}

// M5: an event that the stage cannot use is its dead letter, says its epoch, and comes again by a replay.
func TestM5StagesKeepDeadLetters(t *testing.T) {
	s := newStaged(t, twoStages)
	s.push(0, `{"x":200}`, `{"x":13}`, `{"x":2000}`)
	s.want()
	if b := s.balanced(); b[1].Filtered != 1 || b[1].DeadLettered != 2 {
		t.Errorf("books %+v", b)
	}
	letters := s.g.Letters()
	if len(letters) != 2 || letters[0].Accumulator != "s" || letters[0].Stage != "emit" || letters[0].Epoch != 2 ||
		letters[1].Stage != "schema" || letters[1].Epoch != 3 || string(letters[1].Payload) != "2000" ||
		letters[1].Folded {
		t.Errorf("letters %+v", letters)
	}
	s.command(func(c *reactor.Core, now time.Time) error {
		o := c.Feed(now, 1, &boundary.Event{Raw: []byte("2000"), Origin: letters[1].ID})
		if o.Status != accumulator.Rejected {
			return fmt.Errorf("it came to %+v", o)
		}
		c.Feed(now, 1, &boundary.Event{Raw: []byte("20"), Origin: letters[1].ID})
		return nil
	})
	s.want("m 20.5")
}

// M11: a fire with values feeds stages when it becomes the state, and not as an aside; a forced one
// does by what ticks, whatever the outputs put out.
func TestM11StagesAndCommands(t *testing.T) {
	s := newStaged(t, twoStages)
	with := func(x int64, replace bool) {
		s.command(func(c *reactor.Core, now time.Time) error {
			_, err := c.FireWith(now, "", []boundary.Value{boundary.Int(x), {}}, replace)
			return err
		})
	}
	with(3, false)
	s.want()
	with(4, true)
	s.want("m 4.5")
	s.command(func(c *reactor.Core, now time.Time) error {
		_, err := c.ForceFire(now, "", false)
		return err
	})
	s.want("m 4.5") // the output shows what it has
	if b := s.balanced(); b[1].Received != 1 {
		t.Errorf("books %+v", b)
	}
	s.command(func(c *reactor.Core, now time.Time) error { c.Pause(now, "test"); return nil })
	s.push(0, `{"x":8}`, `{"x":9}`)
	s.want()
	s.command(func(c *reactor.Core, now time.Time) error { // what it feeds waits at once
		_, err := c.ForceFire(now, "", true)
		if depth := c.Look().Inputs[1].Depth; err == nil && depth != 1 {
			err = fmt.Errorf("%d boundaries of the stage wait", depth)
		}
		return err
	})
	s.want()
	for _, want := range [][]string{nil, {"m 8.5"}, {"m 9.5"}} { // in the order in which they came
		s.command(func(c *reactor.Core, now time.Time) error { return c.Step(now, 1) })
		s.want(want...)
	}
}

// M8: under `when: all` the input of a stage fires by itself, in its turn, and holds up nobody.
func TestM8StagesFireByThemselves(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators: { a: {}, b: {}, s: { from: pair }, w: { from: twice } }
reactor: { when: all, strategy: sequential }
nodes:
  pair: { expr: '[a, b]' }
  twice: { expr: 's[0] * s[1]' }
outputs:
  pairs: { from: pair, sink: { stdout: {} } }
  all: { from: w, sink: { stdout: {} } }
`)
	s.push(0, "1", "2", "3")
	s.want()
	s.push(1, "10", "20")
	s.want("pairs [1,10]", "all 10", "pairs [2,20]", "all 40")
	if got := s.g.Core().WaitingFor(); fmt.Sprint(got) != "[b]" {
		t.Errorf("it waits for %v", got)
	}
}

// M13: a stage has a key of its own, and what is behind it runs in epochs of that key.
func TestM13StagesAreKeyedAnew(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: { key: event.user }
  s: { from: seen, key: event.city, strategy: burst, emit: event.user }
nodes:
  seen: { expr: '{ "user": key, "city": a.city }' }
  here: { event: true, expr: '[key, s, rolling_count(s, 100)]' }
reactor: { strategy: sequential }
outputs:
  here: { from: here, sink: { stdout: {} } }
`)
	s.push(0, `{"user":"x","city":"bern"}`, `{"user":"y","city":"rome"}`, `{"user":"z","city":"bern"}`,
		`{"user":"u"}`)
	s.want(`here "bern" ["bern",["x"],1]`, `here "rome" ["rome",["y"],1]`, `here "bern" ["bern",["z"],2]`)
	if b := s.balanced(); b[1].DeadLettered != 1 || s.g.Letters()[0].Code != "key_missing" {
		t.Errorf("books %+v, letters %+v", b, s.g.Letters())
	}
}

// M3: every kind folds what a node comes to; a batch may be flushed with epochs.
func TestM3KindsOverNodes(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: {}
  two: { from: n, batch: { size: 2 } }
  each: { from: n, batch: { flush: epoch } }
  last: { from: n, state: { keep: 2 } }
  sum: { from: n, fold: { init: '0', step: state + event } }
nodes: { n: { expr: a + 1 } }
reactor: { strategy: sequential }
outputs:
  two: { from: two, sink: { stdout: {} } }
  each: { from: each, sink: { stdout: {} } }
  last: { from: last, sink: { stdout: {} } }
  sum: { from: sum, sink: { stdout: {} } }
`)
	s.push(0, "1")
	s.want("each [2]", "last [2]", "sum 2")
	s.push(0, "2")
	s.want("two [2,3]", "each [3]", "last [2,3]", "sum 5")
	s.push(0, "3")
	s.want("each [4]", "last [3,4]", "sum 9")
	s.must(s.g.Close())
	s.want("two [4]")
	s.balanced()
}

// M5: an event can be given to a stage beside those of its node, as a replayed letter is.
func TestM5StagesTakeEvents(t *testing.T) {
	s := newStaged(t, twoStages)
	s.push(0, `{"x":5}`)
	s.g.Add(1, &boundary.Event{Raw: []byte("6")}, true)
	s.must(s.g.Step())
	s.want("m 5.5", "m 6.5")
	if _, ok, err := s.g.EventTime(1, &boundary.Event{}); ok || err != nil {
		t.Error("a stage has no time of its own")
	}
}

// M5: a dead letter of a stage names the epoch that fed it; what is given beside is of no stream of its own, for
// which windows would wait.
func TestM5StagesNameTheEpochsThatFedThem(t *testing.T) {
	s := newStaged(t, `graph: g
clock: arrival
accumulators:
  a: {}
  s: { from: n, time: event.t, window: { tumbling: 10ms, aggregate: { n: count(), of: first(event.t) } } }
nodes: { n: { expr: a }, m: { expr: 's.of == 20 ? [1][7] : s.n' } }
reactor: { strategy: sequential }
outputs: { m: { from: m, sink: { stdout: {} } } }
`)
	s.must(s.g.AdvanceTo(time.Unix(1, 0))) // no event is ahead of its arrival
	s.push(0, `{"t":1}`)
	s.g.Add(1, &boundary.Event{Raw: []byte(`{"t":2}`)}, true)
	s.push(0, `{"t":3}`, `{"t":11}`, `{"t":20}`, `{"t":31}`)
	s.want("m 3", "m 1")
	if l := s.g.Letters(); len(l) != 1 || l[0].Position != "epoch@5" {
		t.Errorf("letters %+v", l)
	}
}

// M28: the state of a stage is sealed with the epochs that made it.
func TestM28StagesAreSealed(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: {}
  s: { from: n, batch: { size: 3 } }
nodes: { n: { expr: a } }
reactor: { strategy: sequential }
outputs: { s: { from: s, sink: { stdout: {} } } }
`)
	s.push(0, "1", "2")
	cp, err := s.g.Seal()
	s.must(err)
	s.push(0, "9")
	s.want("s [1,2,9]")
	g, dropped, err := virtual.Restore(s.u, cp, nil)
	s.must(err)
	s.g = g
	g.Release = s.release
	if len(dropped) > 0 || s.balanced()[1].Queued != 2 {
		t.Errorf("dropped %v, books %+v", dropped, s.balanced())
	}
	s.push(0, "3", "4")
	s.want("s [1,2,3]")
}
