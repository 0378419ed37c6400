package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func lines(lo, hi int) string {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		fmt.Fprintf(&b, `{"n":%d}`+"\n", i)
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func newSource(t *testing.T, cfg Config) *Source {
	t.Helper()
	if cfg.Format == "" {
		cfg.Format = "ndjson"
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	ndjson, csv := filepath.Join(dir, "a.ndjson"), filepath.Join(dir, "a.csv")
	write(t, ndjson, lines(0, 300)+"nonsense\n\n"+lines(300, 700))
	rows := "n,s\n"
	for i := range 500 {
		rows += fmt.Sprintf("%d,\"a\nb\"\n", i)
		if i%100 == 7 {
			rows += "ragged\n"
		}
	}
	write(t, csv, rows)
	for name, cfg := range map[string]Config{
		"once": {Path: ndjson}, "follow": {Path: ndjson, Follow: true},
		"csv": {Path: csv, ReaderConfig: ReaderConfig{Format: "csv"}}, "csv follow": {
			Path: csv, ReaderConfig: ReaderConfig{Format: "csv"}, Follow: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Suite{
				New: func(t *testing.T) accumulator.Source {
					return newSource(t, cfg)
				}, Events: 500, Endless: cfg.Follow,
			})
		})
	}
}

// M44: a position in a file that is not there any more is found out when resuming.
func TestM44Resume(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, cfg Config, from boundary.Position) (string, error) {
		r := &sourcetest.Receiver{}
		err := newSource(t, cfg).Run(t.Context(), []boundary.Position{from}, r)
		return (&following{Receiver: r}).texts(), err
	}
	collect := func(t *testing.T, path string) []sourcetest.Item {
		r := &sourcetest.Receiver{}
		if err := newSource(t, Config{Path: path}).Run(t.Context(), nil, r); err != nil {
			t.Fatal(err)
		}
		return r.Items()
	}
	for name, c := range map[string]struct {
		before, after string
		lost          bool
		want          string
	}{
		"the same": {"1\n2\n", "1\n2\n", false, ""},
		"grown":    {"1\n2\n", "1\n2\n3\n", false, "3"},
		"grown past a KiB": {
			"1\n2\n", "1\n2\n" + strings.Repeat("3\n", 2000), false, strings.TrimSpace(strings.Repeat("3 ", 2000)),
		},
		"long, grown":          {lines(0, 500), lines(0, 501), false, `{"n":500}`},
		"long, shortened":      {lines(0, 500), lines(0, 499), true, ""},
		"another":              {"1\n2\n", "7\n8\n9\n", true, ""},
		"emptied":              {"1\n2\n", "", true, ""},
		"long, another":        {lines(0, 500), lines(1, 501), true, ""},
		"a partial line ended": {"1\n2", "1\n2\n3\n", false, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f")
			write(t, path, c.before)
			items := collect(t, path)
			pos := items[len(items)-1].Pos
			write(t, path, c.after)
			got, err := run(t, Config{Path: path}, pos)
			if lost := new(accumulator.DataLost); errors.As(err, &lost) != c.lost || !c.lost && err != nil {
				t.Fatalf("got %v, want data lost: %v", err, c.lost)
			}
			if got != c.want {
				t.Errorf("got %.60q, want %.60q", got, c.want)
			}
			if c.lost {
				got, err := run(t, Config{Path: path, OnTruncate: "restart"}, pos)
				if want := strings.Join(strings.Fields(c.after), " "); got != want || err != nil {
					t.Errorf("on_truncate restart: got %.60q, %v", got, err)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "1\n")
	for _, stream := range []string{"file#x", "file#9999-0123456789abcdef", "file#1-zz", "file#1-00"} {
		if _, err := run(t, Config{Path: path}, boundary.Position{Stream: stream, Offset: 1}); err == nil {
			t.Errorf("position %q is no error", stream)
		}
	}
	if got, err := run(t, Config{Path: path}, boundary.Position{Stream: "orders/3", Offset: 7}); got != "1" ||
		err != nil {
		t.Errorf("a position of another kind of source: %q, %v", got, err)
	}
}

// A CSV file resumes with the names of its columns, even before its first row.
func TestCSVResume(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.csv")
	write(t, path, "\xef\xbb\xbfa,\"b\nc\"\r\n1,2\r\n3,4\r\n")
	cfg := Config{Path: path, ReaderConfig: ReaderConfig{Format: "csv"}}
	r := &sourcetest.Receiver{}
	if err := newSource(t, cfg).Run(t.Context(), nil, r); err != nil {
		t.Fatal(err)
	}
	all := r.Items()
	for _, offset := range []int64{1, 4, 8, all[0].Pos.Offset} {
		r := &sourcetest.Receiver{}
		from := boundary.Position{Stream: all[0].Pos.Stream, Offset: offset}
		if err := newSource(t, cfg).Run(t.Context(), []boundary.Position{from}, r); err != nil {
			t.Fatal(err)
		}
		want := all
		if offset == all[0].Pos.Offset {
			want = all[1:]
		}
		if diff := cmp.Diff(want, r.Items()); diff != "" {
			t.Errorf("from %d: %s", offset, diff)
		}
	}
	if all[1].Raw != `{"a":3,"b\nc":4}` {
		t.Errorf("got %s", all[1].Raw)
	}
}

// What cannot be an event is refused in its place, and reading goes on.
func TestRefusedInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.csv")
	write(t, path, "a,b\n1,2\n3\n4,5\n")
	r := &sourcetest.Receiver{}
	if err := newSource(t, Config{Path: path, ReaderConfig: ReaderConfig{Format: "csv"}}).Run(t.Context(), nil,
		r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range r.Items() {
		got = append(got, fmt.Sprint(it.Raw, it.Bad, it.Pos.Offset))
	}
	if want := `[{"a":1,"b":2}8 3csv_fields10 {"a":4,"b":5}14]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{}, {Path: "f"}, {Path: "f", ReaderConfig: ReaderConfig{Format: "xml"}},
		{Path: "f", ReaderConfig: ReaderConfig{Format: "csv"}, OnTruncate: "ignore"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is no error", cfg)
		}
	}
}
