package window

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// Sessions folds events into sessions by key: the events between which no pause is as long as the gap (M3). A session
// is from its first event to its last one and the gap; what closes it, and when, is as for a [Window].
type Sessions struct {
	timely
	shelf pane.Shelf[*session]
	ends  endings // of those that are open
	gones endings // of those that were handed over: when they can change no more

	touched []int32    // scratch: slots of sessions that an event is in
	due     []*session // scratch
}

// session is one session of a key.
type session struct {
	pane.Pane
	start, end int64
	handed     bool // as a whole, or some of it was before it grew
	closed     bool // it is complete, and nothing has come since that is to be waited for
}

// Owned implements [pane.Shelved].
func (x *session) Owned(gen *fold.Generation) *session {
	c := new(*x)
	c.Gen, c.Cells = gen, aggregate.Clone(x.Cells)
	return c
}

// NewSessions makes an empty fold.
func NewSessions(p *Program) *Sessions {
	return &Sessions{timely: newTimely(p), shelf: pane.NewShelf[*session]()}
}

// Add implements [fold.Folder].
func (s *Sessions) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	f, engine := in.Facts, now.UnixNano()
	if text := s.p.calls.Check(f.Args); text != "" {
		in.Bad = &fold.BadEvent{Stage: stage, Code: expression.CodeTypeError, Text: text}
		return out, fold.Refused
	}
	if !s.p.timed {
		f.At = engine
		if s.astray {
			out = s.setBack(engine, out)
		}
		if s.wm.To(engine - int64(s.p.Lateness)) {
			out = s.advance(out)
		}
	}
	// Its time alone decides, as in windows on the grid, so that it is the same whatever is open of its key: what
	// comes later than it may closes no gap between sessions.
	end := f.At + int64(s.p.Gap)
	if end <= s.kept() {
		return out, s.late(in)
	}
	hash := s.hash(f)
	s.touched = s.in(hash, f.Key, f.At, end, s.touched[:0])
	if len(s.touched) == 0 && s.shelf.Len() >= MaxPanes {
		in.Bad = &fold.BadEvent{Stage: "window", Code: "window_full", Text: fmt.Sprintf(
			"more than %d sessions would be open; are the times right?", MaxPanes)}
		return out, fold.Refused
	}
	slot := s.join(hash, f, in)
	x := s.shelf.Own(slot, s.gen)
	x.start, x.end = min(x.start, f.At), max(x.end, end)
	s.fold(x, f, in.Event, in.At.UnixNano())
	out = s.settle(slot, x, out)
	if s.p.Early > 0 && s.earlyAt == watermark.NoTime {
		s.earlyAt = engine + int64(s.p.Early)
	}
	if s.p.timed && !s.p.follows && s.wm.Saw(in.Event.Pos.Stream, f.At, engine, in.Number) {
		out = s.advance(out)
	}
	return out, fold.Folded
}

