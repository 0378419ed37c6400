package ahead_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job/ahead"
)

// takers are so many of an input that passes on what is whole.
func takers(t *testing.T, n int) (all []*accumulator.Taker) {
	t.Helper()
	u, ds := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: { where: event.n >= 0 } }\n"+
		"outputs: { all: { from: a, sink: { drop: {} } } }\n"), "g.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	for range n {
		all = append(all, accumulator.NewTaker(u.Programs[0], accumulator.Limits{}, 1))
	}
	return all
}

// numbers gives the numbers from 1 on, up to end, and then err. Where it has parts it waits for each.
type numbers struct {
	given  atomic.Int64
	end    int64
	err    error
	parts  chan int64 // how many may be given
	may    int64
	before func()
}

func (s *numbers) Next(ev *boundary.Event) error {
	n := s.given.Load()
	for s.parts != nil && n == s.may {
		s.before()
		more, ok := <-s.parts
		if !ok {
			return context.Canceled
		}
		s.may += more
	}
	if s.end > 0 && n == s.end {
		return s.err
	}
	s.given.Store(n + 1)
	*ev = boundary.Event{Raw: fmt.Appendf(nil, `{"n":%d}`, n+1)}
	if n%3 == 2 {
		return &accumulator.BadEvent{Stage: "decode", Code: "third", Text: "every third one"}
	}
	return nil
}

func (s *numbers) Line() int64         { return 10 * s.given.Load() }
func (s *numbers) BeforeRead(f func()) { s.before = f }
func (s *numbers) Interrupt() {
	if s.parts != nil {
		close(s.parts)
	}
}

// M51: events come in the order of the input, those that cannot be read in their places, what ends the input after
// all of them.
func TestM51EventsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, want := range []error{io.EOF, broken} {
		for _, end := range []int64{1, 511, 512, 513, 5_000} {
			src := &numbers{end: end, err: want}
			in := ahead.Read(t.Context(), src, takers(t, 3))
			for n := range end {
				e, err := in.Next()
				if err != nil {
					t.Fatalf("event %d of %d: %v", n+1, end, err)
				}
				if got := string(e.Raw); got != fmt.Sprintf(`{"n":%d}`, n+1) || e.Pos.Offset != 10*(n+1) ||
					(e.Bad != nil) != (n%3 == 2) {
					t.Fatalf("event %d of %d: %s at %v, %v", n+1, end, got, e.Pos, e.Bad)
				}
			}
			for range 2 {
				if _, err := in.Next(); !errors.Is(err, want) {
					t.Errorf("%d events ended with %v, want %v", end, err, want)
				}
			}
			in.Stop()
		}
	}
}

// M51: what is read ahead is bounded, however slowly it is taken, and Stop ends it there.
func TestM51WhatIsReadAheadIsBounded(t *testing.T) {
	t.Parallel()
	all := takers(t, 2)
	synctest.Test(t, func(t *testing.T) {
		src := &numbers{}
		in := ahead.Read(t.Context(), src, all)
		const blocks, spent, events = 2 + 5, 3, 512
		synctest.Wait()
		if n := src.given.Load(); n != blocks*events {
			t.Errorf("%d events were read ahead, want %d", n, blocks*events)
		}
		for range spent*events + 1 { // the last of them is of the next block: those before it can be used again
			if _, err := in.Next(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := src.given.Load(); n != (blocks+spent)*events {
			t.Errorf("%d events were read when %d blocks had been taken, want %d", n, spent, (blocks+spent)*events)
		}
		in.Stop()
		if _, err := in.Next(); err == nil {
			// What was decoded may still be taken; it ends soon.
			for range blocks * events {
				if _, err = in.Next(); err != nil {
					break
				}
			}
			if err == nil {
				t.Error("it goes on after Stop")
			}
		}
	})
}

// M51: what is here is handed over when the input has to be waited for, and Stop interrupts the waiting.
func TestM51NothingWaitsForAFullBlock(t *testing.T) {
	t.Parallel()
	all := takers(t, 2)
	synctest.Test(t, func(t *testing.T) {
		src := &numbers{parts: make(chan int64)}
		in := ahead.Read(t.Context(), src, all)
		for n := range int64(4) {
			src.parts <- n
			for range n {
				if _, err := in.Next(); err != nil {
					t.Fatal(err)
				}
			}
		}
		in.Stop()
	})
}
