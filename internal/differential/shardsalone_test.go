package differential

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// usurper is somebody else on the store, who takes a shard now and then and lets it go: the shard's run ends with its
// next commit, and it alone is taken again.
type usurper struct {
	mu    sync.Mutex
	r     *rand.Rand
	left  int
	taken map[int]int // by shard: how often
}

// usurp takes the shard that a commit is of.
func (u *usurper) usurp(ctx context.Context, store checkpoint.Store, c *checkpoint.Commit) error {
	u.mu.Lock()
	takes := u.left > 0 && c.Epoch > 1 && u.r.IntN(6) == 0 && u.taken[c.ID.Shard] < 2 // three times is a crash loop
	if takes {
		u.left--
		u.taken[c.ID.Shard]++
	}
	u.mu.Unlock()
	if !takes {
		return nil
	}
	_, err := store.Acquire(ctx, c.ID)
	return err
}

// stop has nothing taken any more, and says how often something was.
func (u *usurper) stop() (ends int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = 0
	for _, n := range u.taken {
		ends += n
	}
	return ends
}

// alone is what a live graph says that finds all events in its files, when single shards of it are ended at random
// points and begin again from their own checkpoints, while the others go on.
func (w *wide) alone(t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, int, error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, 0, err
		}
	}
	live, err := written(doc, func(doc tree) {
		w.overFiles(dir, true)(doc)
		doc["durability"] = w.often(doc, seed)
		r, _ := doc["reactor"].(tree)
		r["restart"] = tree{"attempts": 20, "base": "10ms", "max": "50ms"}
	})
	if err != nil {
		return nil, 0, err
	}
	store, out, s := memstore.NewSeeded(seed), &safeBuffer{}, newSpoken()
	defer store.Close()
	m := newMortal(store, eternal)
	u := &usurper{r: rand.New(rand.NewPCG(seed, uint64(w.shards))), left: 4, taken: map[int]int{}}
	m.sharded, m.usurps = true, u.usurp
	l, err := begin(t, m, live, out)
	defer func() { _ = l.e.Close() }()
	if err == nil {
		_, err = l.comes(w.events(), s, want)
	}
	ends := u.stop()
	for began := time.Now(); err == nil && l.checkpoint() != nil && time.Since(began) < patience; {
		time.Sleep(time.Millisecond) // the one that was taken last has to come back
	}
	if err == nil {
		_, err = l.end(w.events(), s, want)
	}
	if err != nil {
		return nil, ends, err
	}
	if err := s.values(out.b.Bytes()); err != nil {
		return nil, 0, err
	}
	return s, ends, s.files(dir, false)
}
