package differential

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// redealt is what a live graph says that everything is pushed to, while its keys are dealt to one number of shards
// after the other.
func (w *wide) redealt(t *testing.T, doc tree, seed uint64, want *spoken, numbers []int, all *tally) (*spoken, error) {
	dir := t.TempDir()
	store, out, s := memstore.NewSeeded(seed), &safeBuffer{}, newSpoken()
	defer store.Close()
	document := func(n int) (string, error) { return w.withShards(doc, n, w.overSinks(dir)) }
	live, err := document(numbers[0])
	if err != nil {
		return nil, err
	}
	m := newMortal(store, eternal)
	m.sharded = true
	l, err := begin(t, m, live, out)
	defer func() { _ = l.e.Close() }()
	if err != nil {
		return nil, err
	}
	instants := w.instants()
	each := max(len(instants)/len(numbers), 1)
	for k, at := range instants {
		if k > 0 && k%each == 0 && k/each < len(numbers) {
			doc, err := document(numbers[k/each])
			if err != nil {
				return nil, err
			}
			if err := l.reapply(doc, numbers[k/each-1]); err != nil {
				return nil, fmt.Errorf("%d shards after %d: %w", numbers[k/each], numbers[k/each-1], err)
			}
			all.changed.Add(1)
		}
		if err := l.pushAt(&at); err != nil {
			return nil, err
		}
	}
	if _, err := l.end(w.events(), s, want); err != nil {
		return nil, err
	}
	if err := s.values(out.b.Bytes()); err != nil {
		return nil, err
	}
	return s, s.files(dir, false)
}

// withShards is a declaration with so many shards.
func (w *wide) withShards(doc tree, n int, change func(tree)) (string, error) {
	return written(doc, func(doc tree) {
		change(doc)
		if r, ok := doc["reactor"].(tree); ok {
			r["shards"] = n
		}
	})
}

// redealtFiles is what a live graph says that finds all events in its files, while its keys are dealt to one number of
// shards after the other: as soon as the one before has committed a few epochs.
func (w *wide) redealtFiles(t *testing.T, doc tree, seed uint64, want *spoken, numbers []int, all *tally) (
	*spoken, error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, err
		}
	}
	document := func(n int) (string, error) {
		return w.withShards(doc, n, func(doc tree) {
			w.overFiles(dir, true)(doc)
			doc["durability"] = w.often(doc, seed)
		})
	}
	live, err := document(numbers[0])
	if err != nil {
		return nil, err
	}
	store, out, s := memstore.NewSeeded(seed), &safeBuffer{}, newSpoken()
	defer store.Close()
	m, some := newMortal(store, eternal), newCounted(3)
	m.sharded, m.usurps = true, some.commit
	l, err := begin(t, m, live, out)
	defer func() { _ = l.e.Close() }()
	for k := 1; err == nil && k < len(numbers); k++ {
		some.wait(t)
		if live, err = document(numbers[k]); err == nil {
			err = l.reapply(live, numbers[k-1])
		}
		if err != nil {
			return nil, fmt.Errorf("%d shards after %d: %w", numbers[k], numbers[k-1], err)
		}
		all.changed.Add(1)
	}
	if err == nil {
		_, err = l.end(w.events(), s, want)
	}
	if err == nil {
		err = s.values(out.b.Bytes())
	}
	return s, err
}

// counted tells when a few commits have been made.
type counted struct {
	every int64
	n     atomic.Int64
	few   chan struct{}
}

func newCounted(every int64) *counted { return &counted{every: every, few: make(chan struct{}, 1)} }

func (c *counted) commit(context.Context, checkpoint.Store, *checkpoint.Commit) error {
	if c.n.Add(1)%c.every == 0 {
		select {
		case c.few <- struct{}{}:
		default:
		}
	}
	return nil
}

// wait waits for a few commits, or until it is likely that there will be none.
func (c *counted) wait(t *testing.T) {
	select {
	case <-c.few:
	case <-time.After(50 * time.Millisecond):
	case <-t.Context().Done():
	}
}

// reapply applies a declaration with another number of shards. Dead letters of those that go are discarded first.
func (l *life) reapply(doc string, shards int) error {
	_, err := l.e.Apply(l.t.Context(), wideRef, []byte(doc), api.Change{})
	if err == nil || !strings.Contains(err.Error(), "keeps dead letters") {
		return err
	}
	for n := range shards {
		id := checkpoint.ID{Tenant: wideRef.Tenant, Graph: wideRef.Name, Shard: n}
		all := checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1000}}
		letters, _, err := l.store.DeadLetters(l.t.Context(), id, all)
		if err != nil {
			return err
		}
		for i := range letters {
			if _, err := l.store.DiscardDeadLetters(l.t.Context(), id, []string{letters[i].ID}); err != nil {
				return err
			}
		}
	}
	_, err = l.e.Apply(l.t.Context(), wideRef, []byte(doc), api.Change{})
	return err
}
