package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/dal/sqlite/schema"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

// childVariable makes the test binary behave as another process that uses a store:
// "role path".
const childVariable = "DAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, path, ok := strings.Cut(os.Getenv(childVariable), " "); ok {
		if err := child(role, path); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	leaks.Main(m)
}

func child(role, path string) error {
	ctx := context.Background()
	files := fs.FS(nil)
	if role == "migrate" {
		files = slowMigrations()
	}
	s, err := openChild(ctx, path, files)
	if err != nil {
		return err
	}
	fmt.Println("open")
	if role == "hold" {
		_, err := io.Copy(io.Discard, os.Stdin) // until the parent lets go
		return errors.Join(err, s.Close())
	}
	head, err := s.Acquire(ctx, killGraph())
	if err != nil {
		return err
	}
	fmt.Println("acquired", head.Incarnation, head.Attempts, head.UncleanStarts)
	if role == "journal" {
		return journalOn(ctx, s, head)
	}
	if role == "attempt" {
		n, err := s.Attempt(ctx, killGraph(), head.Fence, head.Epoch+1)
		if err != nil {
			return err
		}
		fmt.Println("attempted", n)
	}
	if role == "acquire" || role == "attempt" {
		select {} // until killed
	}
	for seq := head.Seq + 1; ; seq++ {
		if err := s.Commit(ctx, killCommit(head, seq)); err != nil {
			return err
		}
		fmt.Println("committed", seq)
	}
}

func openChild(ctx context.Context, path string, files fs.FS) (*Store, error) {
	if files == nil {
		return Open(ctx, path, Options{})
	}
	return openWith(ctx, path, Options{}, files)
}

// process is a child, with the lines it has said.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func start(t *testing.T, role, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+role+" "+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, stdin, bufio.NewScanner(stdout)}
}

// line is the next thing the child says, which must begin with this word.
func (p *process) line(t *testing.T, word string) []string {
	t.Helper()
	if !p.lines.Scan() || !strings.HasPrefix(p.lines.Text(), word) {
		t.Fatalf("the child said %q, want %q", p.lines.Text(), word)
	}
	return strings.Fields(p.lines.Text())
}

// kill ends the child as kill -9 does and returns what it has said unread.
func (p *process) kill(t *testing.T) []string {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var rest []string
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	_ = p.cmd.Wait() // "signal: killed"
	return rest
}

func killGraph() checkpoint.ID { return checkpoint.ID{Tenant: "default", Graph: "kill"} }

// killCommit is what any child commits under this number.
func killCommit(head checkpoint.Head, seq int64) *checkpoint.Commit {
	c := &checkpoint.Commit{
		ID: killGraph(), Fence: head.Fence, Seq: seq, Epoch: 2 * seq, At: time.Unix(seq, 0),
		Meta: fmt.Appendf(nil, "meta %d", seq),
		Cells: []checkpoint.Cell{
			{Kind: "count", Data: fmt.Append(nil, seq)},
			{Kind: "key", Key: fmt.Sprint(seq % 17), Data: []byte(strings.Repeat(fmt.Sprint(seq), 500))},
			{Kind: "key", Key: fmt.Sprint((seq + 5) % 17)},
		},
		KeepFirings: 30,
	}
	for _, epoch := range []int64{2*seq - 1, 2 * seq} {
		c.Firings = append(c.Firings, checkpoint.Firing{
			Incarnation: head.Incarnation, Epoch: epoch, Data: fmt.Append(nil, epoch),
		})
	}
	if seq%5 == 0 {
		c.DeadLetters = []checkpoint.DeadLetter{{ID: fmt.Sprintf("%08d", seq), Payload: []byte("x")}}
	}
	return c
}

