package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

func realCommit(c *sqlconn.Conn) error {
	_, err := c.Exec("COMMIT")
	return err
}

// hold keeps the writer busy until release is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	entered, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.write(t.Context(), groupBytes, func(context.Context, *sqlconn.Conn) error { // alone in its group
			close(entered)
			<-gate
			return rules.Refuse("nothing to do")
		})
	}()
	<-entered
	return func() {
		close(gate)
		<-done
	}
}

// queued waits until n requests wait for a writer that is held.
func queued(s *Store, n int) {
	for len(s.writer.queue) < n {
		runtime.Gosched() // the requests are on their way on other goroutines
	}
}

// M28: once COMMIT is sent nobody can tell; the caller is told so at once, and finds
// out by acquiring the graph anew.
func TestCancelAfterSent(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
		o := checkpointtest.NewOwner(t, s, "g")
		sent, gate := make(chan struct{}), make(chan struct{})
		s.writer.commit = func(c *sqlconn.Conn) error {
			close(sent)
			<-gate
			s.writer.commit = realCommit
			if fails {
				return errors.New("disk I/O error")
			}
			return realCommit(c)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("shutdown")
		c := o.Next
		c.Seq, c.Cells = 1, checkpointtest.CellsOf(3, 100)
		answer := make(chan error, 1)
		go func() { answer <- s.Commit(ctx, &c) }()
		<-sent
		cancel(why)
		// though COMMIT hangs
		if err := <-answer; !errors.Is(err, checkpoint.ErrUnknownOutcome) || !errors.Is(err, why) {
			t.Errorf("got %v, want ErrUnknownOutcome", err)
		}
		c.ID, c.Seq, c.Cells = checkpoint.ID{}, 99, nil // the caller's memory is the caller's again
		close(gate)
		head, err := s.Acquire(t.Context(), o.Next.ID)
		if err != nil || (head.Seq == 1) == fails {
			t.Errorf("after the outcome was unknown (COMMIT fails: %v): %+v, %v", fails, head, err)
		}
		closeStore(t, s)
	}
}

// Before that the commit is taken back: while it waits, and while it is written.
func TestCancelBeforeSent(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
	defer closeStore(t, s)
	o := checkpointtest.NewOwner(t, s, "g")
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	c := o.Next
	c.Seq, c.Cells = 1, checkpointtest.CellsOf(1000, 100)
	answer := make(chan error, 1)
	go func() { answer <- s.Commit(ctx, &c) }()
	queued(s, 1)
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("cancelled while it waits: %v", err)
	}
	c.Cells[0].Data[0] = '?' // the writer will not look at it any more
	release()

	for after := range 40 { // between any two looks at the context
		ctx := &countdown{Context: t.Context(), left: after}
		if err := s.Commit(ctx, &c); !errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("cancelled at look %d: %v", after, err)
		}
	}
	head, err := s.Acquire(t.Context(), c.ID)
	if err != nil || head.Seq != 0 {
		t.Errorf("something was applied: %+v, %v", head, err)
	}
	o = checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells = c.Cells
	o.Commit(t)
}

// countdown is a context that is done at the n-th look.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Nobody but the one who asked suffers: in a group that is written together one is
// cancelled, one fails, one is fenced, one is damaged, the others are applied.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
	defer closeStore(t, s)
	commits, transactions := 0, 0
	s.writer.commit = func(c *sqlconn.Conn) error { transactions++; return realCommit(c) }
	var owners []*checkpointtest.Owner
	for g := range 12 {
		owners = append(owners, checkpointtest.NewOwner(t, s, fmt.Sprintf("g%d", g)))
	}
	for _, bad := range []bool{false, true} {
		release := hold(t, s)
		transactions, commits = 0, 0
		var wg sync.WaitGroup
		for g, o := range owners {
			c := o.Next
			c.Seq++
			want, ctx := error(nil), t.Context()
			if g == 3 {
				c.Fence-- // changes nothing, so the group goes on
				want = checkpoint.ErrFenced
			} else {
				commits++
			}
			if g == 5 && bad {
				ctx = &countdown{Context: t.Context(), left: 1} // one look on the way in
				want = context.Canceled
				commits--
			}
			wg.Go(func() {
				if err := s.Commit(ctx, &c); !errors.Is(err, want) {
					t.Errorf("graph %d: %v, want %v", g, err, want)
				}
			})
			if want == nil {
				o.Next.Seq++
			}
		}
		queued(s, len(owners))
		release()
		wg.Wait()
		if want := map[bool]int{false: 1, true: commits}[bad]; transactions != want {
			t.Errorf("%d commits took %d transactions, want %d", commits, transactions, want)
		}
	}
	for g, o := range owners {
		if head := headOf(t, s, o.Next.ID); head.Seq != o.Next.Seq {
			t.Errorf("graph %d is at %d, want %d", g, head.Seq, o.Next.Seq)
		}
	}
}

