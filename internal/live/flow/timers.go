package flow

import (
	"time"

	"github.com/graphd/graphd/internal/timeline"
)

// stand is a step where no event waits: engine time goes on to the next timer when all have been
// silent for long enough, or when what is full can only be freed by time.
func (f *Flow) stand() bool {
	if f.drive.Time().IsZero() {
		return false
	}
	passed := f.mono - f.stirred
	silent := passed >= f.idle
	due, ok := f.drive.Due(true)
	if !ok {
		return false
	}
	t := f.base.Add(time.Duration(passed))
	switch {
	case f.stuck > 0:
		if f.newest != timeline.Never {
			if newest := time.Unix(0, f.newest).UTC(); newest.After(t) {
				t = newest
			}
		}
	case !silent:
		f.listen(max(f.idle-passed, int64(due.Sub(t))))
		return false
	}
	if f.drive.Timer(t, silent) {
		return true
	}
	if !silent { // what only a silence makes due is not due before there is one
		f.waits = time.Duration(f.idle - passed)
		if due, ok = f.drive.Due(false); !ok {
			return false
		}
	}
	f.waits = min(f.waits, due.Sub(t))
	return false
}
