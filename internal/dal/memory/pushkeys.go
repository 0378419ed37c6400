package memory

import (
	"context"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

type pushName struct {
	accumulator, key string
	first            int64
}

// notePushes keeps what entries of the journal bring.
func (g *graph) notePushes(entries []checkpoint.JournalEntry) {
	for _, k := range rules.LastKeys(entries) {
		if g.pushes == nil {
			g.pushes = map[pushName]checkpoint.PushKey{}
		}
		kept := *k
		kept.Hash, kept.Outcome, kept.At = copied(k.Hash), copied(k.Outcome), rules.Instant(k.At)
		g.pushes[pushName{k.Accumulator, k.Key, k.First}] = kept
	}
}

// PushKeys is what is known of a batch; see [checkpoint.PushKeys].
func (m *Store) PushKeys(ctx context.Context, graph checkpoint.ID, accumulator, key string, first int64) (
	all []checkpoint.PushKey, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "look for an Idempotency-Key of graph %s", graph)
	}
	defer unlock()
	for id, g := range m.graphs {
		if id.Whole() != graph.Whole() {
			continue
		}
		if k, ok := g.pushes[pushName{accumulator, key, first}]; ok {
			k.Shard, k.Hash, k.Outcome = id.Shard, copied(k.Hash), copied(k.Outcome)
			all = append(all, k)
		}
	}
	return all, nil
}

// PrunePushKeys forgets what is past the bounds; see [checkpoint.PushKeys].
func (m *Store) PrunePushKeys(ctx context.Context, id checkpoint.ID, olderThan time.Time, most int, maxBytes int64) (
	expired, displaced int64, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, 0, rules.Wrap(err, "forget Idempotency-Keys of graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		return 0, 0, nil
	}
	cut := rules.KeyCut{Retention: rules.Retention{OlderThan: olderThan, Max: most, MaxBytes: maxBytes}}
	var all []checkpoint.PushKey
	for _, k := range g.pushes {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b checkpoint.PushKey) int { return b.At.Compare(a.At) })
	for i := range all {
		cut.Look(all[i].At, rules.KeySize(&all[i]))
	}
	return cut.Remove(func(before int64) (n int64, _ error) {
		for name, k := range g.pushes {
			if rules.Nanos(k.At) < before && n < rules.PruneBatch {
				delete(g.pushes, name)
				n++
			}
		}
		return n, nil
	})
}
