package together

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/jackc/pgx/v5/pgconn"
)

// line is a server that takes a second for each Send, and notes what came together.
type line struct {
	mu     sync.Mutex
	groups []string
	flying int
	most   int
	fail   func(calls []*Call) error
}

func (l *line) send(ctx context.Context, calls []*Call) error {
	var names []string
	for _, c := range calls {
		names = append(names, c.Text)
	}
	l.mu.Lock()
	l.groups = append(l.groups, strings.Join(names, " "))
	l.flying++
	l.most = max(l.most, l.flying)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flying--
	}()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, context.Cause(ctx))
	}
	if l.fail != nil {
		if err := l.fail(calls); err != nil {
			return err
		}
	}
	for i, c := range calls {
		c.Answer = int64(i + 1)
	}
	return nil
}

// do sends calls one after the other, without waiting for answers.
func do(ctx context.Context, s *Sender, bytes int64, names ...string) (
	answers map[string]*int64, errs map[string]chan error) {
	answers, errs = map[string]*int64{}, map[string]chan error{}
	for _, name := range names {
		c, done := &Call{Text: name, Bytes: bytes}, make(chan error, 1)
		answers[name], errs[name] = &c.Answer, done
		go func() { done <- s.Do(ctx, c) }()
		synctest.Wait()
	}
	return answers, errs
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("c%d", i))
	}
	return all
}

func TestWhoComesWhileFlightsAreFullGoesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		s := New(l.send)
		began := time.Now()
		answers, errs := do(t.Context(), s, 10, names(maxFlights+maxCalls+2)...)
		for name, err := range errs {
			if err := <-err; err != nil || *answers[name] == 0 {
				t.Errorf("%s: %d, %v", name, *answers[name], err)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %v, want two flights", took)
		}
		want := names(maxFlights + maxCalls + 2)
		want = append(want[:maxFlights:maxFlights], strings.Join(want[maxFlights:maxFlights+maxCalls], " "),
			strings.Join(want[maxFlights+maxCalls:], " "))
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(l.groups)); !slices.Equal(got, want) || l.most != maxFlights {
			t.Errorf("at most %d at a time, %d groups: %q", l.most, len(l.groups), l.groups)
		}
		s.Wait()
		// Nobody is on the way: who comes now goes at once.
		if err := s.Do(t.Context(), &Call{Text: "late"}); err != nil || l.groups[len(l.groups)-1] != "late" {
			t.Errorf("%v, %q", err, l.groups)
		}
	})
}

func TestLargeCallsGoAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		s := New(l.send)
		_, small := do(t.Context(), s, 10, names(maxFlights)...)
		_, large := do(t.Context(), s, maxBytes+1, "large")
		_, half := do(t.Context(), s, maxBytes/2+1, "half", "other")
		for _, errs := range []map[string]chan error{small, large, half} {
			for name, err := range errs {
				if err := <-err; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for _, name := range []string{"large", "half", "other"} {
			if !slices.Contains(l.groups, name) {
				t.Errorf("%s has not gone alone: %q", name, l.groups)
			}
		}
	})
}

// M45: what is refused for one is done for the others, and what may have been done is sent again for nobody.
func TestWhatBecomesOfAGroup(t *testing.T) {
	poison := func(err error) func([]*Call) error {
		return func(calls []*Call) error {
			for _, c := range calls {
				if c.Text == "poison" {
					return err
				}
			}
			return nil
		}
	}
	broken := &pgconn.PgError{Severity: "ERROR", Message: "no"}
	for name, test := range map[string]struct {
		err         error
		sends       int // behind the first ones
		others, own error
	}{
		"refused": {broken, 4, nil, broken},
		"cut": {fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, broken), 1, checkpoint.ErrUnknownOutcome,
			checkpoint.ErrUnknownOutcome},
		"away": {checkpoint.ErrUnreachable, 1, checkpoint.ErrUnreachable, checkpoint.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{fail: poison(test.err)}
				s := New(l.send)
				_, first := do(t.Context(), s, 1, names(maxFlights)...)
				answers, errs := do(t.Context(), s, 1, "a", "poison", "b")
				for name, err := range first {
					if err := <-err; err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				for name, err := range errs {
					want := test.others
					if name == "poison" {
						want = test.own
					}
					if err := <-err; !errors.Is(err, want) || want == nil && (err != nil || *answers[name] != 1) {
						t.Errorf("%s: %v, want %v", name, err, want)
					}
				}
				if got := len(l.groups) - maxFlights; got != test.sends {
					t.Errorf("%d sends: %q", got, l.groups)
				}
			})
		})
	}
}

func TestWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		s := New(l.send)
		do(t.Context(), s, 1, names(maxFlights)...)
		ctx, cancel := context.WithCancel(t.Context())
		_, gone := do(ctx, s, 1, "gone")
		_, kept := do(t.Context(), s, 1, "kept")
		cancel()
		if err := <-gone["gone"]; !errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("before it was sent: %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		_, sent := do(ctx, s, 1, "sent")
		time.Sleep(time.Second + 1) // the second flight is under way
		synctest.Wait()
		cancel()
		if err := <-sent["sent"]; !errors.Is(err, checkpoint.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
			t.Errorf("after it was sent: %v", err)
		}
		if err := <-kept["kept"]; err != nil {
			t.Errorf("who stayed: %v", err)
		}
		if last := l.groups[len(l.groups)-1]; last != "kept sent" {
			t.Errorf("%q", l.groups)
		}
	})
}
