package reader

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/boundary"
)

// session is one run of the source for those who take part, and its Out.
type session struct {
	r      *Reader
	loader *pump.Loader
	order  Ordered // nil: the source does not know it
	run    *running
	ctx    context.Context // while the session lasts

	// turn has a place for one: the source's goroutine, or that of one who comes. It guards what follows.
	turn     chan struct{}
	members  []*member
	within   []context.Context // by member: while it and the session last
	leave    []func()          // by member: lets its context go
	together bool              // all stood where the source has begun
	recent   recent
	said     told
	gave     bool      // somebody was given something of the load
	vain     time.Time // since when nobody was given anything; zero where the last load was

	looks int64   // begun so far
	asked []int64 // by member: what the last of them answers
}

// session runs the source from the least position of the members, until it ends or is to begin again.
//
// It answers with the source where that may be run again, and is given the one of the session before, nil for none.
func (r *Reader) session(ctx context.Context, loader *pump.Loader, source accumulator.Source) accumulator.Source {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var err error
	if source == nil {
		source, err = r.cfg.Open()
	}
	s := &session{r: r, loader: loader, ctx: ctx, turn: make(chan struct{}, 1)}
	s.order, _ = source.(Ordered)
	s.take() // until it runs
	if lasts, ok := source.(accumulator.Lasting); ok {
		lasts.Last()
	}
	r.mu.Lock()
	s.members = slices.Clone(r.members)
	r.come, r.left = nil, map[int]time.Time{}
	r.source, r.run = source, &running{stop: stop, began: time.Now(), keeps: s.shares()}
	if s.run = r.run; s.run.keeps {
		r.runs = s
	}
	r.mu.Unlock()
	if err == nil && len(s.members) > 0 {
		var at places
		at, s.together = s.begin(source)
		s.recent.from, s.recent.last = at.clone(), s.run.began
		err = s.read(source, at.positions())
		s.recent.forget()
		if lost := new(accumulator.DataLost); errors.As(err, &lost) && !s.together {
			err = errAlone // whose position it is, each finds out for itself
		}
	}
	r.mu.Lock()
	r.source, r.run, r.runs = nil, nil, nil
	s.run.end()
	r.mu.Unlock()
	lasts, _ := source.(accumulator.Lasting)
	if ctx.Err() != nil && lasts != nil {
		return source // it is to begin again, or nobody takes part
	}
	if lasts != nil {
		lasts.Close()
	}
	if ctx.Err() == nil {
		s.each(func(_ int, m *member) { r.dismiss(m, err) })
	}
	return nil
}

// begin finds where the source begins, which leaves out who reads alone. together says that it is where all stand.
func (s *session) begin(source accumulator.Source) (at places, together bool) {
	together, began := true, false
	if s.r.partitioned() {
		at, together = s.portion(source)
		return at, together
	}
	s.each(func(_ int, m *member) {
		if !began {
			at, began = m.at, true
			return
		}
		to, known := least(s.order, at, m.at)
		if !known {
			s.r.dismiss(m, errAlone)
			return
		}
		together = together && to.same(at) && to.same(m.at)
		at = to
	})
	at = at.clone()
	s.asked = make([]int64, len(s.members))
	s.each(func(_ int, m *member) {
		m.ahead = m.at.beyond(at)
		if follows(source) {
			m.forget()
		}
	})
	return at, together
}

// portion has the source read the partitions of the members, and finds where it begins: each stands in its own
// partitions alone. together says that there is one of them.
func (s *session) portion(source accumulator.Source) (at places, together bool) {
	at = places{}
	mine := map[int]bool{}
	s.asked = make([]int64, len(s.members))
	s.each(func(_ int, m *member) {
		mine[m.shard] = true
		maps.Copy(at, m.at)
		if m.ahead = nil; follows(source) {
			m.forget()
		}
	})
	if p, ok := source.(accumulator.Partitioned); ok {
		p.Portion(s.r.cfg.Share.Of, func(shard int) bool { return mine[shard] })
	}
	return at, len(mine) == 1
}

// read runs the source. A panic of it is an error.
//
// The turn is the caller's, and is again when it ends.
func (s *session) read(source accumulator.Source, from []boundary.Position) (err error) {
	s.loader.Gate.Tell(s.held)
	for _, m := range s.members {
		s.open(m)
	}
	defer func() {
		for _, leave := range s.leave {
			leave()
		}
	}()
	defer s.take()
	defer func() {
		if caught := recover(); caught != nil {
			err = &accumulator.PanicError{Value: caught, Stack: debug.Stack()}
		}
	}()
	s.end()
	return source.Run(s.ctx, from, s)
}

// take takes the turn, and end gives it back.
func (s *session) take() { s.turn <- struct{}{} }
func (s *session) end()  { <-s.turn }

// open makes the context of a member.
func (s *session) open(m *member) {
	giving, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	s.within = append(s.within, giving)
	s.leave = append(s.leave, func() { stop(); cancel() })
}

