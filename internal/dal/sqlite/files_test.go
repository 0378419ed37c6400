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
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/schema"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// storeFile makes a closed store with one graph in it and returns its bytes.
func storeFile(t *testing.T, path string) []byte {
	t.Helper()
	s := open(t, path)
	o := checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(60, 300), checkpointtest.FiringsOf(3, 100)
	o.Next.Cells = append(o.Next.Cells, checkpoint.Cell{
		Kind: "node", Name: "big", Data: bytes.Repeat([]byte("big"), 10000),
	})
	o.Commit(t)
	closeStore(t, s)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file that is not a whole store is an error that says so, and stays as it is.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	whole := storeFile(t, filepath.Join(t.TempDir(), "graphd.db"))
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := sqlconn.Open(foreign, "CREATE TABLE cell (x)")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	another, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[3] ^= 1
	tests := map[string][]byte{
		"empty": {}, "text": []byte("graph: market_maker\n"), "zeros": make([]byte, 1<<16), "header alone": whole[:100],
		"half": whole[:len(whole)/2], "first page": whole[:4096], "a flipped header": flipped,
		"of another program": another,
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "graphd.db")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path, Options{})
			if err == nil {
				_, err = s.Acquire(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"})
				closeStore(t, s)
				t.Fatalf("it was opened; acquire: %v", err)
			}
			if !errors.Is(err, checkpoint.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want checkpoint.ErrCorrupt naming the file", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || name != "of another program" && !bytes.Equal(after, data) {
				t.Errorf("the file was changed, %v", err)
			}
			// Put right, it opens: the lock was given back.
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, left := range []string{"-wal", "-shm"} {
				_ = os.Remove(path + left)
			}
			closeStore(t, open(t, path))
		})
	}
	t.Run("a directory", func(t *testing.T) {
		if s, err := Open(t.Context(), t.TempDir(), Options{}); err == nil {
			closeStore(t, s)
			t.Error("it was opened")
		}
	})
	t.Run("gone, the log left", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "graphd.db")
		if err := os.WriteFile(path+"-wal", []byte("what was not yet in the file"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("got %v, want checkpoint.ErrCorrupt", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file was made anew: %v", err)
		}
	})
}

// Whatever byte of the file is damaged, the state comes back as it was or not at all.
func TestDamagedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "graphd.db")
	whole := storeFile(t, path)
	read := func() (map[string]string, error) {
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			return nil, err
		}
		defer closeStore(t, s)
		id := checkpoint.ID{Tenant: "default", Graph: "g"}
		head, err := s.Acquire(t.Context(), id)
		if err != nil {
			return nil, err
		}
		got := map[string]string{"head": fmt.Sprint(head.Epoch, head.Seq, head.At.UnixNano(), head.Meta)}
		err = s.Load(t.Context(), id, func(c checkpoint.Cell) error {
			got[c.Kind+" "+c.Name+" "+c.Key] = string(c.Data)
			return nil
		})
		return got, err
	}
	want, err := read()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	detected, harmless, rounds := 0, 0, 100
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		data := bytes.Clone(whole)
		at := random.IntN(len(data))
		for i := at; i < min(at+1+random.IntN(8), len(data)); i++ {
			data[i] ^= byte(1 + random.IntN(255))
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + left)
		}
		got, err := read()
		switch {
		case err != nil:
			detected++
		case cmp.Equal(got, want):
			harmless++ // a free byte, an unused page, another table
		case got["head"] == "0 0 "+fmt.Sprint(rules.FromNanos(0).UnixNano())+" []" && len(got) == 1:
			t.Errorf("damage at byte %d made a new start", at)
		default:
			t.Errorf("damage at byte %d was not noticed: %v", at, cmp.Diff(want, got))
		}
	}
	t.Logf("of %d damaged files %d were noticed, %d did no harm", rounds, detected, harmless)
}

// A cell that is gone without a trace is missed, whatever took it.
func TestLostCell(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	storeFile(t, path)
	s := open(t, path)
	defer closeStore(t, s)
	if err := s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
		return c.Script(`DELETE FROM cell WHERE key = '"S7"'`)
	}); err != nil {
		t.Fatal(err)
	}
	err := s.Load(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"}, func(checkpoint.Cell) error { return nil })
	if !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("got %v, want checkpoint.ErrCorrupt", err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		want         error
		says         string
	}{
		{"another release's file that says nothing of its format",
			"DROP TABLE store_format; INSERT INTO schema_migration VALUES (99, '0099_from_the_future.sql', '')",
			checkpoint.ErrNewerSchema, "99"},
		{"one that this release can read (M55)", "UPDATE store_format SET format = 9; INSERT INTO schema_migration " +
			"VALUES (99, '0099_from_the_future.sql', '')", nil, ""},
		{"one that it cannot (M55)", "UPDATE store_format SET format = 9, readable_from = 8", checkpoint.ErrNewerSchema,
			"takes a graphd that reads format 8"},
		{"one from too long ago (M55)", "UPDATE store_format SET format = 0, readable_from = 0",
			checkpoint.ErrOlderFormat, "release in between"},
		{"no format where one belongs", "DELETE FROM store_format", checkpoint.ErrCorrupt, "format"},
	} {
		path := filepath.Join(t.TempDir(), "graphd.db")
		s := open(t, path)
		if err := s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
			return c.Script(test.script)
		}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err = Open(t.Context(), path, Options{})
		if test.want == nil {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			checkpointtest.NewOwner(t, s, "g").Commit(t)
			closeStore(t, s)
			continue
		}
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v saying %q", test.name, err, test.want, test.says)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file was touched (%v)", test.name, err)
		}
	}
}

