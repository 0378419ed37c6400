package differential

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/live/flow"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// mayfly is a live graph under the event clock on one goroutine, whose lives are a few steps long: what the
// store and the journal have is what the next one begins with.
type mayfly struct {
	u     *compile.Unit
	r     *rand.Rand
	lines map[string][]string // by input
	// sealed says before each step whether a checkpoint comes after it, dies whether that is the end of a life.
	sealed, dies func() bool

	head    checkpoint.Head
	cells   map[string]checkpoint.Cell
	journal []checkpoint.JournalEntry
	letters []string

	out    bytes.Buffer // of all lives, as the sink of stdout writes it
	sinks  []sink.Sink
	lives  int
	inside int // lives that ended within an instant
	books  map[string]books
}

// newMayfly makes one that has not lived. Every step is its last, with a checkpoint or in a journaled graph
// most often without one; or, when it is unlucky, the ends come now and then, and what follows a checkpoint is lost.
func newMayfly(u *compile.Unit, lines map[string][]string, seed uint64, unlucky bool) *mayfly {
	m := &mayfly{u: u, r: rand.New(rand.NewPCG(seed, 102)), lines: lines, cells: map[string]checkpoint.Cell{},
		books: map[string]books{}}
	one := func(in int) bool { return m.r.IntN(in) == 0 }
	m.dies, m.sealed = func() bool { return true }, func() bool { return !m.journaled() || one(40) }
	if unlucky {
		m.dies, m.sealed = func() bool { return one(6) }, func() bool { return one(6) }
	}
	to := stdout.NewOutput(&m.out)
	for range u.Spec.Outputs {
		m.sinks = append(m.sinks, to.Sink())
	}
	return m
}

func (m *mayfly) journaled() bool { return m.u.Spec.Durability.Mode == "journal" }

// live lives until all is read and nothing is left to do.
func (m *mayfly) live(ctx context.Context) error {
	for {
		m.lives++
		l, err := m.begin()
		if err != nil {
			return err
		}
		last := l.resumedAtEnd() // it has no end of its own
		for died := false; !died; {
			if err := l.step(ctx); err != nil {
				return err
			}
			if last && !l.busy && l.flow.Through() {
				err := l.checkpoint(ctx)
				for i := range m.u.Spec.Accumulators {
					b := &l.core.Look().Inputs[i].Books
					m.books[m.u.Spec.Accumulators[i].Name] = books{b.Received, b.Filtered, b.Conflated,
						b.DeadLettered + b.Rejected, b.Consumed, b.Queued}
				}
				return err
			}
			if m.sealed() {
				err = l.checkpoint(ctx)
			} else if m.journaled() {
				err = l.write(ctx)
			}
			if err != nil {
				return err
			}
			died = !last && !l.stuck && m.dies()
		}
		if _, open := l.core.Open(); open {
			m.inside++
		}
	}
}

// mayflyLife is one life.
type mayflyLife struct {
	*mayfly
	core  *reactor.Core
	flow  *flow.Flow
	pipes []*mayflySource
	said  []sink.Message // that is not in the journal yet
	busy  bool
	stuck bool // it has only found that there is no room: to go on it has to live for longer
}

// today is what the wall says: long after all that happens.
func today() time.Time { return zero.AddDate(1, 0, 0) }