// all is each, in a turn of its own.
func (s *session) all(do func(i int, m *member)) {
	s.take()
	defer s.end()
	s.each(do)
}

// each does something with all who still take part.
func (s *session) each(do func(i int, m *member)) {
	for i, m := range s.members {
		s.with(m, func() { do(i, m) })
	}
}

// with does something with a member, if that takes part still.
func (s *session) with(m *member, do func()) (takesPart bool) {
	m.giving.Lock()
	defer m.giving.Unlock()
	if m.gone.Load() {
		return false
	}
	do()
	return true
}

// Batch implements [accumulator.Recycler].
func (s *session) Batch(n int) []boundary.Event { return s.loader.Batch(n) }

// Emit implements [accumulator.Out].
func (s *session) Emit(ctx context.Context, batch []boundary.Event) error {
	s.run.has() // a position alone would not say how soon the source is open
	return s.loader.Emit(ctx, s.now(), batch, s.give)
}

// now is the present time as those who take part know it.
func (s *session) now() time.Time {
	s.take()
	defer s.end()
	for _, m := range s.members {
		if !m.gone.Load() {
			return m.out.Now()
		}
	}
	return time.Now() // nobody is given what comes
}

// Refuse implements [accumulator.Out].
func (s *session) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	return s.loader.Refuse(ctx, ev, bad, s.give)
}

// Advance implements [accumulator.Out].
func (s *session) Advance(_ context.Context, pos boundary.Position) error {
	return s.loader.Advance(pos, s.give)
}

// give hands a load to all members.
func (s *session) give(d *pump.Load) (err error) {
	events := d.Events()
	s.take()
	for held := s.holds(events); held != nil; held = s.holds(events) {
		s.end() // who comes meanwhile comes up to the others
		select {
		case <-held:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		s.take()
	}
	defer s.end()
	s.gave = false
	s.each(func(i int, m *member) {
		if err == nil && m.reads(events[0].Pos.Stream) {
			err = s.giveTo(i, m, d)
		}
	})
	s.keep(d)
	s.useless()
	return err
}

// useless ends a run that has given nobody anything for a while, since the one that was behind the others has left: the
// source begins again where they are.
func (s *session) useless() {
	switch now := time.Now(); {
	case s.gave:
		s.vain = time.Time{}
	case s.vain.IsZero():
		s.vain = now
	case now.Sub(s.vain) > patience:
		s.run.stop()
	}
}

// held tells all members that read a stream that what is here of it is held back.
func (s *session) held(stream string, h pace.Held) {
	s.take()
	defer s.end()
	s.said.heldBack(stream, h)
	s.each(func(_ int, m *member) {
		if h == pace.Free || m.reads(stream) {
			m.out.Held(stream, h)
		}
	})
}

// holds is closed when the reader is held no more, and nil where these events may be given: it is not held, or somebody
// is behind another with them.
func (s *session) holds(events []boundary.Event) (held chan struct{}) {
	s.r.mu.Lock()
	held = s.r.held
	s.r.mu.Unlock()
	if held == nil {
		return nil
	}
	s.each(func(_ int, m *member) {
		if m.reads(events[0].Pos.Stream) {
			if first, _ := s.past(m, events); first > 0 {
				held = nil
			}
		}
	})
	return held
}

// giveTo hands to one member what it is not past.
func (s *session) giveTo(i int, m *member, d *pump.Load) error {
	first, known := s.past(m, d.Events())
	switch {
	case !known:
		m.out.Held("", pace.Free)
		s.r.dismiss(m, errAlone)
		return nil
	case first == len(d.Events()):
		return nil
	}
	if err := m.out.Give(s.within[i], d, first, s.starved); err != nil {
		if m.ctx.Err() != nil {
			return nil // it leaves
		}
		return err
	}
	s.gave = true
	events := d.Events()
	for i := range events {
		if endsStream(events, i) {
			m.at.move(events[i].Pos)
			delete(m.ahead, nameOf(events[i].Pos.Stream))
		}
	}
	return nil
}

// endsStream says that the i-th event of a load is the last of its stream there.
func endsStream(events []boundary.Event, i int) bool {
	return i == len(events)-1 || events[i+1].Pos.Stream != events[i].Pos.Stream
}

// past is how many of a load's events a member is past; known is false where that cannot be said. It is asked twice of
// one load while the reader is held.
func (s *session) past(m *member, events []boundary.Event) (n int, known bool) {
	if len(m.ahead) == 0 {
		return 0, true
	}
	name := nameOf(events[0].Pos.Stream)
	to, ahead := m.ahead[name]
	if !ahead {
		return 0, true
	}
	if s.order == nil {
		return 0, false
	}
	for n = range events {
		beyond, known := s.order.Behind(to, events[n].Pos)
		if !known {
			return 0, false
		}
		if beyond {
			return n, true
		}
	}
	return len(events), true
}

// starved says that a member waits for what is not here.
func (s *session) starved() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return !m.gone.Load() && m.out.Starved() })
}
