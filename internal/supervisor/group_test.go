package supervisor

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// paths lists the tree as "path state".
func paths(t *Tree) []string {
	var out []string
	for _, l := range t.Snapshot() {
		out = append(out, l.Path+" "+l.State)
	}
	return out
}

// untilDone is a task that ends when it is told to.
func untilDone(ctx context.Context, _ *Node) error {
	<-ctx.Done()
	return nil
}

// M34: what runs is in the tree while it runs; a parent's end ends its children; a sibling is untouched.
func TestGroupTree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := NewTree(time.Now)
		root := tree.Root("graphd")
		root.SetState("running")
		graphs := root.Child("default").NewGroup()
		graph := func(ctx context.Context, n *Node) error {
			units := n.NewGroup()
			units.Go(ctx, "reactor", untilDone)
			units.Go(ctx, "accumulator/book", untilDone)
			return units.Wait()
		}
		a := graphs.Go(t.Context(), "a", graph)
		graphs.Go(t.Context(), "b", graph)
		synctest.Wait()
		want := []string{
			"graphd running",
			"graphd/default/a running", "graphd/default/a/accumulator/book running", "graphd/default/a/reactor running",
			"graphd/default/b running", "graphd/default/b/accumulator/book running", "graphd/default/b/reactor running",
		}
		if d := cmp.Diff(want, paths(tree)); d != "" {
			t.Errorf("both (-want +got):\n%s", d)
		}

		a.Stop()
		if err := a.Wait(t.Context()); err != nil {
			t.Errorf("got %v, want nil", err)
		}
		synctest.Wait()
		if d := cmp.Diff([]string{want[0], want[4], want[5], want[6]}, paths(tree)); d != "" {
			t.Errorf("after a (-want +got):\n%s", d)
		}

		graphs.Stop()
		if err := graphs.Wait(); err != nil {
			t.Errorf("got %v, want nil", err)
		}
		if d := cmp.Diff([]string{want[0]}, paths(tree)); d != "" {
			t.Errorf("after all (-want +got):\n%s", d)
		}
	})
}

// M34: one task's failure or panic leaves its siblings alone, and Wait tells of the first.
func TestGroupFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewTree(time.Now).Root("graphd").NewGroup()
		bad := g.Go(t.Context(), "bad", func(context.Context, *Node) error { panic(errBoom) })
		<-bad.Done()
		g.Go(t.Context(), "worse", func(context.Context, *Node) error { return errors.New("later") })
		good := g.Go(t.Context(), "good", untilDone)
		gone := g.Go(t.Context(), "gone", func(context.Context, *Node) error { runtime.Goexit(); return nil })
		<-gone.Done()
		synctest.Wait()
		if good.Err() != nil {
			t.Errorf("good ended: %v", good.Err())
		}
		select {
		case <-good.Done():
			t.Error("good ended with its sibling")
		default:
		}
		if gone.Err() == nil {
			t.Error("a goroutine that exits without returning has no error")
		}
		g.Stop()
		err := g.Wait()
		if !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "graphd/bad: panic: boom") {
			t.Errorf("got %v, want graphd/bad: panic: boom", err)
		}
		p, ok := errors.AsType[*PanicError](bad.Err())
		if !ok || !strings.Contains(p.Stack, "TestGroupFailure") {
			t.Errorf("got %v, want a panic with its stack", bad.Err())
		}
	})
}

