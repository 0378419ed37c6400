package reactor

import (
	"maps"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
)

// keyChanges is what happened to the keys since the last seal. A seal costs by the keys
// that changed, whatever the others are (M13, M28).
type keyChanges struct {
	touched []*cell               // each once, marked by its dirty flag
	dropped map[boundary.Key]bool // evicted, with cells in the store
	layout  bool                  // the layout of key cells has to be written
	stale   []checkpoint.Cell     // cells of another declaration, to be deleted or written without what is gone
}

func (ch *keyChanges) touch(k *cell) {
	if !k.dirty {
		k.dirty = true
		ch.touched = append(ch.touched, k)
	}
}

// evicted notes that a key is gone. Its queue cells have gone with what was in them.
func (ch *keyChanges) evicted(k *cell) {
	if !k.sealed {
		return
	}
	if ch.dropped == nil {
		ch.dropped = make(map[boundary.Key]bool)
	}
	ch.dropped[k.key] = true
}

func (ch *keyChanges) anyKeys() bool {
	return len(ch.touched) > 0 || len(ch.dropped) > 0 || len(ch.stale) > 0
}

// restoreKeys merges the changes of a seal that was not written back in.
func (ch *keyChanges) restoreKeys(before *keyChanges) {
	for _, k := range before.touched {
		ch.touch(k)
	}
	for key := range before.dropped {
		if ch.dropped == nil {
			ch.dropped = make(map[boundary.Key]bool)
		}
		ch.dropped[key] = true
	}
	ch.layout = ch.layout || before.layout
	ch.stale = append(before.stale, ch.stale...)
}

// sealedKey is a key as a seal holds it.
type sealedKey struct {
	key     boundary.Key
	layout  int
	arrival uint64
	seen    int64
	times   times
	slots   []sealedSlot
	nodes   graph.State
}

// sealKeys freezes the keys that changed. What it copies lies in a few large pieces.
func (c *Core) sealKeys(s *Seal, fresh *changes) {
	ch := &c.changes.keyChanges
	n, size := len(ch.touched), c.cfg.Plan.StateSize()
	slots := make([]sealedSlot, 0, n*c.keys.slots)
	room := make([]boundary.Value, n*size)
	s.keys = make([]sealedKey, 0, n)
	for _, k := range ch.touched {
		k.dirty = false
		if c.keys.byKey.Get(k.key) != k {
			continue // evicted since
		}
		k.sealed = true
		first := len(slots)
		for i := range c.cfg.Inputs {
			if c.isShared(i) {
				continue
			}
			sl := c.slotOf(k, i)
			kept := c.sealSlot(i, sl)
			kept.Since, kept.Waits = sl.since, k.waits
			slots = append(slots, sealedSlot{i, kept})
			c.sealQueue(s, fresh, k, i)
		}
		s.keys = append(s.keys, sealedKey{
			key: k.key, layout: c.keys.layout, arrival: k.arrival, seen: k.seen, times: k.timesNow(),
			slots: slots[first:len(slots):len(slots)], nodes: c.cfg.Plan.Freeze(&k.nodes, room[:size]),
		})
		room = room[size:]
	}
	for _, key := range slices.Sorted(maps.Keys(ch.dropped)) {
		if c.keys.byKey.Get(key) == nil { // a key that came again is written over
			s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{Kind: form.CellKey, Key: string(key)})
		}
	}
	if ch.layout {
		s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{
			Kind: form.CellLayout, Name: strconv.Itoa(c.keys.layout), Data: appendLayout(nil, &c.cfg),
		})
	}
}
