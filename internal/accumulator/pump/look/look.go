// Package look has a reactor ask a source whether there is more. Looks are numbered as they are asked for; one that
// begins answers all who have asked by then.
//
// # Concurrency
//
// [Looks.Ask] is for the reactor's goroutine, the rest for the source's. Nothing is started.
package look

import "sync/atomic"

// Looks are those of one source.
type Looks struct {
	poke  chan struct{} // capacity 1: a look is asked for
	asked atomic.Int64  // the newest that was asked for; set by the reactor
	begun atomic.Int64  // the newest that has begun; set by the source
	told  int64         // the newest that is done; of the source's goroutine
}

// New makes Looks, none of which is asked for.
func New() *Looks { return &Looks{poke: make(chan struct{}, 1)} }

// Ask asks the source for a look that begins from now on, and says which: that it is done will be told, or that one
// after it is.
func (l *Looks) Ask() (look int64) {
	look = l.asked.Load()
	if l.begun.Load() < look {
		return look // it has not begun
	}
	look++
	l.asked.Store(look)
	select {
	case l.poke <- struct{}{}:
	default:
	}
	return look
}

// Asked implements [accumulator.Asker].
func (l *Looks) Asked() <-chan struct{} { return l.poke }

// Look implements [accumulator.Asker].
func (l *Looks) Look() (look int64) {
	look = l.asked.Load()
	l.begun.Store(look)
	return look
}

// Answers reports whether it is to be told that a look is done: one after it may be already.
func (l *Looks) Answers(look int64) bool {
	if look <= l.told {
		return false
	}
	l.told = look
	return true
}
