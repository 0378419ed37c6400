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
	r       *Reader
	loader  *pump.Loader
	order   Ordered // nil: the source does not know it
	run     *running
	members []*member
	within  []context.Context // by member: while it and the session last
	ctx     context.Context   // while the session lasts

	ends  []boundary.Position // of the streams of the load that is given
	looks int64               // begun so far
	asked []int64             // by member: what the last of them answers
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
	s := &session{r: r, loader: loader}
	s.order, _ = source.(Ordered)
	if lasts, ok := source.(accumulator.Lasting); ok {
		lasts.Last()
	}
	r.mu.Lock()
	s.members = slices.Clone(r.members)
	r.source, r.run = source, &running{stop: stop, began: time.Now()}
	s.run = r.run
	r.mu.Unlock()
	if err == nil && len(s.members) > 0 {
		at, together := s.begin(source)
		err = s.read(ctx, source, at.positions())
		if lost := new(accumulator.DataLost); errors.As(err, &lost) && !together {
			err = errAlone // whose position it is, each finds out for itself
		}
	}
	r.mu.Lock()
	r.source, r.run = nil, nil
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
func (s *session) read(ctx context.Context, source accumulator.Source, from []boundary.Position) (err error) {
	s.ctx = ctx
	s.loader.Gate.Tell(s.held)
	for _, m := range s.members {
		giving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(m.ctx, cancel)()
		s.within = append(s.within, giving)
	}
	defer func() {
		if caught := recover(); caught != nil {
			err = &accumulator.PanicError{Value: caught, Stack: debug.Stack()}
		}
	}()
	return source.Run(ctx, from, s)
}

// each does something with all who still take part.
func (s *session) each(do func(i int, m *member)) {
	for i, m := range s.members {
		m.giving.Lock()
		if !m.gone.Load() {
			do(i, m)
		}
		m.giving.Unlock()
	}
}

// Batch implements [accumulator.Recycler].
func (s *session) Batch(n int) []boundary.Event { return s.loader.Batch(n) }

// Emit implements [accumulator.Out].
func (s *session) Emit(ctx context.Context, batch []boundary.Event) error {
	s.run.has() // a position alone would not say how soon the source is open
	return s.loader.Emit(ctx, s.members[0].out.Now(), batch, s.give)
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
	if err := s.hold(events); err != nil {
		return err
	}
	s.ends = s.ends[:0]
	for i := range events {
		if i == len(events)-1 || events[i+1].Pos.Stream != events[i].Pos.Stream {
			s.ends = append(s.ends, events[i].Pos)
		}
	}
	s.each(func(i int, m *member) {
		if err == nil && m.reads(events[0].Pos.Stream) {
			err = s.giveTo(i, m, d)
		}
	})
	return err
}

// held tells all members that read a stream that what is here of it is held back.
func (s *session) held(stream string, h pace.Held) {
	s.each(func(_ int, m *member) {
		if h == pace.Free || m.reads(stream) {
			m.out.Held(stream, h)
		}
	})
}

// hold waits while the reader is held, but with what somebody is behind another with.
func (s *session) hold(events []boundary.Event) error {
	s.r.mu.Lock()
	held := s.r.held
	s.r.mu.Unlock()
	if held == nil {
		return nil
	}
	apart := false
	s.each(func(_ int, m *member) {
		if m.reads(events[0].Pos.Stream) {
			first, _ := s.past(m, events)
			apart = apart || first > 0
		}
	})
	if apart {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
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
	for _, pos := range s.ends {
		m.at.move(pos)
		delete(m.ahead, nameOf(pos.Stream))
	}
	return nil
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

// Health implements [accumulator.Out].
func (s *session) Health(h accumulator.Health, detail string) {
	s.each(func(_ int, m *member) { m.out.Health(h, detail) })
}

// Trouble implements [accumulator.Troubled].
func (s *session) Trouble(code, detail string) {
	s.each(func(_ int, m *member) { accumulator.Trouble(m.out, code, detail) })
}

// CaughtUp implements [accumulator.Pace].
func (s *session) CaughtUp(stream string, caughtUp bool) {
	s.each(func(_ int, m *member) {
		if m.reads(stream) {
			m.caughtUp(stream, caughtUp)
		}
	})
}

func (m *member) caughtUp(stream string, caughtUp bool) {
	m.behind[stream] = !caughtUp
	accumulator.CaughtUp(m.out, stream, caughtUp)
}

// forget makes void what an earlier session has said of how far it has come: the source as a whole is behind, and of
// its streams nothing is known.
func (m *member) forget() {
	if len(m.behind) == 0 {
		return
	}
	m.caughtUp("", false)
	for stream, behind := range m.behind {
		if behind && stream != "" {
			m.caughtUp(stream, true)
		}
	}
}

// Asked implements [accumulator.Asker].
func (s *session) Asked() <-chan struct{} { return s.r.asked }

// Look implements [accumulator.Asker].
func (s *session) Look() int64 {
	s.looks++
	s.each(func(i int, m *member) { s.asked[i] = accumulator.AskerOf(m.out).Look() })
	return s.looks
}

// Looked implements [accumulator.Asker]. A look that another has begun after answers nobody.
func (s *session) Looked(look int64) {
	if look == s.looks {
		s.each(func(i int, m *member) { accumulator.AskerOf(m.out).Looked(s.asked[i]) })
	}
}
