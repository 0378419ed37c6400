package live

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// Why a value cannot be sent again just now.
var (
	// ErrReplaying says that a replay of the letter is under way.
	ErrReplaying = errors.New("its replay is under way")
	// ErrNoRoom says that the output has as much to deliver as it may.
	ErrNoRoom = errors.New("the output has as much waiting as it may")
	// ErrNoDelivery says that nothing is delivered from the output.
	ErrNoDelivery = errors.New("nothing is delivered from the output: only watchers see it")
)

// resent is a dead letter whose replay is in the core, or with its writer. The letter is discarded by the commit
// that makes the replay durable, so that a crash leaves the one or the other.
type resent struct {
	letter string
	to     int // the output; -1 for events, which the state holds
	seq    int64
	again  bool // its sink has refused it again: the letter of that takes its place
}

// Resent is a letter to send again, and who is told what became of it.
type Resent struct {
	Letter  *checkpoint.DeadLetter
	To      int // the output
	Settled func(code, reason string)
}

// Resend sends values again that their sinks refused, each by its output's own path and behind what that has
// taken so far. It answers for each why not. [Reactor.Durable] says when the letters are gone.
func (r *Reactor) Resend(ctx context.Context, list []Resent) ([]error, error) {
	return ask(ctx, r, func(now time.Time) ([]error, error) {
		why, given := make([]error, len(list)), make([]int, len(r.Writers))
		for i, l := range list {
			if why[i] = r.mayResend(&l, given[l.To]); why[i] != nil {
				continue
			}
			seq, err := r.Core.Resend(now, l.To, l.Letter, l.Settled)
			if why[i] = err; err == nil {
				given[l.To]++
				r.resent = append(r.resent, resent{letter: l.Letter.ID, to: l.To, seq: seq})
			}
		}
		r.shown.stirred = true
		return why, nil
	})
}

// MayResend says why a value could not be sent again now.
func (r *Reactor) MayResend(ctx context.Context, l Resent) (why error, err error) {
	return ask(ctx, r, func(time.Time) (error, error) { return r.mayResend(&l, 0), nil })
}

// mayResend says why a letter cannot be sent again now; given is what its output was given before it.
func (r *Reactor) mayResend(l *Resent, given int) error {
	for i := range r.resent {
		if r.resent[i].letter == l.Letter.ID {
			return ErrReplaying
		}
	}
	held, bytes := r.Core.Held()
	full := held >= maxHeld || bytes >= maxHeldBytes || r.Core.DeadLettersPending() >= reactor.MaxDeadLetters
	w, path := r.Writers[l.To], reactor.PathDirect
	if routes := r.Core.Config().Routes; routes != nil {
		path = routes[l.To].Path
	}
	switch {
	case path == reactor.PathCoTransaction:
	case w == nil:
		return ErrNoDelivery
	case path == reactor.PathOutbox:
		full = full || w.Free()-held <= 0
	default:
		full = full || w.Free()-r.pipe.waiting-given <= 0
	}
	if full {
		return ErrNoRoom
	}
	return nil
}

// Replayed says that events of dead letters were pushed and taken: the next commit covers them, and discards
// the letters.
func (r *Reactor) Replayed(ctx context.Context, letters []string) error {
	return tell(ctx, r, func(time.Time) error {
		for _, id := range letters {
			r.resent = append(r.resent, resent{letter: id, to: -1})
		}
		return nil
	})
}

// discardable are the letters that a seal made now covers. Where no checkpoint carries what is on the direct
// path over, a letter stays until its value is through.
func (r *Reactor) discardable() (letters []string) {
	for i := range r.resent {
		if l := &r.resent[i]; !r.forgets(l) || l.again || r.Writers[l.to].Delivered() >= l.seq {
			letters = append(letters, l.letter)
		}
	}
	return letters
}

// forgets reports whether a crash would lose what was sent again from a letter, although a commit covers it.
func (r *Reactor) forgets(l *resent) bool {
	return l.to >= 0 && r.Core.Config().Forgetful && r.Writers[l.to] != nil
}

// discarded forgets the letters that a commit has discarded.
func (r *Reactor) discarded(letters []string) {
	r.resent = slices.DeleteFunc(r.resent, func(l resent) bool { return slices.Contains(letters, l.letter) })
}

// drainRefused makes dead letters of what the writers have refused, and answers the messages.
func (r *Reactor) drainRefused() (list []sink.Message) {
	for range len(r.refused) {
		f := <-r.refused
		r.deadLetter(f)
		list = append(list, f.m)
	}
	return list
}

func (r *Reactor) deadLetter(f *refusal) {
	r.Core.DeadLetterMessage(&f.m, f.code, f.reason)
	r.shown.stirred = true
	for i := range r.resent {
		l := &r.resent[i]
		l.again = l.again || f.m.Again != nil && f.m.Again.Letter == l.letter
	}
	if s := r.inflight; s != nil && !s.launched { // it waits for the journal, and was made without this letter
		s.late = append(s.late, f.m)
	}
}
