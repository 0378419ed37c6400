package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// eternal is how many commits a store takes that is not to die.
const eternal = 1 << 40

func newMortal(store *memstore.Store, commits int64) *mortal {
	m := &mortal{Store: store, death: make(chan struct{})}
	m.left.Store(commits)
	return m
}

// caughtUp is what a live graph says that finds all events in its files, when it is killed at random points or not.
// It has all of its lives in one process.
func (w *wide) caughtUp(t *testing.T, doc tree, seed uint64, want *spoken, kills bool) (*spoken, error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, err
		}
	}
	live, err := written(doc, func(doc tree) {
		w.overFiles(dir, seed%3 == 0)(doc)
		if kills {
			doc["durability"] = w.often(doc, seed)
		}
	})
	if err != nil {
		return nil, err
	}
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for life := int64(0); life < 300; life++ {
		commits := int64(eternal)
		if kills {
			commits = (min(life, 1) + life/4) * int64(max(w.shards, 1))
		}
		s, m := newSpoken(), newMortal(store, commits)
		m.sharded = w.shards > 1
		died, err := lives(t, m, live, out, w.events(), s, want)
		if err != nil {
			return nil, err
		}
		if died {
			continue
		}
		if err := s.values(out.b.Bytes()); err != nil {
			return nil, err
		}
		return s, s.files(dir, false)
	}
	return nil, fmt.Errorf("the graph does not get through its input")
}

// often has a graph make checkpoints often.
func (w *wide) often(doc tree, seed uint64) tree {
	d, _ := doc["durability"].(tree)
	if d == nil || d["mode"] == "none" {
		d = tree{}
	}
	d["every_epochs"] = 1 + seed%4
	return d
}

func (in *wideInput) texts() (lines []string) {
	for _, l := range in.lines {
		lines = append(lines, l.text)
	}
	return lines
}

// lives has a graph live to the end of its input, or until its store dies.
func lives(t *testing.T, store *mortal, doc string, out *safeBuffer, events int64, s, want *spoken) (bool, error) {
	l, err := begin(t, store, doc, out)
	defer func() { _ = l.e.Close() }() // a dead store cannot take the last checkpoint
	if err == nil {
		_, err = l.end(events, s, want)
	}
	if l.died() {
		return true, nil
	}
	return false, err
}

// pushAt pushes what comes at an instant to one input.
func (l *life) pushAt(at *instantOf) error {
	var events []json.RawMessage
	for _, e := range at.events[0] {
		events = append(events, json.RawMessage(e))
	}
	res, err := l.e.Push(l.t.Context(), wideRef, at.inputs[0], events)
	if err != nil || res.Full {
		return fmt.Errorf("push: %v, %+v", err, res)
	}
	return nil
}

// pushed is what a live graph says that is given each instant when it is over with the one before.
func (w *wide) pushed(t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
	return w.pushedInTurn(t, doc, seed, want, nil)
}

// pushedInTurn is that where the events of some instants are pushed one after the other.
func (w *wide) pushedInTurn(t *testing.T, doc tree, seed uint64, want *spoken, torn []int) (*spoken, error) {
	dir := t.TempDir()
	live, err := written(doc, w.overSinks(dir))
	if err != nil {
		return nil, err
	}
	store, out, s := memstore.NewSeeded(seed), &safeBuffer{}, newSpoken()
	defer store.Close()
	l, err := begin(t, newMortal(store, eternal), live, out)
	defer func() { _ = l.e.Close() }()
	if err != nil {
		return nil, err
	}
	for k, at := range w.instants() {
		parts := at.events
		if slices.Contains(torn, k) {
			parts = slices.Collect(slices.Chunk(at.events[0], 1))
		}
		for _, part := range parts {
			at.events = [][]string{part}
			if err := l.pushAt(&at); err != nil {
				return nil, err
			}
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

// paced is what a live graph says whose files grow instant by instant, that goes down now and then and finds some of
// them when it is back.
func (w *wide) paced(t *testing.T, doc tree, seed uint64, want *spoken) (s *spoken, err error) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now())) // the events are of the past
		s, err = w.pacedIn(t, doc, dir, seed, want)
	})
	return s, err
}

func (w *wide) pacedIn(t *testing.T, doc tree, dir string, seed uint64, want *spoken) (*spoken, error) {
	live, err := written(doc, w.overFiles(dir, true))
	if err != nil {
		return nil, err
	}
	for _, in := range w.inputs {
		if err := in.append(dir); err != nil {
			return nil, err
		}
	}
	store, out, r := memstore.NewSeeded(seed), &safeBuffer{}, rand.New(rand.NewPCG(seed, 5))
	defer store.Close()
	instants, given := w.instants(), int64(0)
	grow := func() error {
		at := instants[0]
		instants, given = instants[1:], given+int64(len(at.events[0]))
		return w.input(at.inputs[0]).append(dir, at.events[0]...)
	}
	for {
		s := newSpoken()
		for range min(r.IntN(20), len(instants)) {
			if err := grow(); err != nil {
				return nil, err
			}
		}
		l, err := begin(t, newMortal(store, eternal), live, out)
		if err == nil {
			time.Sleep(time.Second)
			for range min(r.IntN(100), len(instants)) {
				if err = grow(); err != nil {
					break
				}
				// Mostly sooner than a file is looked at by itself.
				time.Sleep(time.Duration(r.IntN(4)) * 25 * time.Millisecond)
			}
		}
		if err == nil {
			books := want
			if len(instants) > 0 {
				books = nil // of what was given so far nothing is known
			}
			_, err = l.end(given, s, books)
		}
		if closed := l.e.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		if len(instants) == 0 {
			if err := s.values(out.b.Bytes()); err != nil {
				return nil, err
			}
			return s, s.files(dir, false)
		}
	}
}
