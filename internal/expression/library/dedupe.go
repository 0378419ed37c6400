package library

import (
	"encoding/binary"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// seen is the memory of dedupe: the values of the last while, each with when it was first
// there. The queue has them in order; the index, by their canonical text, tells fast.
type seen struct {
	queue
	index map[string]struct{}
	added string   // of the evaluation that is not concluded yet
	left  []string // by it
}

func newSeen() eval.Memory { return &seen{queue: queue{overAt: -1}, index: make(map[string]struct{})} }

// dedupe says whether a value is new: true for the first, false for those equal to it until
// the duration has passed since then. 1 and 1.0 are equal (M21), objects are whatever the
// order of their fields, and null, which is no value, is never new.
func dedupe(e *env, at site, m eval.Memory, args []value) value {
	s := m.(*seen)
	now := s.clock(e, args[2:])
	width := args[1]
	d, _ := width.AsDuration()
	if d <= 0 {
		return e.Fail(at, rules.CodeInvalidArgument, "dedupe: the duration must be above 0, got %s", width)
	}
	for s.len() > 0 && s.at(0).at <= now-int64(d) {
		name, _ := s.at(0).v.AsString()
		delete(s.index, name)
		s.left = append(s.left, name)
		s.drop()
	}
	if args[0].IsNull() {
		return boundary.Bool(false)
	}
	name := string(boundary.KeyOf(args[0]))
	if _, there := s.index[name]; there {
		return boundary.Bool(false)
	}
	if s.len() >= maxRemembered {
		return e.Fail(at, rules.CodeLimitExceeded,
			"dedupe: more than %d different values within %s; use a shorter time, or a key", maxRemembered, width)
	}
	s.push(sample{boundary.String(name), now})
	s.index[name] = struct{}{}
	s.added = name
	return boundary.Bool(true)
}

// Conclude implements eval.Memory.
func (s *seen) Conclude(keep bool) {
	if !keep {
		if s.added != "" {
			delete(s.index, s.added)
		}
		for _, name := range s.left {
			s.index[name] = struct{}{}
		}
	}
	s.queue.Conclude(keep)
	s.added, s.left = "", s.left[:0]
}

// Restore implements eval.Memory.
func (s *seen) Restore(data []byte) error {
	if err := s.queue.Restore(data); err != nil {
		return err
	}
	for i := range s.len() {
		name, _ := s.at(i).v.AsString()
		s.index[name] = struct{}{}
	}
	return nil
}

// Size implements eval.Memory.
func (s *seen) Size() int { return 2*s.queue.Size() + binary.MaxVarintLen64*s.len() }