// M28: nothing of a group that was rolled back is acknowledged, whatever was in it; and where
// one request alone is to blame, the others are carried out and acknowledged for what they are.
func TestRolledBackGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		commit  error // of the group's COMMIT
		blame   error // of one request in it
		applied bool  // the others
	}{
		{"COMMIT fails", errors.New("disk I/O error"), nil, false},
		{"one request fails", nil, errors.New("constraint failed"), true},
		{"neither", nil, nil, true},
	} {
		s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
		s.sweeper.Close() // it would write too: the request to blame leaves something to sweep
		a, b := checkpointtest.NewOwner(t, s, "a"), checkpointtest.NewOwner(t, s, "b")
		release := hold(t, s)
		s.writer.commit = func(c *sqlconn.Conn) error {
			if test.commit == nil {
				return realCommit(c)
			}
			_, err := c.Exec("ROLLBACK")
			return errors.Join(test.commit, err)
		}
		calls := []func() error{
			func() error { c := a.Next; c.Seq++; return s.Commit(t.Context(), &c) },
			func() error {
				return s.AppendJournal(t.Context(), b.Next.ID, b.Next.Fence, []checkpoint.JournalEntry{{Seq: 1}})
			},
			func() error {
				_, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Graph: "c"}, 0)
				return err
			},
			func() error {
				return s.AddRecoveryEvent(t.Context(), a.Next.ID, checkpoint.RecoveryEvent{Kind: "restart"})
			},
		}
		answers, blamed := make([]error, len(calls)), error(nil)
		var wg sync.WaitGroup
		for i, call := range calls {
			wg.Go(func() { answers[i] = call() })
		}
		wg.Go(func() {
			blamed = s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
				_, err := c.Exec("INSERT INTO dropped_state (state, tenant) VALUES (999, '')") // undone with the rest
				return errors.Join(test.blame, err)
			})
		})
		queued(s, len(calls)+1)
		release()
		wg.Wait()
		if !errors.Is(blamed, cmp.Or(test.blame, test.commit)) {
			t.Errorf("%s: the request to blame: %v", test.name, blamed)
		}
		s.writer.commit = realCommit
		acked := s.writer.witness.slots[slotKey(a.Next.ID)].seq
		heads := map[string]bool{
			"commit": headOf(t, s, a.Next.ID).Seq == 1, "append": headOf(t, s, b.Next.ID).Journal == 1,
		}
		declared, err := s.Declarations(t.Context())
		events, _, err2 := s.RecoveryEvents(t.Context(), a.Next.ID, checkpoint.Query{})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for i, there := range []bool{heads["commit"], heads["append"], len(declared) == 1, len(events) == 1} {
			if there != test.applied || (answers[i] == nil) != there || !there && !errors.Is(answers[i], test.commit) {
				t.Errorf("%s: request %d is in the store: %v; it was answered %v", test.name, i, there, answers[i])
			}
		}
		if (acked == 1) != test.applied {
			t.Errorf("%s: the witness has commit %d", test.name, acked)
		}
		closeStore(t, s)
	}
}

// A COMMIT that fails is looked into: not applied is a clean error, all else unknown.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("disk I/O error")
	tests := []struct {
		name    string
		commit  func(s *Store, c *sqlconn.Conn) error
		unknown bool
		seq     int64
	}{
		{"and is still open", func(*Store, *sqlconn.Conn) error { return failed }, false, 0},
		{"and was rolled back", func(_ *Store, c *sqlconn.Conn) error {
			_, err := c.Exec("ROLLBACK")
			return errors.Join(failed, err)
		}, false, 0},
		{"but was applied", func(_ *Store, c *sqlconn.Conn) error {
			return errors.Join(failed, realCommit(c))
		}, true, 1},
		{"and the file can not be read", func(s *Store, c *sqlconn.Conn) error {
			reopen := s.writer.open
			s.writer.open = func() (*sqlconn.Conn, error) {
				s.writer.open = reopen
				return nil, errors.New("too many open files")
			}
			return failed
		}, true, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
			defer closeStore(t, s)
			o := checkpointtest.NewOwner(t, s, "g")
			s.writer.commit = func(c *sqlconn.Conn) error {
				s.writer.commit = realCommit
				return test.commit(s, c)
			}
			c := o.Next
			c.Seq, c.Cells = 1, checkpointtest.CellsOf(3, 100)
			err := s.Commit(t.Context(), &c)
			if !errors.Is(err, failed) || errors.Is(err, checkpoint.ErrUnknownOutcome) != test.unknown {
				t.Errorf("got %v, want unknown %v", err, test.unknown)
			}
			head, err := s.Acquire(t.Context(), c.ID)
			if err != nil || head.Seq != test.seq {
				t.Fatalf("head %+v, %v; want seq %d", head, err, test.seq)
			}
			c.Seq, c.Fence = head.Seq+1, head.Fence
			if err := s.Commit(t.Context(), &c); err != nil {
				t.Errorf("the next commit: %v", err)
			}
		})
	}
}

