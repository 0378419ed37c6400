package watch

import (
	"math"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// saved is how many epochs of a sample may come at once, behind a while in which fewer came: what is done by hand,
// or by a graph that is slow, is told whole.
const saved = 100

// sampled is a watcher of one hub that is told of some epochs. The hub's lock guards it.
type sampled struct {
	q     *Queue
	seen  int64 // records of the run that it was told of, or that were left out
	frame int64 // the last frame of these
	left  int64 // epochs that were left out since its last output or firing
	// may is how many epochs it may be told of, as of the time at. What is told beyond that makes it negative, and is
	// made up for later.
	may      float64
	at       time.Time
	stateAt  time.Time
	stateFor int64
	newest   map[kind]int64 // scratch: by kind, the number of its newest record
}

// kind is what an epoch is picked for where not all are told: a rare one is not lost among many of another.
type kind struct {
	cause  reactor.Cause
	failed bool
	output int // from 1; 0 is the epoch itself
}

func newSampled(q *Queue, h *Hub) *sampled {
	return &sampled{q: q, seen: h.seen, frame: h.frame, may: max(saved, float64(q.sample)), newest: map[kind]int64{}}
}

// begin has the watcher follow a new run of the graph, whose frames begin behind one. Where it knows of less than was
// before, from other members or from here, that is a gap: the first frame of the run, which says what was left out,
// would hide it.
func (s *sampled) begin(h *Hub, run, before int64) {
	s.left += h.seen - s.seen
	if at, known := s.q.Last([]int{h.shard})[h.shard]; known && s.q.ofEpochs() {
		seq := at.Seq
		if at.Incarnation <= h.run { // else it has run elsewhere since
			seq = max(seq, h.frame)
		}
		if seq < before {
			gap := h.gap(run, seq+1, before)
			gap.LeftOut = taken(&s.left)
			s.q.put(gap)
			s.may--
		}
	}
	s.seen, s.frame = 0, before
}

// taken is what was left out before a frame, which is told with it.
func taken(left *int64) (n int64) {
	if left != nil {
		n, *left = *left, 0
	}
	return n
}

// tell hands on the epochs since the last that the watcher was told of, as many as it may have. Where it may have none
// yet, it says when it may: the newest is always told in the end.
func (s *sampled) tell(h *Hub, c *reactor.Core, now time.Time) (again time.Time) {
	total, frame := c.Records(math.MaxInt64, nil), c.FramesShown()
	if s.seen == total && s.frame >= frame {
		return time.Time{}
	}
	every := float64(s.q.sample)
	if !s.at.IsZero() {
		s.may = min(max(saved, every), s.may+every*max(0, now.Sub(s.at).Seconds()))
	}
	s.at = now
	if s.may < 1 {
		return s.mayAt()
	}
	if !s.hand(h, c, s.seen, 0) && frame > s.frame && s.q.ofEpochs() { // no record of them is kept
		s.q.put(h.gap(h.run, s.frame+1, frame))
		s.may--
	}
	s.seen, s.frame = total, frame
	return time.Time{}
}

// hand tells the watcher of those records from one on that are picked, of what comes in them after a sequence number,
// and counts the others. It says whether there were any.
func (s *sampled) hand(h *Hub, c *reactor.Core, from, after int64) (any bool) {
	picked, told := s.pick(c, from), from
	c.Records(from, func(n int64, r *reactor.Record) bool {
		if picked(n, r) {
			s.left += n - told
			h.publish(c.Config(), r, after, []*Queue{s.q}, &s.left)
			s.may--
			told = n + 1
		}
		return true
	})
	// Of however many kinds there are, the next come within a second.
	s.may = max(s.may, 1-float64(s.q.sample))
	return told > from
}

// pick says which records from one on are told: all where it may be so many, else the newest of all, and the newest of
// each kind.
func (s *sampled) pick(c *reactor.Core, from int64) func(n int64, r *reactor.Record) bool {
	first := c.Records(math.MaxInt64, nil) - int64(s.may)
	if first <= from {
		return func(int64, *reactor.Record) bool { return true }
	}
	clear(s.newest)
	c.Records(from, func(n int64, r *reactor.Record) bool {
		of := kind{cause: r.Cause, failed: r.Err != ""}
		s.newest[of] = n
		for _, e := range r.Emitted {
			s.newest[kind{output: e.Output + 1}] = n
		}
		return true
	})
	return func(n int64, r *reactor.Record) bool {
		is := n >= first || s.newest[kind{cause: r.Cause, failed: r.Err != ""}] == n
		for _, e := range r.Emitted {
			is = is || s.newest[kind{output: e.Output + 1}] == n
		}
		return is
	}
}

// restsUntil is until when no watcher may be told of anything that an epoch brings; the zero time where one may.
func (h *Hub) restsUntil(now time.Time) (until time.Time) {
	if len(h.whole) > 0 {
		return time.Time{}
	}
	for _, s := range h.samples {
		if s.may >= 1 {
			return time.Time{}
		}
		until = sooner(until, s.mayAt())
		if s.q.topics[topicState] {
			due := s.stateAt.Add(s.stateEvery())
			if !now.Before(due) {
				return time.Time{}
			}
			until = sooner(until, due)
		}
	}
	return until
}

// mayAt is when the watcher may be told of an epoch, which it may not as of the time at.
func (s *sampled) mayAt() time.Time {
	return s.at.Add(max(time.Millisecond, time.Duration((1-s.may)/float64(s.q.sample)*float64(time.Second))))
}

func (s *sampled) stateEvery() time.Duration {
	return max(stateEvery, time.Second/time.Duration(s.q.sample))
}

// stateDue says whether the watcher is to be told the state behind an epoch now, or when.
func (s *sampled) stateDue(epoch int64, now time.Time) (is bool, again time.Time) {
	if epoch == s.stateFor || !s.q.topics[topicState] {
		return false, time.Time{}
	}
	if due := s.stateAt.Add(s.stateEvery()); now.Before(due) {
		return false, due
	}
	s.stateAt, s.stateFor = now, epoch
	return true, time.Time{}
}

// sooner is the earlier of two times, where the zero time is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