// M38: what would not stop is named, the innermost only, and stays visible until it does.
func TestGroupDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := NewTree(time.Now)
		g := tree.Root("graphd").NewGroup()
		release := make(chan struct{})
		stubborn := func(context.Context, *Node) error { <-release; return nil }
		g.Go(t.Context(), "kind", untilDone)
		g.Go(t.Context(), "direct", stubborn)
		g.Go(t.Context(), "graph", func(ctx context.Context, n *Node) error {
			units := n.NewGroup()
			units.Go(ctx, "sink", stubborn)
			units.Go(ctx, "reactor", untilDone)
			return units.Wait()
		})
		// This one leaves without waiting for what it started.
		g.Go(t.Context(), "careless", func(ctx context.Context, n *Node) error {
			n.NewGroup().Go(ctx, "left", stubborn)
			return nil
		})
		g.Stop()
		began := time.Now()
		err := g.WaitDeadline(30 * time.Second)
		stuck, ok := errors.AsType[*StuckError](err)
		if !ok || time.Since(began) != 30*time.Second {
			t.Fatalf("got %v after %v, want a StuckError after 30s", err, time.Since(began))
		}
		if d := cmp.Diff([]string{"graphd/direct", "graphd/graph/sink"}, stuck.Paths); d != "" {
			t.Errorf("stuck (-want +got):\n%s", d)
		}
		want := []string{"graphd/careless ended", "graphd/careless/left running", "graphd/direct running",
			"graphd/graph running", "graphd/graph/sink running"}
		if d := cmp.Diff(want, paths(tree)); d != "" {
			t.Errorf("tree (-want +got):\n%s", d)
		}
		close(release)
		if err := g.WaitDeadline(time.Second); err != nil {
			t.Errorf("got %v, want nil once released", err)
		}
		synctest.Wait()
		if got := tree.Snapshot(); len(got) != 0 {
			t.Errorf("got %v, want an empty tree", got)
		}
	})
}

// A task started after the stop is told to stop at once; one that ends with its parent's context too.
func TestGroupContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewTree(time.Now).Root("graphd").NewGroup()
		cause := func(got *error) func(context.Context, *Node) error {
			return func(ctx context.Context, _ *Node) error {
				<-ctx.Done()
				*got = context.Cause(ctx)
				return nil
			}
		}
		errParent := errors.New("parent")
		parent, cancel := context.WithCancelCause(t.Context())
		var byParent, byStop error
		first := g.Go(parent, "first", cause(&byParent))
		waiting, stopWaiting := context.WithTimeout(t.Context(), time.Second)
		defer stopWaiting()
		if err := first.Wait(waiting); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "graphd/first") {
			t.Errorf("got %v, want the deadline with the name", err)
		}
		cancel(errParent)
		g.Stop()
		g.Go(t.Context(), "late", cause(&byStop))
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(byParent, errParent) || !errors.Is(byStop, ErrStopped) {
			t.Errorf("got causes %v and %v, want parent and stopped", byParent, byStop)
		}
	})
}

// Two of one name are told apart while both run.
func TestGroupSameName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := NewTree(time.Now)
		g := tree.Root("graphd").NewGroup()
		g.Go(t.Context(), "sink", untilDone)
		second := g.Go(t.Context(), "sink", untilDone)
		if d := cmp.Diff([]string{"graphd/sink running", "graphd/sink#2 running"}, paths(tree)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		second.Stop()
		<-second.Done()
		if d := cmp.Diff([]string{"graphd/sink running"}, paths(tree)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		g.Stop()
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTreeLines(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	tree := NewTree(func() time.Time { now = now.Add(time.Second); return now })
	root := tree.Root("graphd")
	if tree.Root("graphd") != root {
		t.Error("a root is made twice")
	}
	node := root.Child("default").Child("mm")
	if root.Child("default").Child("mm") != node || node.Path() != "graphd/default/mm" {
		t.Errorf("got %s, want one node graphd/default/mm", node.Path())
	}
	node.SetState("live")
	entered := now
	node.SetState("live") // the same state again is not a change
	node.Restarted()
	want := []Line{{Path: "graphd/default/mm", State: "live", Restarts: 1, Since: entered}}
	if d := cmp.Diff(want, tree.Snapshot()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	// A removed parent stays for as long as a child does; a namesake is not removed with it.
	root.SetState("running")
	root.Remove()
	if d := cmp.Diff([]string{"graphd ended", "graphd/default/mm live"}, paths(tree)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	root.Child("default").Remove()
	node.Remove()
	if got := tree.Snapshot(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	again := tree.Root("graphd")
	again.SetState("running")
	root.Remove()
	if d := cmp.Diff([]string{"graphd running"}, paths(tree)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