// A full disk is a clean error that says what to do; small commits go on while they fit,
// and all of them when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
	defer closeStore(t, s)
	pages := func(most int) {
		t.Helper()
		limit := fmt.Sprintf("PRAGMA max_page_count = %d", most)
		s.writer.open = func() (*sqlconn.Conn, error) { return sqlconn.Open(s.path, s.opts.writerPragmas()+";"+limit) }
		if err := s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
			_, err := c.First(limit)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	o := checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells = checkpointtest.CellsOf(10, 1000)
	o.Commit(t)
	pages(100)
	large := o.Next
	large.Seq++
	large.Cells = checkpointtest.CellsOf(2000, 1000)
	for range 3 {
		err := s.Commit(t.Context(), &large)
		if err == nil || errors.Is(err, checkpoint.ErrUnknownOutcome) || errors.Is(err, checkpoint.ErrFenced) ||
			!strings.Contains(err.Error(), "free space") {
			t.Fatalf("a commit that does not fit: %v", err)
		}
	}
	o.Commit(t) // the cells that are there
	cells := contents(t, s, o.Next.ID)
	if len(cells) != 10 {
		t.Errorf("there are %d cells", len(cells))
	}
	pages(1 << 30)
	o.Next.Cells = large.Cells
	o.Commit(t)
	if got := len(contents(t, s, o.Next.ID)); got != 2000 {
		t.Errorf("there are %d cells", got)
	}
}

// Another program that holds the file, such as a backup, is waited for; past that the
// error is clean.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s, err := Open(t.Context(), path, Options{BusyTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	o := checkpointtest.NewOwner(t, s, "g")
	c, err := sqlconn.Open(path, "BEGIN IMMEDIATE")
	if err != nil {
		t.Fatal(err)
	}
	failing := o.Next
	failing.Seq = 1
	if err := s.Commit(t.Context(), &failing); err == nil || errors.Is(err, checkpoint.ErrUnknownOutcome) ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("a commit while another program writes: %v", err)
	}
	if err := s.Ping(t.Context()); err != nil { // reading goes on
		t.Errorf("ping: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	o.Commit(t)
}

// Close with calls under way: each is answered, and none is left half done.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s := open(t, path)
	var wg sync.WaitGroup
	acknowledged := make([]int64, 8)
	started := make(chan struct{}, len(acknowledged))
	for g := range acknowledged {
		o := checkpointtest.NewOwner(t, s, fmt.Sprintf("g%d", g))
		wg.Go(func() {
			for {
				c := o.Next
				c.Seq = acknowledged[g] + 1
				err := s.Commit(t.Context(), &c)
				if errors.Is(err, checkpoint.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				acknowledged[g] = c.Seq
				if c.Seq == 5 {
					started <- struct{}{}
				}
				if _, _, err := s.Firings(t.Context(), c.ID, checkpoint.Query{}); err != nil &&
					!errors.Is(err, checkpoint.ErrClosed) {
					t.Errorf("firings: %v", err)
				}
			}
		})
	}
	for range acknowledged {
		<-started
	}
	closeStore(t, s)
	wg.Wait()
	closeStore(t, s) // twice is safe
	s = open(t, path)
	defer closeStore(t, s)
	for g, want := range acknowledged {
		if head := headOf(t, s, checkpoint.ID{Tenant: "default", Graph: fmt.Sprintf("g%d", g)}); head.Seq != want {
			t.Errorf("graph %d is at %d, want %d", g, head.Seq, want)
		}
	}
}
