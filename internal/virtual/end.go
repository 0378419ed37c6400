package virtual

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/reactor"
)

// ErrPutOff says that what came of the inputs of a run waits for a debounce that ticks put off for ever.
var ErrPutOff = errors.New("debounce is put off for ever")

// Close ends all inputs. Nothing comes any more, and time goes on as it does live in a silence: from one timer to the
// next, each at its own time, as long as something waits for it (M26). What no time completes is handed over then, and
// the stages end, one after the other.
func (g *Graph) Close() error {
	if err := g.Await(); err != nil {
		return err
	}
	return g.HandOver()
}

// Await has time go on until it completes nothing more of what the inputs hold open, and no epoch waits.
func (g *Graph) Await() error {
	g.core.Ending()
	return g.goOn(false)
}

// HandOver hands over what no time completes, such as a batch that waits for more, and then ends the stages. It comes
// behind Await: what a live graph says in a silence comes first.
func (g *Graph) HandOver() error {
	for _, a := range g.accs {
		if a != nil {
			a.EndOfInput(g.Now())
		}
	}
	err := g.goOn(true)
	for _, s := range g.core.Stages().All() {
		if err == nil {
			err = g.endStage(s)
		}
	}
	return err
}

// endStage has time go on until all is complete that a stage input holds open now, and then hands over what no time
// completes. What ticks have opened meanwhile stays open: as they go on, there would be no end of it.
func (g *Graph) endStage(s *stage.Stage) error {
	if last, ok := g.core.Stages().LastDue(s); ok {
		g.core.Waiting(s)
		if err := g.advance(last, true); err != nil {
			return err
		}
		if err := g.goOn(true); err != nil {
			return err
		}
	}
	if _, more := g.core.Stages().LastDue(s); more {
		return nil
	}
	if s.Counters().Open == 0 {
		return nil // and what ticks feed it yet is not late
	}
	g.core.EndStage(s)
	return g.goOn(true)
}

// goOn runs the graph to rest, through what is waited for. Where ticks are, each lane ticks once more whose nodes have
// not seen the end.
func (g *Graph) goOn(ticks bool) error {
	if err := g.Quiesce(); err != nil {
		return err
	}
	taken, lap := g.core.Taken(), 0
	for idle := 0; ; idle++ {
		at, opens, ok := g.drive.Awaited()
		owed := !ok && ticks
		if owed {
			lap++
			at, ok = g.core.OwedDue(lap)
		}
		if !ok {
			return nil
		}
		before := g.Now()
		g.core.Owing(owed)
		err := g.advance(at, true)
		g.core.Owing(false)
		if err != nil {
			return err
		}
		if now := g.core.Taken(); now != taken || opens && g.Now().After(before) {
			taken, idle = now, 0 // what is open becomes less each time
		}
		if idle >= reactor.DefaultMicroEpochs {
			return g.endless()
		}
	}
}

// endless says why what is awaited does not come. A debounce that runs out again and again, each time later, is put off
// by what ticks feed: live it would wait for ever.
func (g *Graph) endless() error {
	r := g.unit.Spec.Reactor
	if at, ok := g.core.AwaitedDue(); ok && r.Debounce > 0 && r.MaxWait == 0 && at.After(g.Now()) {
		return fmt.Errorf("%w: at %s what came of the inputs still waits, as it would live, since ticks bring "+
			"something new more often than every %s; set max_wait in reactor, or a debounce below the time "+
			"between ticks", ErrPutOff, g.Now().Format(time.RFC3339Nano), r.Debounce)
	}
	return livelock(g.Now())
}

// Left is what input i still holds open, in events, and whether time completes it. It does not of a window of so many
// events; rows of tables are not open, and what a stage holds may be of ticks, which have no end.
func (g *Graph) Left(i int) (open int64, timed bool) {
	acc, ticks := g.accs[i], false
	if s := g.core.Stages().Of(i); s != nil {
		acc, ticks = s.Core, len(g.unit.Plan.Rates()) > 0 || g.unit.Spec.Reactor.Every > 0
	}
	if acc == nil || g.core.Config().Inputs[i].Table != nil {
		return 0, false
	}
	_, timed = acc.Due()
	if !timed {
		_, timed = acc.QuietDue()
	}
	return acc.Counters().Open, timed && !ticks
}
