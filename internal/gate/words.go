package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// words is what the store has said, by what it was asked about, for as long as its word may be trusted. The zero value
// knows nothing.
type words[T any] struct {
	mu    sync.Mutex
	known map[string]*word[T]
}

// word is the store's word about one thing.
type word[T any] struct {
	said   T
	at     time.Time // when it was asked for
	asking bool      // somebody asks again
}

// find is the store's word, no older than it may be. An error is that of ask, or of a ctx that is done.
func (w *words[T]) find(ctx context.Context, id string, now func() time.Time,
	ask func(context.Context, string) (T, error)) (said T, err error) {
	at := now()
	w.mu.Lock()
	e := w.known[id]
	if e != nil && (at.Sub(e.at) < trust || e.asking && at.Sub(e.at) < mostTrust) {
		defer w.mu.Unlock()
		return e.said, nil
	}
	if e != nil {
		e.asking = true
	}
	w.mu.Unlock()
	said, err = ask(ctx, id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if e != nil {
		e.asking = false
	}
	switch {
	case err == nil:
		w.remember(id, &word[T]{said: said, at: at})
	case errors.Is(err, checkpoint.ErrNotFound):
		delete(w.known, id)
	case e != nil && w.known[id] == e && now().Sub(e.at) < mostTrust:
		return e.said, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return said, err
}

// remember keeps the store's word, unless a newer one is there. The caller holds the lock.
func (w *words[T]) remember(id string, e *word[T]) {
	if old := w.known[id]; old != nil && old.at.After(e.at) {
		return
	}
	if w.known == nil {
		w.known = map[string]*word[T]{}
	}
	if len(w.known) >= maxKnown {
		clear(w.known) // those in use are asked for again
	}
	w.known[id] = e
}

// look is what is remembered, however old; false where nothing is.
func (w *words[T]) look(id string) (said T, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.known[id]; e != nil {
		return e.said, true
	}
	return said, false
}

// change changes what is remembered, if anything is; whether it has is what change says.
func (w *words[T]) change(id string, change func(*T) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.known[id]
	return e != nil && change(&e.said)
}

// forget has the store asked again about what is chosen.
func (w *words[T]) forget(chosen func(id string, said *T) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, e := range w.known {
		if chosen(id, &e.said) {
			delete(w.known, id)
		}
	}
}

// spent remembers texts that open nothing any more, so that the store is not asked about them again. It may forget: the
// store is who knows. The zero value is empty.
type spent struct {
	mu   sync.Mutex
	sums map[string]struct{}
}

// add says whether the text was not there yet.
func (s *spent) add(sum string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.sums[sum]; there {
		return false
	}
	if s.sums == nil || len(s.sums) >= maxKnown {
		s.sums = map[string]struct{}{}
	}
	s.sums[sum] = struct{}{}
	return true
}

func (s *spent) has(sum string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.sums[sum]
	return there
}
