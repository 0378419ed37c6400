package reactor

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/graph"
)

// stalling are hands of which a run comes back when the test says so, and else the time of the epoch passes.
type stalling struct {
	mono  *int64
	back  bool
	given []*graph.Run
	away  int
}

func (s *stalling) Give(w *graph.Run) { s.given = append(s.given, w) }

func (s *stalling) Take(_ time.Duration, interrupt func() error) (*graph.Run, error) {
	if !s.back {
		*s.mono += int64(time.Second) + 1
		return nil, interrupt()
	}
	w := s.given[0]
	s.given = s.given[1:]
	w.Do()
	return w, nil
}

func (s *stalling) Drop() int {
	s.away, s.given = s.away+len(s.given), nil
	return -1
}

func (s *stalling) Away(int) int { return s.away }

// M25, M21: an epoch that waits for an answer beside nodes in pools has failed when its time is up, or when a node that
// stands before the question fails: it is not tried again without them, and nothing is asked for it.
func TestM25CallsBesideLanes(t *testing.T) {
	t.Parallel()
	for code, back := range map[string]bool{graph.CodeEpochTimeout: false, "not_finite": true} {
		mono := int64(0)
		s := &stalling{mono: &mono, back: back}
		configure := func(c *Config) {
			c.Mono, c.EpochTimeout, c.Hands = func() int64 { return mono }, time.Second, s
		}
		const doc = `graph: calls
accumulators: { a: { strategy: sequential } }
lanes: { slow: { pool: {} } }
nodes:
  away: { expr: a, lane: slow, on_error: skip }
  bad: { expr: 1 / (a - 7), lane: slow }
  asks: { http: { url: "http://there", body: a } }
  both: { expr: '[away ?? nil, bad, asks]' }
outputs: { o: { from: both, sink: { drop: {} } } }
`
		r := newRig(t, doc, withJournal, configure)
		r.push("a", 7)
		r.want(r.fire(), "")
		if rec := r.last(); rec.ErrCode != code || r.books("a").DeadLettered != 1 || r.c.Epoch() != 1 {
			t.Errorf("%q, not %s, in epoch %d: %+v", rec.ErrCode, code, r.c.Epoch(), r.books("a"))
		}
		if r.c.Asking() || r.c.calls.book.Keys() != 0 {
			t.Errorf("%s: it still asks for %s", code, askedFor(r.c.Asked()))
		}
		s.away, s.back = 0, true
		c := replayed(t, testConfig(t, doc, withJournal, configure), r.c.DrainJournal())
		if c.Epoch() != 1 || c.Books(0).DeadLettered != 1 {
			t.Errorf("%s: a replay comes to epoch %d, %+v", code, c.Epoch(), c.Books(0))
		}
	}
}
