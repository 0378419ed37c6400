package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

func comparePlace(f checkpoint.Firing, p rules.Place) int {
	return cmp.Or(cmp.Compare(f.Incarnation, p.Incarnation), cmp.Compare(f.Epoch, p.Epoch))
}

// addFiring keeps the order; a record that is there already stays as it is.
func (g *graph) addFiring(f checkpoint.Firing) {
	f.Data = copied(f.Data)
	if i, found := slices.BinarySearchFunc(g.firings, rules.PlaceOf(&f), comparePlace); !found {
		g.firings = slices.Insert(g.firings, i, f)
	}
}

func (g *graph) trimFirings(keep int) {
	if over := len(g.firings) - max(keep, 0); over > 0 {
		g.firings = slices.Delete(g.firings, 0, over)
	}
}

// Firings lists the history; see [checkpoint.History].
func (m *Store) Firings(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	[]checkpoint.Firing, string, error) {
	below, err := rules.FiringPlace(id, q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	defer unlock()
	var all, found []checkpoint.Firing
	if g := m.graphs[id]; g != nil {
		all = g.firings
	}
	size := rules.PageSize(q)
	end, _ := slices.BinarySearchFunc(all, below, comparePlace)
	for i := end - 1; i >= 0 && len(found) <= size; i-- {
		if f := all[i]; q.Key == "" || q.Key == f.Key {
			f.Data = copied(f.Data)
			found = append(found, f)
		}
	}
	items, next := rules.Page(found, size, func(f *checkpoint.Firing) string {
		return rules.FiringCursor(id, rules.PlaceOf(f))
	})
	return items, next, nil
}

// Firing is one record of the history; see [checkpoint.History].
func (m *Store) Firing(ctx context.Context, id checkpoint.ID, epoch int64) (checkpoint.Firing, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return checkpoint.Firing{}, rules.Wrap(err, "read firing of graph %s", id)
	}
	defer unlock()
	if g := m.graphs[id]; g != nil {
		for _, f := range slices.Backward(g.firings) {
			if f.Epoch == epoch {
				f.Data = copied(f.Data)
				return f, nil
			}
		}
	}
	return checkpoint.Firing{}, rules.NotFound("firing of epoch", epoch, id)
}

func compareLetter(l checkpoint.DeadLetter, id string) int { return strings.Compare(l.ID, id) }

// addLetter keeps the order; a letter that is there already stays as it is.
func (m *Store) addLetter(id checkpoint.ID, l checkpoint.DeadLetter) {
	l.Payload, l.Message, l.At = copied(l.Payload), copied(l.Message), rules.Instant(l.At)
	l.Attempts = max(1, l.Attempts)
	letters := m.letters[id]
	if i, found := slices.BinarySearchFunc(letters, l.ID, compareLetter); !found {
		m.letters[id] = slices.Insert(letters, i, l)
	}
}

// DeadLetters lists a graph's dead letters; see [checkpoint.DeadLetters].
func (m *Store) DeadLetters(ctx context.Context, id checkpoint.ID, q checkpoint.LetterQuery) (
	[]checkpoint.DeadLetter, string, error) {
	below, bounded, err := rules.DeadLetterBound(q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	defer unlock()
	all, size := slices.Clone(m.letters[id]), rules.PageSize(q.Query)
	all = slices.DeleteFunc(all, func(l checkpoint.DeadLetter) bool {
		if q.Oldest {
			return l.ID <= q.After || q.UpTo != "" && l.ID > q.UpTo || !chosen(&q, &l)
		}
		return bounded && l.ID >= below || !chosen(&q, &l)
	})
	if !q.Oldest {
		slices.Reverse(all)
	}
	items, next := rules.Page(all, size, func(l *checkpoint.DeadLetter) string {
		return rules.DeadLetterCursor(l.ID)
	})
	for i := range items {
		items[i].Payload, items[i].Message = copied(items[i].Payload), copied(items[i].Message)
	}
	return items, next, nil
}

// chosen reports whether a query means a letter, wherever its page begins.
func chosen(q *checkpoint.LetterQuery, l *checkpoint.DeadLetter) bool {
	from, to := rules.Between(q.Since, q.Until)
	at := rules.Nanos(l.At)
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Key, l.Key) && is(q.Code, l.Code) && is(q.Stage, l.Stage) && is(q.Accumulator, l.Accumulator) &&
		is(q.Output, l.Output) && at >= from && at < to
}

