package answers

import (
	"slices"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
)

// Try is how the nodes of the epoch at hand are answered. It is for all epochs of a graph, one after the other.
type Try struct {
	Callers []graph.Caller
	// Source answers at once, where there is one; inTime is false when the time of the epoch is up.
	Source func(node int, r *kind.Request) (a kind.Answer, inTime bool)
	Memory Memory

	Epoch *Epoch  // what is known of the epoch, nil for nothing
	Used  []Reply // the answers that it has been given
	Late  bool    // an answer to it has come too late

	replay bool
}

// Begin begins a try of an epoch, of which so much is known. In a replay it is given what it was given then, and
// nothing is remembered.
func (t *Try) Begin(e *Epoch, replay bool) {
	t.Epoch, t.Used, t.Late, t.replay = e, t.Used[:0], false, replay
	t.Memory.Begin()
}

// Answer is the answer to what a node asks for: one that is remembered, or else one to itself.
func (t *Try) Answer(node int, r *kind.Request) (a *kind.Answer, known bool) {
	if t.Late {
		return nil, false
	}
	if !t.replay {
		a = t.Memory.Find(node, r)
	}
	if a == nil {
		if a = t.own(node, r); a == nil {
			return nil, false
		}
		if r.Keep.TTL > 0 && !t.replay && t.is(node, a) {
			t.Memory.Learn(node, r, a)
		}
	}
	t.Used = append(t.Used, Reply{node, r.ID(), a})
	return a, true
}

// own is the answer to a request itself, nil where there is none.
func (t *Try) own(node int, r *kind.Request) *kind.Answer {
	if t.Source != nil {
		a, inTime := t.Source(node, r)
		if t.Late = !inTime; t.Late {
			return nil
		}
		return &a
	}
	if t.Epoch != nil {
		if has := t.Epoch.Find(node, r.ID()); has != nil {
			return has.Answer
		}
	}
	return nil
}

// is reports whether an answer is one to its node, and no error: that is asked for again.
func (t *Try) is(node int, a *kind.Answer) bool {
	i := slices.IndexFunc(t.Callers, func(c graph.Caller) bool { return c.Node == node })
	_, err := t.Callers[i].Answered(a)
	return err == nil
}