func (m *mayfly) begin() (*mayflyLife, error) {
	cfg := m.u.Reactor()
	m.head.Incarnation++
	cfg.ID = checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: "random"}
	cfg.Instance, cfg.Incarnation, cfg.Fence = uuid.Max, m.head.Incarnation, m.head.Incarnation
	l := &mayflyLife{mayfly: m, core: reactor.NewCore(cfg)}
	cells := make([]checkpoint.Cell, 0, len(m.cells))
	for _, c := range m.cells { // in any order, as those of a store are
		cells = append(cells, c)
	}
	if _, err := l.core.Restore(m.head, cells); err != nil {
		return nil, err
	}
	replay := reactor.NewReplayer(l.core, m.head)
	for _, e := range m.journal {
		if err := replay.Entry(e); err != nil {
			return nil, err
		}
	}
	replay.Done()
	l.core.Begin()
	l.core.SetWall(today())
	l.flow = flow.New(flow.Config{
		Core: l.core, Host: l, Lanes: l, Wake: func() {}, Now: today, Mono: func() int64 { return 1 },
	})
	l.core.Start(l.flow.Time())
	for i := range m.u.Spec.Accumulators {
		if m.u.Spec.Accumulators[i].From != "" {
			continue // a stage
		}
		if err := l.enter(i); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// enter starts accumulator i.
func (l *mayflyLife) enter(i int) error {
	program := l.u.Programs[i]
	core := accumulator.NewCore(program, accumulator.Limits{})
	mark, state := l.core.ResumePoint(i)
	if err := core.RestoreMark(mark, state); err != nil {
		return err
	}
	name := l.u.Spec.Accumulators[i].Name
	s := &mayflySource{lines: l.lines[name]}
	for _, p := range mark.Positions {
		s.next = int(p.Offset)
	}
	s.line = pump.NewLine(pump.LineConfig{
		Name: name, Core: core, Source: s, Mailbox: pump.NewMailbox(0, 0), From: mark.Positions, Port: noPort{},
		Dater: func() *accumulator.Dater { return accumulator.NewDater(program, accumulator.Limits{}) }, Now: today,
	})
	l.pipes = append(l.pipes, s)
	l.flow.Enter(i, s.line)
	l.core.SetHealth(l.flow.Time(), i, accumulator.Live, "", "")
	return nil
}

// resumedAtEnd says, before the first step, that the lives before have taken in all there is.
func (l *mayflyLife) resumedAtEnd() bool {
	return !slices.ContainsFunc(l.pipes, func(s *mayflySource) bool { return s.next < len(s.lines) })
}

// step reads a little and does one thing: it folds an event, goes to a timer, or runs an epoch.
func (l *mayflyLife) step(ctx context.Context) error {
	l.busy = false
	for _, s := range l.pipes {
		l.busy = l.busy || !s.told
		if !s.told && l.r.IntN(2) == 0 {
			if err := s.read(ctx, 1+l.r.IntN(4)); err != nil {
				return err
			}
		}
	}
	came := l.flow.Admit()
	done, fired, _ := l.flow.Turn(today())
	l.busy = l.busy || came || done || fired > 0
	l.stuck = fired == 0 && len(l.flow.Stuck()) > 0
	l.said = append(l.said, l.core.Released()...)
	l.core.ResetReleased()
	if l.journaled() {
		return nil
	}
	return l.tell(ctx)
}

// tell lets out what was said.
func (l *mayflyLife) tell(ctx context.Context) error {
	for i := range l.said {
		if err := l.sinks[l.said[i].To].Deliver(ctx, l.said[i:i+1]); err != nil {
			return err
		}
	}
	l.said = nil
	return nil
}

// write appends to the journal; what follows from it may be told then.
func (l *mayflyLife) write(ctx context.Context) error {
	l.flow.Settle()
	l.journal = append(l.journal, l.core.DrainJournal()...)
	return l.tell(ctx)
}

// checkpoint makes durable what there is.
func (l *mayflyLife) checkpoint(ctx context.Context) error {
	if err := l.write(ctx); err != nil {
		return err
	}
	seal := l.core.Seal(l.flow.Time())
	c := seal.Commit()
	l.core.Sealed(seal, nil)
	for _, cell := range c.Cells {
		if at := cell.Kind + "\x00" + cell.Name + "\x00" + cell.Key; cell.Data == nil {
			delete(l.cells, at)
		} else {
			l.cells[at] = cell
		}
	}
	for _, d := range c.DeadLetters {
		shown, _ := api.Payload(d.Payload)
		l.letters = append(l.letters, letter(d.Accumulator, d.Stage, d.Code, string(shown)))
	}
	l.head.Epoch, l.head.Meta, l.journal = c.Epoch, c.Meta, nil
	return nil
}

// Grant implements [flow.Host]; Called has every turn be one step.
func (l *mayflyLife) Grant(time.Time) int { return 1 }

// Open implements [flow.Host].
func (l *mayflyLife) Open() bool { return true }

// Called implements [flow.Host].
func (l *mayflyLife) Called() bool { return true }

// Deserted implements [flow.Host].
func (l *mayflyLife) Deserted() bool { return false }

// Roomy implements [flow.Lanes].
func (l *mayflyLife) Roomy(int) bool { return true }

// Took implements [flow.Lanes].
func (l *mayflyLife) Took(int, *accumulator.Handoff) {}

// Free implements [flow.Lanes].
func (l *mayflyLife) Free(int, reactor.Credit) {}

// noPort hears nothing: the test says itself how accumulators are.
type noPort struct{}

// Put implements [accumulator.Port].
func (noPort) Put(context.Context, *accumulator.Handoff) error { return nil }

// Health implements [accumulator.Port].
func (noPort) Health(accumulator.Health, string, string) {}

// mayflySource is a file that is read when the test says so.
type mayflySource struct {
	lines []string
	line  *pump.Line
	next  int
	told  bool // that it has caught up
}

// Follows implements [accumulator.Follower].
func (s *mayflySource) Follows() bool { return true }

// Run implements [accumulator.Source].
func (s *mayflySource) Run(context.Context, []boundary.Position, accumulator.Out) error {
	return errors.New("nobody runs it")
}

// read hands over up to n lines, and says so when there are no more.
func (s *mayflySource) read(ctx context.Context, n int) error {
	var batch []boundary.Event
	for ; n > 0 && s.next < len(s.lines); n-- {
		s.next++
		batch = append(batch, boundary.Event{Raw: []byte(s.lines[s.next-1]),
			Pos: boundary.Position{Stream: "in", Offset: int64(s.next)}})
	}
	if err := s.line.Emit(ctx, batch); err != nil {
		return err
	}
	if s.told = s.next == len(s.lines); s.told {
		s.line.CaughtUp("", true)
	}
	return nil
}
