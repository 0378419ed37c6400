package supervisor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/rest"
)

// ErrStopped is the cause of a context that ended because its task or group was stopped.
var ErrStopped = errors.New("stopped")

// StuckError names what would not stop in time (M38).
type StuckError struct {
	// Paths are places in the tree, the innermost that still run.
	Paths []string
	After time.Duration
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("did not stop within %v: %s", e.After, strings.Join(e.Paths, ", "))
}

// StuckAlone says that an error tells of nothing else than of what would not stop in time; nil is true.
func StuckAlone(err error) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(many.Unwrap(), func(err error) bool { return !StuckAlone(err) })
	}
	_, stuck := errors.AsType[*StuckError](err)
	return stuck || err == nil
}

// PanicError is a panic that was caught at the edge of a piece.
type PanicError struct {
	Value any
	// Stack is where it happened, as runtime/debug.Stack prints it.
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap is the value when it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Protect runs fn and turns a panic into a *PanicError.
func Protect(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return fn()
}

// Group starts goroutines below one node and joins them. It never ends a task
// because another failed.
type Group struct {
	node *Node

	mu      sync.Mutex
	tasks   []*Task // those that run, in no order
	stopped bool
	err     error // the first failure
}

// NewGroup makes an empty group whose tasks stand below n in the tree.
func (n *Node) NewGroup() *Group {
	return &Group{node: n}
}

// Task is one goroutine of a group.
type Task struct {
	node   *Node
	cancel context.CancelCauseFunc
	done   chan struct{}
	ended  rest.Bell
	bell   rest.Bell // for its piece at rest, when it is stopped
	place  int       // in the group's tasks, whose lock guards it
	err    error     // set before done is closed
}

// Go starts fn on a goroutine of its own, under a context that ends with ctx, with
// the task or with the group, and registers it in the tree for as long as it runs.
// A panic in fn becomes the task's error. Where fn answers a [*rest.Rest], the task goes on after it.
func (g *Group) Go(ctx context.Context, name string, fn func(ctx context.Context, n *Node) error) *Task {
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	t := &Task{node: g.node.start(name), cancel: cancel, done: make(chan struct{})}
	g.mu.Lock()
	t.place, g.tasks = len(g.tasks), append(g.tasks, t)
	stopped := g.stopped
	g.mu.Unlock()
	if stopped {
		cancel(ErrStopped)
	}
	go g.run(parent, t, func() error { return fn(ctx, t.node) }) // joined by Wait and WaitDeadline through t.done
	return t
}

// run is the task's goroutine. One whose piece rests ends, and another one goes on when the piece is rung for: to
// everyone else the task runs on. Its own context ends with parent, or with Stop.
func (g *Group) run(parent context.Context, t *Task, piece func() error) {
	err := errors.New("goroutine exited without returning")
	defer func() { // deferred: also after runtime.Goexit
		if r := rest.Of(err); r != nil {
			r.Above(parent, &t.bell, nil).Begin(func() { go g.run(parent, t, r.Resume) })
			return
		}
		g.finish(t, err)
	}()
	err = Protect(piece)
}

// Supervise starts [Supervise] as a task named c.Name, with the task's own node.
func (g *Group) Supervise(ctx context.Context, c Config) *Task {
	return g.Go(ctx, c.Name, func(ctx context.Context, n *Node) error {
		c.Node = n
		return Supervise(ctx, c)
	})
}

func (g *Group) finish(t *Task, err error) {
	t.cancel(ErrStopped)
	t.node.Remove()
	t.err = err
	g.mu.Lock()
	last := len(g.tasks) - 1
	g.tasks[t.place], g.tasks[last].place = g.tasks[last], t.place
	g.tasks[last] = nil
	g.tasks = g.tasks[:last]
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("%s: %w", t.node.Path(), err)
	}
	g.mu.Unlock()
	close(t.done)
	t.ended.Ring()
}

// Stop ends the contexts of all tasks, now and to come, and returns at once.
func (g *Group) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	for _, t := range g.tasks {
		t.Stop()
	}
}

// Wait returns when no task runs any more, with the error of the task that failed
// first, if any. It stops nothing by itself.
func (g *Group) Wait() error {
	for {
		t := g.any()
		if t == nil {
			return g.firstErr()
		}
		<-t.done
	}
}

// WaitDeadline is [Group.Wait] for at most d. When something still runs then, it
// answers with a *StuckError that names it; what runs goes on running and can
// still be waited for.
func (g *Group) WaitDeadline(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return g.WaitContext(ctx)
}

// WaitContext is [Group.WaitDeadline] until ctx is done.
func (g *Group) WaitContext(ctx context.Context) error {
	began := time.Now()
	for {
		t := g.any()
		if t == nil {
			return g.firstErr()
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			if paths := g.running(); len(paths) > 0 {
				return &StuckError{Paths: paths, After: time.Since(began)}
			}
			return g.firstErr()
		}
	}
}

func (g *Group) any() *Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.tasks) == 0 {
		return nil
	}
	return g.tasks[0]
}

func (g *Group) firstErr() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *Group) running() []string {
	g.mu.Lock()
	nodes := make([]*Node, 0, len(g.tasks))
	for _, t := range g.tasks {
		nodes = append(nodes, t.node)
	}
	g.mu.Unlock()

	tree := g.node.tree
	tree.mu.Lock()
	defer tree.mu.Unlock()
	var paths []string
	for _, n := range nodes {
		paths = n.appendRunning(paths)
	}
	slices.Sort(paths)
	return paths
}

// Stop ends the task's context and returns at once; its siblings go on.
func (t *Task) Stop() {
	t.cancel(ErrStopped)
	t.bell.Ring()
}

// Ring has ring called when the task has ended, at once when it has already: for one rest that waits for it.
func (t *Task) Ring(ring func()) {
	t.ended.Hang(ring)
	select {
	case <-t.done:
		ring()
	default:
	}
}

// Done is closed when the task has ended.
func (t *Task) Done() <-chan struct{} { return t.done }

// Err is what the task returned; to be read after Done is closed.
func (t *Task) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// Wait returns when the task has ended, with its error, or when ctx is done, with ctx's.
func (t *Task) Wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", t.node.Path(), context.Cause(ctx))
	}
}
