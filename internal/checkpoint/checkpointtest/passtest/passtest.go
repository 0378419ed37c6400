// Package passtest is what every store has to keep of [checkpoint.Passes]. Start at [Test].
package passtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// subject is the store under test; again closes and opens it, if that is possible.
type subject struct {
	checkpoint.Store
	again func(t *testing.T) checkpoint.Store
}

// Test holds a store to it; again closes and opens the store, or gives it back as it is.
func Test(t *testing.T, store checkpoint.Store, again func(t *testing.T) checkpoint.Store) {
	t.Helper()
	s := &subject{store, again}
	testPasses(t, s)
	testAtOnce(t, s)
	testBounds(t, s)
}

func at(second int) time.Time { return time.Unix(int64(second), 0) }

// wide bounds nothing that a test does.
func wide() checkpoint.PassBounds {
	return checkpoint.PassBounds{Holder: 1000, Tenant: 1000, All: 1000}
}

// pass is a session that is made at a second and ends at 100.
func pass(text string, made int) checkpoint.Pass {
	return checkpoint.Pass{Kind: "session", Sum: sha256.Sum256([]byte(text)), Tenant: "acme", Holder: "it's",
		Made: at(made), Ends: at(100), Who: []byte(`{"a":"` + text + `"}`)}
}

// addPass adds a pass, or is refused with want.
func (s *subject) addPass(t *testing.T, p checkpoint.Pass, b checkpoint.PassBounds, want error) {
	t.Helper()
	if err := s.AddPass(t.Context(), p, b); !errors.Is(err, want) {
		t.Errorf("add %s: %v, want %v", p.Who, err, want)
	}
}

// passes says whether sessions of these texts are there at 50.
func (s *subject) passes(t *testing.T, want bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := s.Pass(t.Context(), "session", sha256.Sum256([]byte(text)), at(50))
		if want && err != nil || !want && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s: %v, want it there: %v", text, err, want)
		}
	}
}

// A pass comes back as it was kept, until it ends or is taken.
func testPasses(t *testing.T, s *subject) {
	one := pass("one", 1)
	s.addPass(t, one, wide(), nil)
	s.addPass(t, one, wide(), checkpoint.ErrConflict)
	s.Store = s.again(t)
	got, err := s.Pass(t.Context(), "session", one.Sum, at(99))
	if err != nil {
		t.Fatal(err)
	}
	one.Made, one.Ends = at(1).UTC(), at(100).UTC()
	if !reflect.DeepEqual(got, one) {
		t.Errorf("got %+v, want %+v", got, one)
	}
	for _, tt := range []struct {
		kind string
		now  time.Time
	}{{"session", at(100)}, {"ticket", at(1)}} {
		if _, err := s.Pass(t.Context(), tt.kind, one.Sum, tt.now); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s at %v: %v", tt.kind, tt.now, err)
		}
		if _, err := s.TakePass(t.Context(), tt.kind, one.Sum, tt.now); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("take %s at %v: %v", tt.kind, tt.now, err)
		}
	}
	got, err = s.TakePass(t.Context(), "session", one.Sum, at(99))
	if err != nil || string(got.Who) != string(one.Who) {
		t.Errorf("took %s, %v", got.Who, err)
	}
	if _, err := s.TakePass(t.Context(), "session", one.Sum, at(99)); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("taken twice: %v", err)
	}
	s.Store = s.again(t)
	s.passes(t, false, "one")
}

// Bounds hold, what has ended counts for none of them, and the passes of a holder go together.
func testBounds(t *testing.T, s *subject) {
	two := wide()
	two.Holder = 2
	for i, text := range []string{"a", "b"} {
		s.addPass(t, pass(text, i+1), two, nil)
	}
	s.addPass(t, pass("c", 3), two, checkpoint.ErrFull)
	other := pass("other", 3)
	other.Holder = "other"
	s.addPass(t, other, two, nil)
	two.Oldest = true
	s.addPass(t, pass("c", 4), two, nil)
	s.passes(t, false, "a")
	s.passes(t, true, "b", "c", "other")

	narrow := wide()
	narrow.Tenant = 3
	s.addPass(t, pass("d", 5), narrow, checkpoint.ErrFull)
	foreign := func(text string, made int) checkpoint.Pass {
		p := pass(text, made)
		p.Tenant, p.Holder = "beta", text
		return p
	}
	s.addPass(t, foreign("e", 5), narrow, nil)
	few := wide()
	few.All = 4
	s.addPass(t, foreign("f", 6), few, nil) // acme has the most: its first goes
	s.passes(t, false, "b")
	s.passes(t, true, "c", "other", "e", "f")

	if err := s.DropPasses(t.Context(), "it's"); err != nil {
		t.Fatal(err)
	}
	s.passes(t, false, "c")
	s.passes(t, true, "other", "e", "f")
	full := checkpoint.PassBounds{Holder: 1, Tenant: 1, All: 1}
	late := foreign("late", 100) // all others have ended
	late.Ends = at(200)
	s.addPass(t, late, full, nil)
	s.passes(t, true, "late")
}

// Of many who take one pass at once one is given it.
func testAtOnce(t *testing.T, s *subject) {
	for round := range 5 {
		p := pass(fmt.Sprint("round", round), 1)
		if err := s.AddPass(t.Context(), p, wide()); err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, err := s.TakePass(t.Context(), p.Kind, p.Sum, at(2))
				if err == nil {
					taken.Add(1)
				} else if !errors.Is(err, checkpoint.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		if all.Wait(); taken.Load() != 1 {
			t.Errorf("%d have taken one pass", taken.Load())
		}
	}
}