// DeadLetter is one letter; see [checkpoint.DeadLetters].
func (m *Store) DeadLetter(ctx context.Context, id checkpoint.ID, letter string) (checkpoint.DeadLetter, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return checkpoint.DeadLetter{}, rules.Wrap(err, "read dead letter of graph %s", id)
	}
	defer unlock()
	letters := m.letters[id]
	i, found := slices.BinarySearchFunc(letters, letter, compareLetter)
	if !found {
		return checkpoint.DeadLetter{}, rules.NotFound("dead letter", letter, id)
	}
	l := letters[i]
	l.Payload, l.Message = copied(l.Payload), copied(l.Message)
	return l, nil
}

// DiscardDeadLetters removes letters; see [checkpoint.DeadLetters].
func (m *Store) DiscardDeadLetters(ctx context.Context, id checkpoint.ID, letters []string) (int64, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "discard dead letters of graph %s", id)
	}
	defer unlock()
	return m.dropLetters(id, letters), nil
}

func (m *Store) dropLetters(id checkpoint.ID, letters []string) (removed int64) {
	for _, letter := range letters {
		if i, found := slices.BinarySearchFunc(m.letters[id], letter, compareLetter); found {
			m.letters[id] = slices.Delete(m.letters[id], i, i+1)
			removed++
		}
	}
	return removed
}

// PruneDeadLetters removes what is past the bounds; see [checkpoint.DeadLetters]. A zero
// time, and a max or maxBytes of 0 or less, bound nothing.
func (m *Store) PruneDeadLetters(ctx context.Context, id checkpoint.ID, olderThan time.Time, max int, maxBytes int64) (
	int64, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "prune dead letters of graph %s", id)
	}
	defer unlock()
	letters := m.letters[id]
	rule := rules.Retention{OlderThan: olderThan, Max: max, MaxBytes: maxBytes}
	drop := make([]bool, len(letters))
	for i, l := range slices.Backward(letters) {
		drop[i] = rule.Removes(l.At, int64(len(l.Payload)))
	}
	i := -1
	kept := slices.DeleteFunc(letters, func(checkpoint.DeadLetter) bool { i++; return drop[i] })
	m.letters[id] = kept
	return int64(len(drop) - len(kept)), nil
}

// AddRecoveryEvent appends to the supervisor's log and numbers the event; see [checkpoint.RecoveryEvents].
func (m *Store) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "add recovery event of graph %s", id)
	}
	defer unlock()
	m.lastEvent++
	ev.ID, ev.Graph, ev.Shard, ev.At = m.lastEvent, id.Graph, id.Shard, rules.Instant(ev.At)
	m.events[id.Whole()] = append(m.events[id.Whole()], ev)
	return nil
}

// RecoveryEvents lists the supervisor's log of one graph; see [checkpoint.RecoveryEvents].
func (m *Store) RecoveryEvents(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	[]checkpoint.RecoveryEvent, string, error) {
	below, err := rules.RecoveryBound(q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list recovery events of graph %s", id)
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, "", rules.Wrap(err, "list recovery events of graph %s", id)
	}
	defer unlock()
	size := rules.PageSize(q)
	var found []checkpoint.RecoveryEvent
	for _, ev := range slices.Backward(m.events[id.Whole()]) {
		if ev.ID < below && len(found) <= size {
			found = append(found, ev)
		}
	}
	items, next := rules.Page(found, size, func(ev *checkpoint.RecoveryEvent) string {
		return rules.RecoveryCursor(ev.ID)
	})
	return items, next, nil
}

// PruneRecoveryEvents removes old events of all graphs; see [checkpoint.RecoveryEvents].
func (m *Store) PruneRecoveryEvents(ctx context.Context, olderThan time.Time) (int64, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "prune recovery events")
	}
	defer unlock()
	var removed int64
	for id, events := range m.events {
		kept := slices.DeleteFunc(events, func(ev checkpoint.RecoveryEvent) bool { return ev.At.Before(olderThan) })
		removed += int64(len(events) - len(kept))
		m.events[id] = kept
	}
	return removed, nil
}