// in appends the slots of the sessions of a key that have a moment between from and to.
func (s *Sessions) in(hash uint64, key boundary.Value, from, to int64, slots []int32) []int32 {
	for slot, x := range s.shelf.With(hash) {
		if x.start < to && from < x.end && pane.Same(x.Key, key) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// join is the slot of the one session that the event is in: of those that it touches, which become one, or a new one.
func (s *Sessions) join(hash uint64, f *fold.Facts, in *fold.Input) int32 {
	if len(s.touched) == 0 {
		return s.shelf.Add(&session{
			Pane: pane.Pane{Gen: s.gen, Hash: hash, Key: f.Key.Compact(), First: in.Event.Pos, At: in.At.UnixNano(),
				Cells: make([]aggregate.Cell, s.p.calls.Len())},
			start: f.At, end: f.At, closed: true, // until it is settled
		}, s.gen)
	}
	slices.SortFunc(s.touched, func(a, b int32) int {
		return cmp.Compare(s.shelf.At(a).start, s.shelf.At(b).start)
	})
	first := s.touched[0]
	for _, slot := range s.touched[1:] {
		x, later := s.shelf.Own(first, s.gen), s.shelf.At(slot)
		s.p.calls.Join(x.Cells, later.Cells)
		x.Owes += later.Owes
		x.end, x.handed, x.Dirty = later.end, x.handed || later.handed, x.Dirty || later.Dirty
		x.closed = x.closed && later.closed
		x.Links = x.Links.Join(later.Links)
		if later.First.Stream == x.First.Stream && later.First.Offset < x.First.Offset {
			x.First = later.First
		}
		if later.At > x.At {
			x.At, x.Last = later.At, later.Last
		}
		s.shelf.Remove(slot, s.gen)
	}
	return first
}

func (s *Sessions) fold(x *session, f *fold.Facts, ev *boundary.Event, arrived int64) {
	x.Owes++
	s.owed++
	x.At, x.Last, x.Dirty = max(x.At, arrived), ev.Pos, s.p.Early > 0
	x.Links = x.Links.Join(ev.Links)
	s.p.calls.Add(x.Cells, f.At, f.Args)
}

// settle has a session that has changed wait for its end. One whose end has passed is handed over at once, again if it
// was before.
func (s *Sessions) settle(slot int32, x *session, out []boundary.Boundary) []boundary.Boundary {
	waited := !x.closed
	if x.closed = x.end <= s.wm.Mark; x.closed {
		out = s.emit(x, moodUpdate, out)
		s.push(&s.gones, x.end+int64(s.p.Retain), slot)
		return out
	}
	// One that waits already is looked at when its former end comes: its events need not move it each time.
	if !waited || len(s.touched) > 1 {
		s.push(&s.ends, x.end, slot)
	}
	return out
}

// emit hands a session over, and takes the events off it that this accounts for.
func (s *Sessions) emit(x *session, m mood, out []boundary.Boundary) []boundary.Boundary {
	events := int64(0)
	if m != moodEarly {
		events = x.Owes
	}
	x.Owes -= events
	s.owed -= events
	x.Dirty, x.handed = false, x.handed || m != moodEarly
	return s.hand(&x.Pane, x.start, x.end, m, events, out)
}

// advance hands over the sessions that are complete, by their ends and then their keys, and forgets those that nothing
// can change any more.
func (s *Sessions) advance(out []boundary.Boundary) []boundary.Boundary {
	mark := s.wm.Mark
	s.due = s.due[:0]
	for at, slot, ok := s.next(&s.ends); ok && at <= mark; at, slot, ok = s.next(&s.ends) {
		s.ends.pop()
		if s.p.Late != "update" {
			s.due = append(s.due, s.shelf.At(slot))
			s.shelf.Remove(slot, s.gen)
			continue
		}
		x := s.shelf.Own(slot, s.gen)
		x.closed = true
		s.due = append(s.due, x)
		s.push(&s.gones, x.end+int64(s.p.Retain), slot)
	}
	out = s.emitAll(s.due, out)
	clear(s.due)
	for at, slot, ok := s.next(&s.gones); ok && at <= mark; at, slot, ok = s.next(&s.gones) {
		s.gones.pop()
		s.shelf.Remove(slot, s.gen)
	}
	s.tidy()
	return out
}

// emitAll hands sessions over that are complete. They are the fold's own, or no longer in it.
func (s *Sessions) emitAll(all []*session, out []boundary.Boundary) []boundary.Boundary {
	slices.SortFunc(all, orderSessions)
	for _, x := range all {
		if x.Gen != s.gen { // a snapshot has it, and here it is gone
			x = new(*x)
		}
		m := moodFinal
		if x.handed {
			m = moodUpdate
		}
		out = s.emit(x, m, out)
	}
	return out
}

func orderSessions(a, b *session) int {
	return cmp.Or(cmp.Compare(a.end, b.end), pane.Order(a.Key, b.Key))
}

// next is the first of what waits in q, and until when. It belongs to advance, and to who only looks: what waits for
// an end that has moved is put where it belongs.
func (s *Sessions) next(q *endings) (at int64, slot int32, ok bool) {
	for len(*q) > 0 {
		e := (*q)[0]
		x := s.shelf.At(e.slot)
		if x == nil || x.closed != (q == &s.gones) {
			q.pop()
			continue
		}
		at = x.end
		if x.closed {
			at += int64(s.p.Retain)
		}
		if at == e.at {
			return at, e.slot, true
		}
		(*q)[0].at = at
		q.sink(0)
	}
	return 0, 0, false
}

// push has a session wait in q. What is left of sessions that became one is thrown out once there is more of it than of
// others.
func (s *Sessions) push(q *endings, at int64, slot int32) {
	q.push(ending{at, slot})
	if len(*q) > 2*s.shelf.Len()+pane.PerPage {
		*q = (*q)[:0]
		for slot := range s.shelf.Slots() {
			if x := s.shelf.At(slot); x.closed == (q == &s.gones) {
				q.push(ending{x.end, slot})
			}
		}
	}
}

// tidy lets go of what is left of many that were there.
func (s *Sessions) tidy() {
	if s.shelf.Len() == 0 && !s.shelf.Unused() {
		s.shelf = pane.NewShelf[*session]()
		s.ends, s.gones = nil, nil
	}
}

// early hands over the open sessions that have changed since.
func (s *Sessions) early(out []boundary.Boundary) []boundary.Boundary {
	s.earlyAt = watermark.NoTime
	s.due = s.due[:0]
	for slot := range s.shelf.Slots() {
		if x := s.shelf.At(slot); x.Dirty && !x.closed {
			s.due = append(s.due, s.shelf.Own(slot, s.gen))
		}
	}
	slices.SortFunc(s.due, orderSessions)
	for _, x := range s.due {
		out = s.emit(x, moodEarly, out)
	}
	clear(s.due)
	return out
}

// Due implements [fold.Folder].
func (s *Sessions) Due() (time.Time, bool) {
	at, ok := s.dueBesides()
	if !s.p.timed {
		for _, q := range []*endings{&s.ends, &s.gones} {
			end, _, has := s.next(q)
			if end += int64(s.p.Lateness); has && (!ok || end < at) {
				at, ok = end, true
			}
		}
	}
	return time.Unix(0, at).UTC(), ok
}

// Tick implements [fold.Folder].
func (s *Sessions) Tick(now time.Time, out []boundary.Boundary) []boundary.Boundary {
	return s.tick(now, s, out)
}

// End hands over all that is open: no event comes any more.
func (s *Sessions) End(out []boundary.Boundary) []boundary.Boundary {
	if s.shelf.Len() > 0 && s.wm.To(theEnd) {
		out = s.advance(out)
	}
	return out
}

// Quiet implements [fold.Watching], as [Window.Quiet] does.
func (s *Sessions) Quiet(now time.Time, out []boundary.Boundary) ([]boundary.Boundary, bool) {
	return s.quiet(now, s, out)
}

// QuietDue is when the next session is complete if no event comes any more.
func (s *Sessions) QuietDue() (time.Time, bool) { return s.quietDue(s) }

// OpenUntil implements [fold.Watching].
func (s *Sessions) OpenUntil() (time.Time, bool) { return openUntil(s) }

// LastDue implements [fold.Lasting].
func (s *Sessions) LastDue(time.Time) (at time.Time, ok bool) {
	last := int64(watermark.NoTime)
	for slot := range s.shelf.Slots() {
		if x := s.shelf.At(slot); !x.closed {
			last, ok = max(last, x.end), true
		}
	}
	return time.Unix(0, last+int64(s.p.Lateness)).UTC(), ok
}

func (s *Sessions) nextEnd() (int64, bool) {
	end, _, ok := s.next(&s.ends)
	return end, ok
}

// Elsewhere implements [fold.Vouching].
func (s *Sessions) Elsewhere(now time.Time, stream string, at, number int64,
	out []boundary.Boundary) []boundary.Boundary {
	if at+int64(s.p.Gap) <= s.kept() {
		return out // it came too late there, and says nothing of the time
	}
	if s.wm.Saw(stream, at, now.UnixNano(), number) {
		return s.advance(out)
	}
	return out
}

// Until implements [fold.Vouching]: a session may end at any time.
func (s *Sessions) Until(at int64) int64 { return at }

// setBack is [Window.setBack]. A session that had begun before, and has gone on under that clock, ends as if its last
// event were of now: it would be open until that clock's time.
func (s *Sessions) setBack(engine int64, out []boundary.Boundary) []boundary.Boundary {
	s.astray, s.due = false, s.due[:0]
	mark := engine - int64(s.p.Lateness)
	for slot := range s.shelf.Slots() {
		x := s.shelf.At(slot)
		ahead := !x.closed && x.start > engine
		if ahead {
			s.due = append(s.due, x)
		} else if end := engine + int64(s.p.Gap); !x.closed && x.end > end {
			s.shelf.Own(slot, s.gen).end = end
			s.push(&s.ends, end, slot) // where it waits for its former end it will not be found
		}
		if ahead || x.closed && x.end > mark {
			s.shelf.Remove(slot, s.gen)
		}
	}
	out = s.emitAll(s.due, out)
	clear(s.due)
	s.wm.Mark = mark
	return s.advance(out)
}
