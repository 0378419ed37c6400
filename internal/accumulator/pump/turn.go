package pump

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// The reactor's side of a Line.

// Hand gives the line to a reactor, which is woken by wake when something comes. It comes before
// Run; wake never blocks.
func (l *Line) Hand(wake func()) {
	l.wake = wake
	l.pushes.recall = func() {
		l.pushes.recalled.Store(true)
		wake()
	}
	l.pushes.reader = l.cfg.Mailbox.claim(wake)
}

// Core is the accumulator's.
func (l *Line) Core() *accumulator.Core { return l.cfg.Core }

// Take appends what has come since the last call.
func (l *Line) Take(into []*Parcel) []*Parcel {
	if !l.news.Load() {
		return into
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news.Store(false)
	into = append(into, l.fresh...)
	clear(l.fresh)
	l.fresh = l.fresh[:0]
	return into
}

// Fold folds the n-th event of a parcel. One that panics becomes a dead letter.
func (l *Line) Fold(now time.Time, p *Parcel, n int) (poison *accumulator.PanicError) {
	ev, keeps := &p.Events[n], !l.cfg.Share.Echoes()
	defer func() {
		if r := recover(); r != nil {
			kept := *ev
			if kept.Raw != nil {
				kept.Value = boundary.Value{} // which may be lent
			}
			poison = &accumulator.PanicError{Value: r, Stack: debug.Stack(), Event: &kept}
			l.cfg.Core.Poison(now, &kept, keeps, fmt.Sprint(r))
		}
	}()
	if n == 0 {
		l.cfg.Fail.Hit("decode")
	}
	fate := p.load.fate(p.first+n, l.cfg.Share)
	switch {
	case p.Kind == Advance:
		l.cfg.Core.Advance(now, ev.Pos)
	case fate.Elsewhere:
		l.cfg.Core.Pass(now, ev, fate)
	case p.Timeless(n):
		l.cfg.Core.AddBad(now, ev, keeps, p.load.bads[p.first+n])
	default:
		l.cfg.Core.Dated(ev, dated(p.Times[n], p.load.own, p.load.lent))
		l.cfg.Core.Add(now, ev, keeps)
	}
	return nil
}

// Timeless says that the n-th event needs no engine time: it is a position only, or cannot be used.
func (p *Parcel) Timeless(n int) bool {
	return p.Kind == Advance || p.load.bads != nil && p.load.bads[p.first+n] != nil
}

// Coming reports whether something is folded here of the n-th event of a parcel.
func (l *Line) Coming(p *Parcel, n int) bool {
	return !p.Timeless(n) && !p.load.fate(p.first+n, l.cfg.Share).Elsewhere
}

// Done says that a parcel of events was folded: its stream has room again.
func (l *Line) Done(p *Parcel) {
	load := p.load
	l.mu.Lock()
	p.depth.events -= len(p.Events)
	p.depth.bytes -= load.bytes
	l.staged -= len(p.Events)
	if *p = (Parcel{}); len(l.spare) < maxSpare {
		l.spare = append(l.spare, p)
	}
	l.mu.Unlock()
	load.Release()
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// maxSpare bounds the parcels that are kept for reuse: as many as are on the way at once.
const maxSpare = 16

// Starve says whether the graph waits for something of the source that is not here: of a stream, or
// where that is "" of any.
func (l *Line) Starve(waiting bool, stream string) {
	l.mu.Lock()
	l.starved, l.starving = waiting, stream
	loader := l.loader
	l.mu.Unlock()
	if !waiting {
		return
	}
	select {
	case l.room <- struct{}{}:
	default:
	}
	if loader != nil {
		select {
		case loader.hungry <- struct{}{}: // another line may hold the reader back
		default:
		}
	}
}

// Drained says that all that the source has said was folded, and that the core has its mark.
func (l *Line) Drained() { close(l.drained) }

// Fail ends the line: Run returns err.
func (l *Line) Fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}
