package virtual_test

import (
	"strings"
	"testing"
	"time"
)

// M23: what a node of a lane comes to at a tick is an event of the stage that it feeds, also where the tick sees
// something new of an input that does not trigger. At the end of the input there is one tick more for what has waited.
func TestM23TicksFeedStages(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: staged
accumulators:
  a: { strategy: sequential }
  aside: { passive: true }
  held: { from: beat }
lanes: { l: { fixed_rate: { period: 10s } } }
nodes:
  beat: { expr: a, lane: l }
  beside: { expr: 'aside ?? 0' }
  fed: { expr: held * 10 }
outputs:
  fed: { from: fed, sink: { drop: {} } }
  beside: { from: beside, emit: on_change, sink: { drop: {} } }
`)
	s.must(s.g.AdvanceTo(time.Unix(1, 0).UTC()))
	s.push(0, "1")
	s.push(1, "7")
	s.must(s.g.AdvanceTo(time.Unix(12, 0).UTC()))
	s.push(0, "2")
	if got := strings.Join(s.out, "; "); got != "beside 0; beside 7; fed 10" {
		t.Errorf("put out %s", got)
	}
	s.must(s.g.Close())
	if got := strings.Join(s.out, "; "); got != "beside 0; beside 7; fed 10; fed 20" {
		t.Errorf("at the end: put out %s", got)
	}
}

// M23: at the end of the input each lane whose nodes have not seen it has one tick more, the slower ones too.
func TestM23EachLaneSeesTheEnd(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: staged
accumulators:
  a: { strategy: sequential }
lanes:
  fast: { fixed_rate: { period: 10s } }
  slow: { fixed_rate: { period: 25s } }
nodes:
  quick: { expr: a, lane: fast }
  late: { expr: a + 100, lane: slow }
outputs:
  quick: { from: quick, emit: on_change, sink: { drop: {} } }
  late: { from: late, emit: on_change, sink: { drop: {} } }
`)
	s.must(s.g.AdvanceTo(time.Unix(1, 0).UTC()))
	s.push(0, "1")
	s.must(s.g.Close())
	if got := strings.Join(s.out, "; "); got != "quick 1; late 101" {
		t.Errorf("put out %s", got)
	}
	if at := s.g.Now(); !at.Equal(time.Unix(25, 0)) {
		t.Errorf("it ends at %v", at)
	}
}

// M23: a node of a lane that reads one of another lane sees the end at the next tick of its own, and so on; what is new
// at each tick, as the time is, does not have that go on.
func TestM23LanesSeeTheEndOfEachOther(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: staged
accumulators:
  a: { strategy: sequential }
lanes:
  fast: { fixed_rate: { period: 10s } }
  slow: { fixed_rate: { period: 25s } }
nodes:
  quick: { expr: a, lane: fast }
  late: { expr: quick + 100, lane: slow }
  plain: { expr: late * 2 }
  last: { expr: plain + 1, lane: fast }
  clock: { expr: now(), lane: fast }
  seen: { expr: clock, lane: slow }
outputs:
  quick: { from: quick, emit: on_change, sink: { drop: {} } }
  late: { from: late, emit: on_change, sink: { drop: {} } }
  last: { from: last, emit: on_change, sink: { drop: {} } }
`)
	s.must(s.g.AdvanceTo(time.Unix(1, 0).UTC()))
	s.push(0, "1")
	s.must(s.g.Close())
	if got := strings.Join(s.out, "; "); got != "quick 1; late 101; last 203" {
		t.Errorf("put out %s", got)
	}
	if at := s.g.Now(); !at.Equal(time.Unix(30, 0)) {
		t.Errorf("it ends at %v", at)
	}
}
