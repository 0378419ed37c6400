package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// How often a followed file is looked at by itself: soon after it grew, less often when it rests.
// One look is two stat calls.
const (
	minPoll = 50 * time.Millisecond
	maxPoll = 250 * time.Millisecond
)

// rotateQuiet is how long a renamed file must rest before it is finished: its writer may
// still hold it open for a while after the new one is there.
const rotateQuiet = time.Second

// await waits until there is something to read, looking at the file again and again.
func (t *tail) await(ctx context.Context) error {
	for wait, rested := time.Duration(0), time.Duration(0); ; {
		look := t.asker.Look()
		grown, err := t.look()
		if err != nil {
			return t.replaced(ctx, err)
		}
		if t.pace(!grown && !t.rotated); t.caughtUp {
			t.asker.Looked(look)
		}
		if grown {
			t.quiet = 0
			return nil
		}
		if t.rotated {
			if t.quiet += rested; t.quiet >= rotateQuiet {
				return t.next(ctx)
			}
		}
		if rested >= wait { // it was not asked for
			wait = min(wait+minPoll, maxPoll)
		}
		if rested, err = t.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// look sees whether the open file has grown, and whether the name still means it. The
// error is a *DataLost when what was read is not in it any more.
func (t *tail) look() (grown bool, err error) {
	st, err := t.file.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the file: %w", err)
	}
	read := t.reader.f.read()
	if st.Size() < read {
		return false, t.lost(t.position(), st.Size())
	}
	if !st.ModTime().Equal(t.changed) || st.Size() > read {
		// Truncated and written anew between two looks, it may be as long as before.
		have, err := fingerprintOf(t.file, t.print.n)
		if err != nil {
			return false, err
		}
		if have != t.print {
			return false, t.lost(t.position(), st.Size())
		}
		t.changed = st.ModTime()
	}
	t.lookAtName(st)
	return st.Size() > read, nil
}

// lookAtName sees what the file's name means now.
func (t *tail) lookAtName(open os.FileInfo) {
	named, err := os.Stat(t.cfg.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		t.say(accumulator.Disconnected, "the file is gone; waiting for a new one")
	case err != nil:
		t.say(accumulator.Disconnected, "the file cannot be looked at: "+err.Error())
	case !os.SameFile(open, named):
		t.rotated = true
	default:
		t.rotated = false
		t.say(accumulator.Live, "")
	}
}

// pace tells whether all there is has been handed over; a file that was renamed is followed by
// another.
func (t *tail) pace(caughtUp bool) {
	if t.caughtUp != caughtUp {
		t.caughtUp = caughtUp
		accumulator.CaughtUp(t.out, "", caughtUp)
	}
}

// position is where the run stands.
func (t *tail) position() boundary.Position {
	return boundary.Position{Stream: t.print.stream(), Offset: t.reader.f.offset}
}

// replaced acts on a file that lost what was read: by the error, or by reading it anew.
func (t *tail) replaced(ctx context.Context, err error) error {
	if lost := new(accumulator.DataLost); t.cfg.OnTruncate != "restart" || !errors.As(err, &lost) {
		return err
	}
	return t.startOver(ctx)
}

// next finishes a file that was renamed and goes on with the one that has its name now.
func (t *tail) next(ctx context.Context) error {
	if err := t.drain(ctx, true); err != nil {
		return err
	}
	return t.startOver(ctx)
}

// startOver reads the file that has the name now from its beginning, and says that what
// was before it is done, so that a restart does not look for it.
func (t *tail) startOver(ctx context.Context) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx, 0); err != nil {
		return err
	}
	return t.out.Advance(ctx, t.position())
}

// rest waits for d, or until a look is asked for, and says for how long.
func (t *tail) rest(ctx context.Context, d time.Duration) (time.Duration, error) {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.asker.Asked():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return time.Since(began), nil
}
