package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// entryOf is a journal entry that can be told from all others.
func entryOf(seq int64) checkpoint.JournalEntry {
	return checkpoint.JournalEntry{Seq: seq, Data: bytes.Repeat(fmt.Appendf(nil, "%d,", seq), 400)}
}

// journalOn is a child that appends one entry after the other, and commits now and then.
func journalOn(ctx context.Context, s *Store, head checkpoint.Head) error {
	for seq := int64(1); ; seq++ {
		if err := s.AppendJournal(ctx, killGraph(), head.Fence, []checkpoint.JournalEntry{entryOf(seq)}); err != nil {
			return err
		}
		fmt.Println("journaled", seq)
		if seq%100 == 0 {
			c := &checkpoint.Commit{ID: killGraph(), Fence: head.Fence, Seq: seq / 100, Epoch: seq, JournalTo: seq - 50,
				Cells: []checkpoint.Cell{{Kind: "node", Name: "n", Data: fmt.Appendf(nil, "%d", seq)}}}
			if err := s.Commit(ctx, c); err != nil {
				return err
			}
			fmt.Println("committed", seq/100)
		}
	}
}

// damages are what happens to the files of a store whose daemon was killed.
var damages = []struct {
	name string
	do   func(path string, r *rand.Rand) error
}{
	{"the log cut short", func(path string, r *rand.Rand) error { return cut(path+"-wal", r) }},
	{"bytes of the log flipped", func(path string, r *rand.Rand) error {
		data, err := os.ReadFile(path + "-wal")
		for range 1 + r.IntN(8) {
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		}
		return errors.Join(err, os.WriteFile(path+"-wal", data, 0o600))
	}},
	{"the log gone", func(path string, _ *rand.Rand) error { return os.Remove(path + "-wal") }},
	{"the file cut short", func(path string, r *rand.Rand) error { return cut(path, r) }},
	{"the witness gone", func(path string, _ *rand.Rand) error { return os.Remove(path + ".acks") }},
	{"the log and the witness cut short", func(path string, r *rand.Rand) error {
		return errors.Join(cut(path+"-wal", r), cut(path+".acks", r))
	}},
}

func cut(name string, r *rand.Rand) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Truncate(name, r.Int64N(info.Size()))
}

// M28, M29: whatever is damaged of a killed daemon's files, what was acknowledged is there in
// full, or the store or the graph is refused. It is never silently short.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 36))
	for round := range 6 {
		made := filepath.Join(t.TempDir(), "graphd.db")
		p := start(t, "journal", made)
		p.line(t, "open")
		p.line(t, "acquired")
		acked, committed := int64(0), int64(0)
		for range 300 + r.IntN(700) {
			count(p.line(t, "")[0:2], &acked, &committed)
		}
		for _, line := range p.kill(t) {
			count(strings.Fields(line), &acked, &committed)
		}
		for _, damage := range damages {
			path := copyStore(t, made)
			if err := damage.do(path, r); err != nil {
				t.Fatal(err)
			}
			said, err := lookAt(t.Context(), path, acked, committed)
			t.Logf("round %d, %s: %s", round, damage.name, said)
			if err != nil {
				t.Errorf("round %d, %s, after %d entries and %d commits: %v", round, damage.name, acked, committed, err)
			}
		}
		path := copyStore(t, made) // none: the trial itself is right
		if said, err := lookAt(t.Context(), path, acked, committed); err != nil || said != "all is there" {
			t.Errorf("round %d, undamaged: %s, %v", round, said, err)
		}
	}
}

// count takes in what the child has said.
func count(said []string, acked, committed *int64) {
	n, err := strconv.ParseInt(said[len(said)-1], 10, 64)
	switch {
	case err != nil || len(said) != 2: // half a line, cut by the kill
	case said[0] == "journaled":
		*acked = n
	case said[0] == "committed":
		*committed = n
	}
}

func copyStore(t *testing.T, made string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "graphd.db")
	for _, part := range []string{"", "-wal", ".acks"} {
		data, err := os.ReadFile(made + part)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+part, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// lookAt answers what became of a store, and an error when something is missing and nobody says so.
func lookAt(ctx context.Context, path string, acked, committed int64) (said string, err error) {
	s, err := Open(ctx, path, Options{})
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return "refused: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	defer s.Close()
	head, err := s.Acquire(ctx, killGraph())
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return "the graph is refused: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if head.Journal < acked || head.Seq < committed {
		return "",
			fmt.Errorf(
				"the journal ends at %d, commit %d is the last: acknowledged ones are missing, and the graph goes on",
				head.Journal, head.Seq)
	}
	trimmed := max(head.Seq*100-50, 0)
	err = s.ReadJournal(ctx, killGraph(), trimmed, func(e checkpoint.JournalEntry) error {
		if !bytes.Equal(e.Data, entryOf(e.Seq).Data) {
			return fmt.Errorf("entry %d is not what it was", e.Seq)
		}
		return nil
	})
	if err == nil {
		err = s.Load(ctx, killGraph(), func(c checkpoint.Cell) error {
			if string(c.Data) != fmt.Sprint(head.Seq*100) {
				return fmt.Errorf("cell %s is %s", c.Name, c.Data)
			}
			return nil
		})
	}
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return "the graph is refused: " + err.Error(), nil
	}
	return "all is there", err
}

// A witness that is gone is made anew where nothing can be missing, and where a person says so.
func TestWitness(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s := open(t, path)
	if _, err := s.Acquire(t.Context(), killGraph()); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), killGraph()); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if err := os.Remove(witnessPath(path)); err != nil { // the file alone was moved
		t.Fatal(err)
	}
	s = open(t, path)
	headOf(t, s, killGraph())
	closeStore(t, s)
	if err := os.Rename(backup, path); err != nil { // put in the place of the original, which is further
		t.Fatal(err)
	}
	s = open(t, path)
	if head := headOf(t, s, killGraph()); head.Incarnation != 1 {
		t.Errorf("the backup is not what it was: %+v", head)
	}
	closeStore(t, s)
	p := start(t, "hold", path)
	p.line(t, "open")
	p.kill(t)
	for _, test := range []struct {
		name    string
		make    func() error
		refused bool
	}{
		{"gone", func() error { return os.Remove(witnessPath(path)) }, true},
		{"damaged", func() error {
			return os.WriteFile(witnessPath(path), bytes.Repeat([]byte("x"), 200), 0o600)
		}, true},
		{"empty", func() error { return os.WriteFile(witnessPath(path), nil, 0o600) }, false},
	} {
		if err := test.make(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Options{})
		if errors.Is(err, checkpoint.ErrCorrupt) != test.refused {
			t.Errorf("a witness that is %s: %v", test.name, err)
		}
		if err == nil {
			closeStore(t, s)
		}
	}
}