// contents is all that a graph has in a store, without the incarnations.
func contents(t *testing.T, s checkpoint.Store, id checkpoint.ID) map[string]string {
	t.Helper()
	got := map[string]string{}
	if err := s.Load(t.Context(), id, func(c checkpoint.Cell) error {
		got["cell "+c.Kind+" "+c.Name+" "+c.Key] = string(c.Data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	firings, _, err := s.Firings(t.Context(), id, checkpoint.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range firings {
		got[fmt.Sprintf("firing %d %d", i, f.Epoch)] = string(f.Data)
	}
	letters, _, err := s.DeadLetters(t.Context(), id, checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		got["letter "+l.ID] = string(l.Payload)
	}
	return got
}

// A process is killed again and again while it commits. What it was told is there, at
// most one commit more is, and the ledger has counted every start (M22, M28, M43).
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 24
	if testing.Short() {
		rounds = 5
	}
	path := filepath.Join(t.TempDir(), "graphd.db")
	model := memory.New() // has the same commits
	modelHead, err := model.Acquire(t.Context(), killGraph())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	total := int64(0)
	for round := 1; round <= rounds; round++ {
		p := start(t, "commit", path)
		p.line(t, "open")
		said := p.line(t, "acquired")
		if want := []string{"acquired", strconv.Itoa(round), "0", strconv.Itoa(round)}; !cmp.Equal(said, want) {
			t.Errorf("round %d: incarnation, attempts, unclean starts are %v, want %v", round, said, want)
		}
		acknowledged := total
		for range 1 + random.IntN(30) {
			acknowledged = number(t, p.line(t, "committed")[1])
		}
		for _, line := range p.kill(t) {
			if text, ok := strings.CutPrefix(line, "committed "); ok {
				acknowledged = number(t, text)
			}
		}
		s := open(t, path)
		total = headOf(t, s, killGraph()).Seq
		if total != acknowledged && total != acknowledged+1 {
			t.Errorf("round %d: %d commits were acknowledged, %d are there", round, acknowledged, total)
		}
		for modelHead.Seq < total {
			modelHead.Seq++
			if err := model.Commit(t.Context(), killCommit(modelHead, modelHead.Seq)); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(contents(t, model, killGraph()), contents(t, s, killGraph())); d != "" {
			t.Errorf("round %d, after commit %d (-want +got):\n%s", round, total, d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for attempts := range 3 { // M43: what died without trying an epoch is not counted, what tried one is
		p := start(t, "acquire", path)
		p.line(t, "open")
		if said := p.line(t, "acquired"); said[2] != strconv.Itoa(attempts) {
			t.Errorf("%d attempts are counted as %s", attempts, said[2])
		}
		p.kill(t)
		p = start(t, "attempt", path)
		p.line(t, "open")
		p.line(t, "acquired")
		if said := p.line(t, "attempted"); said[1] != strconv.Itoa(attempts+1) {
			t.Errorf("attempt %d is counted as %s", attempts+1, said[1])
		}
		p.kill(t)
	}
	t.Logf("%d kills, %d commits", rounds+6, total)
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func headOf(t *testing.T, s *Store, id checkpoint.ID) (head checkpoint.Head) {
	t.Helper()
	if err := s.read(t.Context(), func(c *sqlconn.Conn) (err error) {
		head, _, err = readHead(c, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return head
}

// M45: one process per file, told apart by its pid, and free as soon as it is dead.
func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "graphd.db")
	refused := func(path string, pid int) {
		t.Helper()
		_, err := Open(t.Context(), path, Options{})
		if !errors.Is(err, checkpoint.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", pid)) {
			t.Errorf("open %s: %v, want ErrLocked naming pid %d", path, err, pid)
		}
	}
	p := start(t, "hold", path)
	p.line(t, "open")
	refused(path, p.cmd.Process.Pid)
	if err := p.stdin.Close(); err != nil { // a clean stop
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	refused(path, os.Getpid()) // within one process too
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	refused(link, os.Getpid())
	other := start(t, "hold", path)
	if said := other.line(t, "error"); !strings.Contains(strings.Join(said, " "), fmt.Sprintf("pid %d ", os.Getpid())) {
		t.Errorf("another process was told %q", said)
	}
	_ = other.cmd.Wait() // exit status 1
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p = start(t, "hold", path)
	p.line(t, "open")
	// M45: the database itself is locked. Without the file beside it nobody knows by whom.
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the attempt leaves a file of its own behind
		other := start(t, "hold", path)
		if said := other.line(t, "error"); !strings.Contains(strings.Join(said, " "), "in use by another process") {
			t.Errorf("a second process without the lock file was told %q", said)
		}
		_ = other.cmd.Wait()
	}
	p.kill(t)
	s = open(t, path)
	heir := exec.Command(os.Args[0]) // has the lock's file open, as any child has until it runs its program
	heir.Env = append(os.Environ(), childVariable+"=hold "+filepath.Join(dir, "other.db"))
	heir.ExtraFiles = s.lock.Files()
	stdin, err := heir.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, link).Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stdin.Close(), heir.Wait()); err != nil {
		t.Fatal(err)
	}
}

// slowMigrations are twelve that leave rows behind, so that a kill finds one under way.
func slowMigrations() fstest.MapFS {
	files := fstest.MapFS{}
	for n := 1; n <= 12; n++ {
		text := fmt.Sprintf(`CREATE TABLE step%d (n INTEGER) STRICT;
			WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000)
				INSERT INTO step%d SELECT n FROM c;
			CREATE INDEX step%d_n ON step%d (n);`, n, n, n, n)
		if n == 1 {
			text = storeFileTable + text
		}
		files[fmt.Sprintf("sqlite/%04d_step.sql", n)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// A migration that is killed at any moment goes on where it was, with no step half done.
func TestMigrationIsKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	all := slowMigrations()
	first := maps.Clone(all) // the file is there, with one step
	for name := range first {
		if name != "sqlite/0001_step.sql" {
			delete(first, name)
		}
	}
	s, err := openWith(t.Context(), path, Options{}, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		p := start(t, "migrate", path)
		// It begins at once; where the kill finds it is left to chance.
		timer := time.AfterFunc(time.Duration(10+random.IntN(50))*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		timer.Stop()
		c, err := sqlconn.Open(path, "")
		if err != nil {
			t.Fatal(err)
		}
		version, err := schema.Version(c)
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after step %d", version)
	}
	if s, err = openWith(t.Context(), path, Options{}, all); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.read(t.Context(), func(c *sqlconn.Conn) error {
		for n := 1; n <= 12; n++ {
			r, err := c.First(fmt.Sprintf("SELECT count(*) FROM step%d INDEXED BY step%d_n", n, n))
			if err != nil || r.Int(0) != 4000 {
				t.Errorf("step %d: %v, %v", n, r, err)
			}
		}
		r, err := c.First("SELECT count(*), max(version) FROM schema_migration")
		if err != nil || r.Int(0) != 12 || r.Int(1) != 12 {
			t.Errorf("migrations: %v, %v", r, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
