package file

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
)

const rowEnd = ",at,degraded,epoch,firing_id,incarnation,key,output"

func row(t *testing.T, cells ...boundary.Value) boundary.Value {
	t.Helper()
	return boundary.Object(boundary.NewShape([]string{"a", "b,c"}[:len(cells)]...), cells)
}

// A row has the declared columns and those of every line, and reads back as what was written.
func TestRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.csv")
	s := openWith(t, Config{Path: path, CSV: true, Columns: []string{"a", "b,c"}})
	m := sinktest.Message("out", 7, row(t, boundary.String(`x,"y"`), boundary.Null()))
	m.Key, m.Degraded = `["A",1]`, []string{"book", "model"}
	batch := []sink.Message{
		m,
		sinktest.Message("out", 8, row(t, boundary.String("two\nlines"), boundary.String(""))),
		sinktest.Message("out", 9, row(t, boundary.Float(0.5), boundary.Time(m.At))),
		sinktest.Message("out", 10, row(t, boundary.List(texts("a", "b")))),
	}
	if err := s.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := "2026-11-20T10:00:00.123Z"
	want := `a,"b,c"` + rowEnd + "\n" +
		`"x,""y""",,` + at + ",book model,7," + m.FiringID() + `,3,"[""A"",1]",out` + "\n" +
		`"""two\nlines""","",` + at + ",,8," + batch[1].FiringID() + ",3,,out\n" +
		"0.5," + at + "," + at + ",,9," + batch[2].FiringID() + ",3,,out\n" +
		`"[""a"",""b""]",,` + at + ",,10," + batch[3].FiringID() + ",3,,out\n"
	got := read(t, path)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rows, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// The header stands once, however often the file is opened, and a row that a crash left unfinished is
// ended, also inside of a quoted cell.
func TestTornRow(t *testing.T) {
	t.Parallel()
	header := "a" + rowEnd + "\n"
	for _, tc := range []struct{ before, want string }{
		{"", header},
		{"a,at,degr", header},
		{header, header},
		{header[:len(header)-1], header},
		{header + "x,y\n", header + "x,y\n"},
		{header + "x,y", header + "x,y\n"},
		{header + `"x,y`, header + `"x,y"` + "\n"},
		{header + `"x""`, header + `"x"""` + "\n"},
		{header + `"x","y"`, header + `"x","y"` + "\n"},
		{header + strings.Repeat("x", 9000) + `"`, header + strings.Repeat("x", 9000) + `""` + "\n"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte(tc.before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s := openWith(t, Config{Path: path, CSV: true, Columns: []string{"a"}})
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, path); got != tc.want {
			t.Errorf("after %.80q: got %.80q, want %.80q", tc.before, got, tc.want)
		}
	}
}

// Rows do not go below another header.
func TestOtherHeader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("b,a\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Path: path, CSV: true, Columns: []string{"a"}}); err == nil ||
		!strings.Contains(err.Error(), "its first line is not") {
		t.Errorf("got %v", err)
	}
}

// A value that is no object is the cell of a single column, and no row of several.
func TestNoObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openWith(t, Config{Path: dir + "/one", CSV: true, Columns: []string{"a"}})
	if err := deliver(t, s, texts("x")...); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(read(t, dir+"/one"), "\n"); !strings.HasPrefix(lines[1], "x,2026") {
		t.Errorf("got %q", lines)
	}
	s = openWith(t, Config{Path: dir + "/two", CSV: true, Columns: []string{"a", "b"}})
	values := append([]boundary.Value{row(t)}, texts("x")...)
	refused, ok := errors.AsType[*sink.PermanentError](deliver(t, s, values...))
	if !ok || refused.Code != "bad_row" || refused.Index != 1 {
		t.Errorf("got %v", refused)
	}
}
