package reader

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
)

// What was read lately is kept while some of the graph's shards run elsewhere: one that comes goes on a moment behind
// those that are here, and is given it at once. The source need not begin again for it, and nobody waits.
const (
	recentBytes = 4 << 20 // of events as they came, and of what each costs beside
	recentAge   = 10 * time.Second
	eventCost   = 256
)

// recent is what one run of the source has given last. It belongs to the source's goroutine.
type recent struct {
	from  places // behind these all that was given is here
	kept  []kept // the oldest first
	bytes int64
}

type kept struct {
	load  *pump.Load
	bytes int64
	at    time.Time // when it came
}

// add keeps what was given, and lets go what there is no room for.
func (q *recent) add(d *pump.Load) {
	events := d.Events()
	k := kept{load: d, bytes: eventCost * int64(len(events)), at: events[len(events)-1].At}
	for i := range events {
		k.bytes += int64(len(events[i].Raw))
	}
	if k.at.IsZero() && len(q.kept) > 0 {
		k.at = q.kept[len(q.kept)-1].at // a position alone
	}
	d.Keep()
	q.kept, q.bytes = append(q.kept, k), q.bytes+k.bytes
	n := 0
	for n < len(q.kept) && (q.bytes > recentBytes || k.at.Sub(q.kept[n].at) > recentAge) {
		q.drop(&q.kept[n])
		n++
	}
	q.kept = q.kept[n:]
}

// drop lets a load go: all behind it is here still.
func (q *recent) drop(k *kept) {
	for _, pos := range endsOf(k.load.Events(), nil) {
		q.from.move(pos)
	}
	q.bytes -= k.bytes
	k.load.Release()
	*k = kept{}
}

// clear lets all go.
func (q *recent) clear() {
	for i := range q.kept {
		q.kept[i].load.Release()
	}
	*q = recent{}
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
	streams []string // in the order in which they were first told of
	caught  map[string]bool
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
	if _, before := w.caught[stream]; !before {
		w.streams = append(w.streams, stream)
	}
	if w.caught == nil {
		w.caught = map[string]bool{}
	}
	w.caught[stream] = caughtUp
}

// keeps says that what is given is kept: shards may come, and it is known who is past what.
func (s *session) keeps() bool {
	share := s.r.cfg.Share
	return s.order != nil && share != nil && !share.Partitioned && len(s.members) < share.Of
}

// admit has those who have come since take part, where what they were not given is here. For the others the source
// begins again soon.
func (s *session) admit() error {
	if !s.keeps() {
		return nil
	}
	s.r.mu.Lock()
	come := s.r.come
	s.r.come = nil
	s.r.mu.Unlock()
	for _, m := range come {
		if !s.recent.reaches(s.order, m.at) {
			continue
		}
		if in, err := s.join(m); err != nil {
			return err
		} else if in {
			s.r.met(s.run)
		}
	}
	return nil
}

// join gives a member what it was not given, and has it take part; in is false of one that leaves meanwhile.
func (s *session) join(m *member) (in bool, err error) {
	m.giving.Lock()
	defer m.giving.Unlock()
	if m.gone.Load() {
		return true, nil
	}
	i := s.take(m)
	m.ahead = m.at.beyond(s.recent.from)
	s.said.to(m)
	for _, k := range s.recent.kept {
		s.ends = endsOf(k.load.Events(), s.ends[:0])
		if err := s.giveTo(i, m, k.load); err != nil || m.gone.Load() {
			return false, err
		}
	}
	for _, stream := range s.said.streams {
		m.caughtUp(stream, s.said.caught[stream])
	}
	return true, nil
}
