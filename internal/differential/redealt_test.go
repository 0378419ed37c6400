package differential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// redealt is what a live graph says that everything is pushed to, while its keys are dealt to one number of shards
// after the other.
func (w *wide) redealt(t *testing.T, seed uint64, want *spoken, numbers []int) (*spoken, error) {
	dir := t.TempDir()
	store, out, s := memstore.NewSeeded(seed), &safeBuffer{}, newSpoken()
	defer store.Close()
	document := func(n int) (string, error) {
		w.doc["reactor"].(tree)["shards"] = n
		return written(w.doc, w.overSinks(dir))
	}
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

// M54: what a graph answers of each key is what it answers without shards, however often their number is changed on the
// way; and its books are those of one.
func TestM54AnotherNumberChangesNoAnswer(t *testing.T) {
	t.Parallel()
	many, ran, values := 0, 0, 0
	for seed := range drawnSeeds(t, 30) {
		many++
		w := newLiveDealt(seed)
		if w == nil || !w.apart { // what is behind comes when the rest is through
			continue
		}
		if d, ok := w.doc["durability"].(tree); ok && d["mode"] == "none" {
			continue // no state is kept by any update
		}
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want.shared = w.shared
		ran++
		for _, numbers := range [][]int{{1, 3, 2, 7, 1}, {4, 1, 5}} {
			w.shards = numbers[0]
			got, err := w.redealt(t, seed, want, numbers)
			why := ""
			if err == nil {
				why = w.differsByKey(got, want)
			}
			if err != nil || why != "" {
				t.Errorf("seed %d, %v shards: %v: %s\n%s\n%s", seed, numbers, err, why, text(w.doc), w.told())
			}
		}
		for _, lines := range want.outputs {
			values += len(lines)
		}
	}
	t.Logf("%d of %d declarations, %d values", ran, many, values)
}
