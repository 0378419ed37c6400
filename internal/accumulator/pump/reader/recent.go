package reader

import (
	"time"
	"unsafe"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/boundary"
)

// What was read lately is kept while some of the graph's shards run elsewhere: one that comes goes on a moment behind
// those that are here, and is given it at once. The source need not begin again for it, and nobody waits.
const (
	recentBytes = 4 << 20 // of the events' own memory, and of what they came as
	recentAge   = 10 * time.Second
	// eventCost is what an event takes beside what it came as: itself, and some of what was read from it.
	eventCost = int64(unsafe.Sizeof(boundary.Event{})) + 128
	// headerCost is what a header takes beside its name and its value.
	headerCost = 48
)

// recent is what one run of the source has given last. Whose turn it is has it.
type recent struct {
	from  places // behind these all that was given is here
	kept  []kept // the oldest first
	bytes int64
	last  time.Time // when the last of them came, or the run began
	aging *time.Timer
}

type kept struct {
	load  *pump.Load
	bytes int64
	at    time.Time // when it came
}

// add keeps what was given, and lets go what there is no room for.
func (q *recent) add(d *pump.Load) {
	events := d.Events()
	k := kept{load: d, bytes: eventCost * int64(cap(events)), at: events[len(events)-1].At}
	for i := range events {
		k.bytes += cameAs(&events[i])
	}
	if k.at.IsZero() {
		k.at = q.last // a position alone
	}
	d.Keep()
	q.kept, q.bytes, q.last = append(q.kept, k), q.bytes+k.bytes, k.at
	q.trim(k.at)
}

// cameAs is how many bytes an event came as.
func cameAs(ev *boundary.Event) (n int64) {
	n = int64(len(ev.Raw))
	if ev.Meta != nil {
		n += int64(len(ev.Meta.Key))
		for name, value := range ev.Meta.Headers {
			n += int64(len(name)+len(value)) + headerCost
		}
	}
	return n
}

// trim lets go what there is no room for, and what is old by then.
func (q *recent) trim(now time.Time) {
	n := 0
	for n < len(q.kept) && (q.bytes > recentBytes || now.Sub(q.kept[n].at) > recentAge) {
		q.drop(&q.kept[n])
		n++
	}
	q.kept = q.kept[n:]
}

// age has what is kept let go once it is old, where nothing more comes.
func (s *session) age() {
	select {
	case s.turn <- struct{}{}:
		defer s.end()
	case <-s.ctx.Done():
		return
	}
	if s.recent.trim(time.Now()); len(s.recent.kept) > 0 {
		s.recent.aging.Reset(recentAge)
	}
}

// drop lets a load go: all behind it is here still.
func (q *recent) drop(k *kept) {
	q.pass(k.load)
	q.bytes -= k.bytes
	k.load.Release()
	*k = kept{}
}

// pass notes that a load was given that is not here.
func (q *recent) pass(d *pump.Load) {
	events := d.Events()
	for i := range events {
		if endsStream(events, i) {
			q.from.move(events[i].Pos)
		}
	}
}

// forget lets all go.
func (q *recent) forget() {
	if q.aging != nil {
		q.aging.Stop()
	}
	for i := range q.kept {
		q.drop(&q.kept[i])
	}
	q.kept = nil
}

// reaches says that all is here that who stands at these places was not given.
func (q *recent) reaches(o Ordered, at places) bool {
	for _, names := range []places{q.from, at} {
		for name := range names {
			a, from := at[name], q.from[name]
			if a == from {
				continue
			}
			behind, known := o.Behind(a, from)
			if from.IsZero() { // it was begun at its beginning
				behind, known = o.Behind(from, a)
				behind = !behind
			}
			if behind || !known {
				return false
			}
		}
	}
	return true
}

// told is what a source has said last: who comes is told it too.
type told struct {
	health  accumulator.Health // "" before the first word
	code    string             // of what troubles it
	detail  string
	streams []string // in the order in which they were first told of; not "", which is the source as a whole
	caught  map[string]bool
	held    []string // the streams that are held back
	how     pace.Held
}