// storeFileTable is what opening a store needs of its schema.
const storeFileTable = "CREATE TABLE store_file (id BLOB, clean INTEGER); "

func migrationsOf(texts ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, text := range texts {
		if i == 0 {
			text = storeFileTable + text
		}
		files[fmt.Sprintf("sqlite/%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// A migration that fails leaves nothing of itself, and goes on when it has been put right.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	one, bad, good := "CREATE TABLE one (x)", "CREATE TABLE two (x); INSERT INTO nowhere VALUES (1)",
		"CREATE TABLE two (x); CREATE TABLE three (x)"
	if _, err := openWith(t.Context(), path, Options{}, migrationsOf(one, bad)); err == nil {
		t.Fatal("a bad migration of a new file was applied")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a store was made: %v", err)
	}
	for _, step := range []struct {
		texts   []string
		version int64 // 0: it fails
	}{{[]string{one}, 1}, {[]string{one, bad}, 0}, {[]string{one}, 1}, {[]string{one, good}, 2},
		{[]string{one, good, "CREATE TABLE four (x)"}, 3}} {
		s, err := openWith(t.Context(), path, Options{}, migrationsOf(step.texts...))
		if (err == nil) != (step.version > 0) {
			t.Fatalf("%v: %v", step.texts, err)
		}
		if err != nil {
			continue
		}
		if err := s.read(t.Context(), func(c *sqlconn.Conn) error {
			version, err := schema.Version(c)
			if version != step.version {
				t.Errorf("version %d, want %d", version, step.version)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	}
	for name, files := range map[string]fstest.MapFS{
		"a gap":       {"sqlite/0001_a.sql": {}, "sqlite/0003_b.sql": {}},
		"a twin":      {"sqlite/0001_a.sql": {}, "sqlite/0001_b.sql": {}},
		"no number":   {"sqlite/first.sql": {}},
		"no files":    {},
		"not from 1":  {"sqlite/0002_a.sql": {}},
		"from 0 even": {"sqlite/0000_a.sql": {}},
	} {
		if _, err := rules.ReadMigrations(files, "sqlite"); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// What durability rests on: a kill can not tell these from weaker ones, a power cut can.
func TestPragmas(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
	defer closeStore(t, s)
	settings := `SELECT (SELECT journal_mode FROM pragma_journal_mode)
		|| ' ' || (SELECT synchronous FROM pragma_synchronous)
		|| ' ' || (SELECT foreign_keys FROM pragma_foreign_keys) || ' ' || (SELECT cache_size FROM pragma_cache_size)`
	if err := s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
		r, err := c.First(settings)
		if err != nil {
			return err
		}
		if got, want := r.Text(0), "wal 2 1 -8192"; got != want { // 2 is FULL
			t.Errorf("the writer has %q, want %q", got, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.read(t.Context(), func(c *sqlconn.Conn) error {
		_, err := c.Exec("DELETE FROM graph_head")
		if err == nil {
			t.Error("a reader has written")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A cancelled start leaves no lock behind.
func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	closeStore(t, open(t, path))
}

// Nobody else may read what a graph has seen; and a path may hold any character.
func TestFileNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "a b?c#d%41é;'\"&=")
	path := filepath.Join(dir, "graph?mode=memory#%20.db")
	s := open(t, path)
	checkpointtest.NewOwner(t, s, "g").Commit(t)
	for name, want := range map[string]fs.FileMode{
		dir: 0o700, filepath.Dir(dir): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
		path + ".lock": 0o600, path + ".acks": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info, err, want)
		}
	}
	closeStore(t, s)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*"))
	if err != nil || len(left) != 3 { // the file, its lock and its witness: the log is in the file
		t.Errorf("left: %q, %v", left, err)
	}
}

// A relative path is one from the directory of the start.
func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := open(t, "data/graphd.db")
	defer closeStore(t, s)
	if _, err := os.Stat(filepath.Join(dir, "data", "graphd.db")); err != nil {
		t.Error(err)
	}
	if !filepath.IsAbs(s.Path()) {
		t.Errorf("path %q", s.Path())
	}
}
