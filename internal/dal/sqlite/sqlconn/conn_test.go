package sqlconn

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T) *Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path, "PRAGMA synchronous = OFF; CREATE TABLE v (n INTEGER, s TEXT, b BLOB) STRICT")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := open(t)
	tests := []struct {
		n int64
		s string
		b []byte
	}{
		{0, "", []byte{}}, {math.MinInt64, "a\x00b", []byte{0, 1, 0xff}}, {
			math.MaxInt64, "'; DROP TABLE v; --", bytes.Repeat([]byte("x"), 1<<20),
		},
		{-1, "日本", []byte("blob")}, {1, "not \xff UTF-8", []byte{0xff}},
	}
	for _, test := range tests {
		if n, err := c.Exec("INSERT INTO v VALUES (?, ?, ?)", test.n, test.s, test.b); err != nil || n != 1 {
			t.Fatalf("insert: %d, %v", n, err)
		}
	}
	i := 0
	err := c.Query(t.Context(), "SELECT n, s, b FROM v ORDER BY rowid", func(r Row) error {
		want := tests[i]
		if r.Int(0) != want.n || r.Text(1) != want.s || !bytes.Equal(r.Blob(2), want.b) || r.Blob(2) == nil {
			t.Errorf("row %d is %v %q %.20q", i, r.Int(0), r.Text(1), r.Blob(2))
		}
		i++
		return nil
	})
	if err != nil || i != len(tests) {
		t.Errorf("%d rows, %v", i, err)
	}
	if n, err := c.Exec("UPDATE v SET n = ? WHERE n < ?", int64(7), int64(1)); err != nil || n != 3 {
		t.Errorf("update: %d, %v", n, err)
	}
	if r, err := c.First("SELECT n FROM v WHERE n = ?", int64(99)); err != nil || r != nil {
		t.Errorf("no row: %v, %v", r, err)
	}
	if r, err := c.First("SELECT NULL"); err != nil || r.Int(0) != 0 || r.Text(0) != "" || r.Blob(0) == nil {
		t.Errorf("null: %v, %v", r, err)
	}
}

// A query ends with its context or its visitor, and leaves the connection as it was.
func TestQueryEnds(t *testing.T) {
	t.Parallel()
	c := open(t)
	const count = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c" // without end
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	rows := 0
	err := c.Query(ctx, count, func(r Row) error {
		if rows++; r.Int(0) == 10 {
			cancel(why)
		}
		return nil
	})
	if !errors.Is(err, why) || rows != 10 {
		t.Errorf("cancelled: %d rows, %v", rows, err)
	}
	if err := c.Query(t.Context(), count, func(Row) error { return why }); !errors.Is(err, why) {
		t.Errorf("visitor's error: %v", err)
	}
	if _, err := c.Exec("INSERT INTO v VALUES (1, '', x'')"); err != nil {
		t.Errorf("the connection is not free: %v", err)
	}
	if _, err := c.Exec("INSERT INTO nowhere VALUES (1)"); err == nil {
		t.Error("a statement that can not be was run")
	}
}

// Opening makes no file.
func TestOpenMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if c, err := Open(path, ""); err == nil {
		t.Errorf("opened, close: %v", c.Close())
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
}
