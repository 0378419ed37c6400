package reader

import (
	"slices"
	"sync/atomic"
	"time"
)

// A source that begins again is opened anew, gives nothing to anybody meanwhile, and gives some of it again. When a
// process takes shards over they come one after the other, each within some milliseconds of the one before: they are
// waited for, and those who take part go on until then.
const (
	// quiet is after how long a source begins again that nobody more has come to, together after how long it does in
	// any case. Where it is soon open again it is less, see wait.
	quiet, together = 50 * time.Millisecond, 250 * time.Millisecond
	leastQuiet      = 15 * time.Millisecond
	// patience is how long one who comes waits to be given what was read lately, while the source gives to others.
	patience = 500 * time.Millisecond
	// restarts is how soon a shard comes again whose input was restarted: that is asked for where something is wrong
	// with the source, which begins again then.
	restarts = 500 * time.Millisecond
	// opening is how long a source has for its first event before it begins again: in less one that is slow to open
	// would never come to it while shards come.
	opening = time.Second
)

// running is one run of the source. The reader's lock guards it, but for took.
type running struct {
	stop  func()
	began time.Time
	took  atomic.Int64 // how long it was until the first event came, in nanoseconds; 0 before
	asked time.Time    // when it was first asked to begin again; zero while nobody needs it to
	when  time.Time    // when it is to
	timer *time.Timer  // has it begin again; nil before it was asked to
	keeps bool         // what it gives is kept for who comes
}

// beginAgain has the source begin again soon, for those that take part by then. r.mu is held.
func (r *Reader) beginAgain() {
	run := r.run
	if run == nil {
		return // it is about to begin
	}
	now := time.Now()
	quiet, together := run.wait()
	if run.keeps && !slices.ContainsFunc(r.come, isLate) {
		quiet, together = patience, patience
	}
	if run.asked.IsZero() {
		run.asked = now
	}
	wait := min(quiet, max(run.asked.Add(together).Sub(now), 0))
	run.when = now.Add(wait)
	if run.timer == nil {
		run.timer = time.AfterFunc(wait, func() { r.due(run) })
		return
	}
	run.timer.Reset(wait)
}

// met says that one who has come takes part in a run, for which that need not begin again; it is false where the run
// is over, or who has come has left.
func (r *Reader) met(run *running, m *member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.come, m)
	if r.run != run || i < 0 {
		return false
	}
	r.come = slices.Delete(r.come, i, i+1)
	switch {
	case len(r.come) == 0:
		run.asked = time.Time{}
	case !slices.ContainsFunc(r.come, isLate):
		run.asked = time.Time{} // the others have as long from now on
		r.beginAgain()
	}
	return true
}

func isLate(m *member) bool { return m.late }

// tooLate says that what one who has come was not given is not here any more: the source begins again.
func (r *Reader) tooLate(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.come, m) {
		m.late = true
		r.beginAgain()
	}
}

// wait is how long others are waited for before the source begins again, after the last and after the first that has
// come: as long as it took to open, so that opening takes a small part of the time however many come.
func (run *running) wait() (last, first time.Duration) {
	last = quiet
	if took := time.Duration(run.took.Load()); took > 0 {
		last = min(max(took, leastQuiet), quiet)
	}
	return last, last * (together / quiet)
}

// has notes that an event has come.
func (run *running) has() {
	if run.took.Load() == 0 {
		run.took.Store(max(int64(time.Since(run.began)), 1))
	}
}

// due ends a run whose source is to begin again, unless that has only just begun.
func (r *Reader) due(run *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.run != run || now.Before(run.when) {
		return
	}
	if len(r.come) == 0 && !r.partitioned() {
		run.asked = time.Time{} // all who have come take part, or are gone
		return
	}
	if left := run.began.Add(opening).Sub(now); left > 0 && run.took.Load() == 0 {
		left = min(left, quiet)
		run.when = now.Add(left)
		run.timer.Reset(left)
		return
	}
	run.stop()
}

// end is the end of a run. The reader's lock is held.
func (run *running) end() {
	if run.timer != nil {
		run.timer.Stop()
	}
}
