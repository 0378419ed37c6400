package pump

import (
	"sync/atomic"

	"github.com/graphd/graphd/internal/accumulator"
)

// looks is how the reactor asks a source whether there is more. Looks are numbered as they are asked for;
// one that begins answers all who have asked by then.
type looks struct {
	poke  chan struct{} // capacity 1: a look is asked for
	asked atomic.Int64  // the newest that was asked for; set by the reactor
	begun atomic.Int64  // the newest that has begun; set by the source
	told  int64         // the newest that is done; of the source's goroutine
}

// Looks reports whether the source looks whether there is more when it is asked to.
func (l *Line) Looks() bool {
	s, ok := l.cfg.Source.(accumulator.Looker)
	return ok && s.Looks()
}

// Ask asks the source for a look that begins from now on, and says which: a parcel of the kind Looked will
// have it, or one after it. It is for the reactor.
func (l *Line) Ask() (look int64) {
	look = l.looks.asked.Load()
	if l.looks.begun.Load() < look {
		return look // it has not begun
	}
	look++
	l.looks.asked.Store(look)
	select {
	case l.looks.poke <- struct{}{}:
	default:
	}
	return look
}

// Asked implements [accumulator.Asker].
func (l *Line) Asked() <-chan struct{} { return l.looks.poke }

// Look implements [accumulator.Asker].
func (l *Line) Look() (look int64) {
	look = l.looks.asked.Load()
	l.looks.begun.Store(look)
	return look
}

// Looked implements [accumulator.Asker].
func (l *Line) Looked(look int64) {
	if look > l.looks.told {
		l.looks.told = look
		l.say(&Parcel{Kind: Looked, Look: look})
	}
}
