package supervisor

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/rest"
)

// sleeper is a piece that rests until it is told how to end.
type sleeper struct {
	bell rest.Bell
	tell chan error
}

func (s *sleeper) work(ctx context.Context) error {
	select {
	case err := <-s.tell:
		return err
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	return &rest.Rest{Ctx: ctx, Arm: func(ring func()) {
		s.bell.Hang(ring)
		if len(s.tell) > 0 {
			ring()
		}
	}, Resume: func() error { s.bell.Take(); return s.work(ctx) }}
}

func (s *sleeper) end(err error) {
	s.tell <- err
	s.bell.Ring()
}

// M34: a task at rest has no goroutine, and is in the tree, waited for and stopped like any other.
func TestTaskAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := NewTree(time.Now)
		g := tree.Root("graphd").NewGroup()
		before := runtime.NumGoroutine()
		pieces := make([]*sleeper, 100)
		for i := range pieces {
			pieces[i] = &sleeper{tell: make(chan error, 1)}
			g.Go(t.Context(), "piece", func(ctx context.Context, _ *Node) error { return pieces[i].work(ctx) })
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > len(pieces)/2 { // other tests have some too
			t.Errorf("%d pieces at rest have %d goroutines", len(pieces), n)
		}
		if n := len(tree.Snapshot()); n != len(pieces) {
			t.Errorf("%d are in the tree, want %d", n, len(pieces))
		}
		pieces[3].end(errBoom)
		synctest.Wait()
		if n := len(tree.Snapshot()); n != len(pieces)-1 {
			t.Errorf("%d are in the tree after an end, want %d", n, len(pieces)-1)
		}
		g.Stop()
		if err := g.Wait(); !errors.Is(err, errBoom) {
			t.Errorf("got %v, want the one failure: a stop is none", err)
		}
	})
}

// M35, M36: a piece that fails after a rest is restarted, the operator can restart it at rest, and its end is its end.
func TestSupervisedAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []EventKind
		s, op, starts := &sleeper{tell: make(chan error, 1)}, NewRestarter(), 0
		g := NewTree(time.Now).Root("graphd").NewGroup()
		task := g.Supervise(t.Context(), Config{Name: "piece", Policy: DefaultPolicy(), Restarter: op,
			Run:     func(ctx context.Context, _ int) error { starts++; return s.work(ctx) },
			OnEvent: func(ev Event) { got = append(got, ev.Kind) },
		})
		synctest.Wait()
		s.end(errBoom)
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		op.Restart()
		synctest.Wait()
		if starts != 3 {
			t.Errorf("started %d times, want 3", starts)
		}
		s.end(nil)
		synctest.Wait()
		select {
		case <-task.Done():
		default:
			t.Error("the piece has ended, and its task has not")
		}
		if d := cmp.Diff([]EventKind{EventWaiting, EventRestart, EventOperatorRestart}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A panic after a rest is a failure like any other, and a task that rests for another one's end is rung for.
func TestRestPanicsAndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewTree(time.Now).Root("graphd").NewGroup()
		release := make(chan struct{})
		other := g.Go(t.Context(), "other", func(context.Context, *Node) error { <-release; return nil })
		waits := g.Go(t.Context(), "waits", func(ctx context.Context, _ *Node) error {
			return &rest.Rest{Ctx: ctx, Arm: other.Ring, Resume: func() error { panic(errBoom) }}
		})
		synctest.Wait()
		close(release)
		<-waits.Done()
		if !errors.Is(waits.Err(), errBoom) {
			t.Errorf("got %v, want the panic", waits.Err())
		}
		late := g.Go(t.Context(), "late", func(ctx context.Context, _ *Node) error {
			return &rest.Rest{Ctx: ctx, Arm: other.Ring, Resume: func() error { return nil }}
		})
		<-late.Done()
	})
}
