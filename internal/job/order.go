package job

import (
	"errors"
	"time"

	"github.com/graphd/graphd/internal/timeline"
)

// byTime takes the events of all inputs in the order of their times, as a live graph does that has them
// all to catch up with: the order and the drive are the same.
func (r *runner) byTime() error {
	r.order = timeline.New(0)
	for i := range r.heads {
		r.order.Add(uint64(i))
		if err := r.await(i); err != nil {
			return err
		}
	}
	r.g.Feed(r.order, heads{r})
	for {
		more, err := r.g.Next()
		if err != nil || r.err != nil {
			return errors.Join(r.err, err)
		}
		if err := r.tellLetters(); err != nil || !more {
			return err
		}
	}
}

// await reads input i's next event, and puts it into the order.
func (r *runner) await(i int) error {
	if err := r.read(i); err != nil {
		return err
	}
	h := &r.heads[i]
	if !h.valid {
		r.order.Clear(i)
		return nil
	}
	at := int64(timeline.Never) // one that is bad or has no time happens now
	switch {
	case h.bad != nil:
	case h.taken != nil:
		if h.bad = h.taken.Undated; h.bad == nil && h.taken.Dated.Timed {
			at = h.taken.Dated.At
		}
	default:
		when := r.g.EventTime
		if r.front != nil && r.front.Deals(i) {
			when = r.front.Date
		}
		t, declared, err := when(i, h.ev)
		switch {
		case errors.As(err, &h.bad):
		case err != nil:
			return err
		case declared:
			at = t.UnixNano()
		}
	}
	r.order.Set(i, at)
	return nil
}

// heads are the next events of a run's inputs, as its drive sees them.
type heads struct{ *runner }

// Fold implements [drive.Events].
func (r heads) Fold(n int) int {
	if r.err == nil {
		r.err = r.add(n)
	}
	if r.err == nil {
		r.err = r.await(n)
	}
	if r.err != nil {
		r.order.Clear(n)
	}
	return n
}

// Timeless implements [drive.Events].
func (r heads) Timeless(n int) bool { return r.heads[n].bad != nil }

// Trails implements [drive.Events]. Nothing of a run is held back.
func (r heads) Trails(int) (next int64, ok bool) { return 0, false }

// Begin implements [drive.Events].
func (r heads) Begin() (time.Time, bool) { return Start(), true }

// step folds the event of input i that was read, which is an instant of its own.
func (r *runner) step(at time.Time, i int) error {
	if h := &r.heads[i]; h.taken != nil && h.bad == nil && r.front == nil {
		passed, counted := r.g.Pass(at, i, h.ev, h.taken), r.counted()
		if passed != nil || counted != nil {
			return errors.Join(counted, passed)
		}
		return nil
	}
	if err := r.g.AdvanceTo(at); err != nil {
		return err
	}
	if added, stepped := r.add(i), r.g.Step(); added != nil || stepped != nil {
		return errors.Join(added, stepped)
	}
	return nil
}

// inTurn takes one event of each input in turn, where none has a time; each is an instant of its own.
func (r *runner) inTurn() error {
	for i := range r.heads {
		if err := r.read(i); err != nil {
			return err
		}
	}
	at := Start()
	for more := true; more; {
		more = false
		for i := range r.heads {
			if !r.heads[i].valid {
				continue
			}
			more = true
			if err := r.step(at, i); err != nil {
				return err
			}
			at = at.Add(Step)
			if err := r.tellLetters(); err != nil {
				return err
			}
			if err := r.read(i); err != nil {
				return err
			}
		}
	}
	return nil
}