// to tells a member how the source is.
func (w *told) to(m *member) {
	switch {
	case w.code != "":
		accumulator.Trouble(m.out, w.code, w.detail)
	case w.health != "":
		m.out.Health(w.health, w.detail)
	}
}

func (w *told) caughtUp(stream string, caughtUp bool) {
	if _, before := w.caught[stream]; !before && stream != "" {
		w.streams = append(w.streams, stream)
	}
	if w.caught == nil {
		w.caught = map[string]bool{}
	}
	w.caught[stream] = caughtUp
}

// behind tells a member that there is more of each stream: what it is about to be given.
func (w *told) behind(m *member) {
	for _, stream := range w.streams {
		m.caughtUp(stream, false)
	}
}

// ahead tells a member that was given all how far the source has come.
func (w *told) ahead(m *member) {
	for _, stream := range w.streams {
		m.caughtUp(stream, w.caught[stream])
	}
	if caughtUp, said := w.caught[""]; said {
		m.caughtUp("", caughtUp)
	}
	for _, stream := range w.held {
		m.out.Held(stream, w.how)
	}
}

// heldBack notes what is held back; see [pace.Gate.Tell].
func (w *told) heldBack(stream string, h pace.Held) {
	if h != w.how {
		w.held, w.how = w.held[:0], h
	}
	if h != pace.Free {
		w.held = append(w.held, stream)
	}
}

// shares says that all shards are given the same, and that it is known who is past what.
func (s *session) shares() bool {
	share := s.r.cfg.Share
	return s.order != nil && share != nil && !share.Partitioned
}

// keep keeps a load that was given where shards may come, or else notes that it is not here.
func (s *session) keep(d *pump.Load) {
	if !s.shares() {
		return
	}
	s.prune()
	if len(s.members) < s.r.cfg.Share.Of {
		if s.recent.add(d); s.recent.aging == nil {
			s.recent.aging = time.AfterFunc(recentAge, s.age)
		} else if len(s.recent.kept) == 1 {
			s.recent.aging.Reset(recentAge)
		}
		return
	}
	s.recent.forget()
	s.recent.pass(d)
}

// prune forgets who takes part no more. It is whose turn it is.
func (s *session) prune() {
	n := 0
	for i, m := range s.members {
		if m.gone.Load() {
			s.leave[i]()
			continue
		}
		s.members[n], s.within[n], s.leave[n], s.asked[n] = m, s.within[i], s.leave[i], s.asked[i]
		n++
	}
	clear(s.members[n:])
	clear(s.within[n:])
	clear(s.leave[n:])
	s.members, s.within, s.leave, s.asked = s.members[:n], s.within[:n], s.leave[:n], s.asked[:n]
}

// admit has one who comes take part at once, where what it was not given is here; for another the source begins again
// soon. It is the goroutine of the one who comes.
func (s *session) admit(m *member) {
	select {
	case s.turn <- struct{}{}:
		defer s.end()
	case <-m.ctx.Done():
		return
	case <-s.ctx.Done():
		return
	}
	s.prune()
	switch {
	case s.ctx.Err() != nil:
		return // the next session knows it
	case m.late || !s.recent.reaches(s.order, m.at):
		s.r.tooLate(m)
		return
	case !s.r.met(s.run, m):
		return
	}
	i := len(s.members)
	s.members, s.asked = append(s.members, m), append(s.asked, 0)
	s.open(m)
	m.ahead = m.at.beyond(s.recent.from)
	s.said.to(m)
	s.said.behind(m)
	for n := range s.recent.kept {
		given := s.with(m, func() { _ = s.giveTo(i, m, s.recent.kept[n].load) }) // an error is the end of a context
		if !given || m.ctx.Err() != nil || s.ctx.Err() != nil {
			return
		}
	}
	if m.gone.Load() {
		return // the last of them has had it read for itself
	}
	// Whose position it is that the source does not have any more, each finds out for itself.
	s.together = s.together && len(m.ahead) == 0
	s.said.ahead(m)
	poke(s.r.asked) // it may have asked how far the source is before it took part
}
