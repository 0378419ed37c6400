package file

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
	"github.com/graphd/graphd/internal/spec"
)

// by is a partition that an expression says.
func by(t *testing.T, text string) *sink.Option {
	t.Helper()
	o, err := sink.CompileOption(spec.Expr{Text: text}, boundary.Null())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func openWith(t *testing.T, cfg Config) *Sink {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func deliver(t *testing.T, s *Sink, values ...boundary.Value) error {
	t.Helper()
	batch := make([]sink.Message, len(values))
	for i, v := range values {
		batch[i] = sinktest.Message("o", int64(i+1), v)
	}
	return s.Deliver(t.Context(), batch)
}

func texts(list ...string) (values []boundary.Value) {
	for _, s := range list {
		values = append(values, boundary.String(s))
	}
	return values
}

// below are the regular files below a folder, by their paths in it.
func below(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			path, _ := filepath.Rel(dir, path)
			files[path] = read(t, filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What every sink does, of one whose values go to many files of which few are open.
func TestConformancePartitioned(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, func(t *testing.T) sinktest.Place {
		dir := t.TempDir()
		cfg := Config{Path: dir + "/{partition}.ndjson", MaxOpen: 2}
		return sinktest.Place{
			Open: func(t *testing.T) sink.Sink {
				own := cfg
				own.Partition = by(t, "[output, epoch % 5]")
				return openWith(t, own)
			},
			Arrived: func(t *testing.T) (all []sinktest.Arrival) {
				for _, text := range below(t, dir) {
					all = append(all, sinktest.ParseLines(t, []byte(text))...)
				}
				slices.SortStableFunc(all, func(a, b sinktest.Arrival) int { return int(a.Epoch - b.Epoch) })
				return all
			},
		}
	})
}

// A partition's name leads nowhere else, whatever the value is.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		v    boundary.Value
		want string
	}{
		{boundary.String("eu-west.1_a=b@c,d~+"), "eu-west.1_a=b@c,d~+"},
		{boundary.String("Zürich"), "Zürich"},
		{boundary.String(".."), "%2E."},
		{boundary.String("."), "%2E"},
		{boundary.String("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd"},
		{boundary.String("/etc"), "%2Fetc"},
		{boundary.String(`a\b:c*?"<>| %`), "a%5Cb%3Ac%2A%3F%22%3C%3E%7C%20%25"},
		{boundary.String("a\x00\n"), "a%00%0A"},
		{boundary.String("\u2028"), "%E2%80%A8"},
		{boundary.String("{partition}"), "%7Bpartition%7D"},
		{boundary.String(""), "_empty"},
		{boundary.Null(), "_null"},
		{boundary.Value{}, "_null"},
		{boundary.Int(-7), "-7"},
		{boundary.Float(0.5), "0.5"},
		{boundary.Bool(true), "true"},
		{boundary.Time(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), "2026-11-20T10%3A00%3A00.000Z"},
		{boundary.List(texts("eu", "2026-11-20")), "eu/2026-11-20"},
		{boundary.List(texts("..", "", "a/b")), "%2E./_empty/a%2Fb"},
		{boundary.List(nil), "%5B%5D"},
		{boundary.List([]boundary.Value{boundary.List(texts("a"))}), "%5B%22a%22%5D"},
		{boundary.Object(boundary.NewShape("a"), []boundary.Value{boundary.Int(1)}), "%7B%22a%22%3A1%7D"},
	} {
		got := name(tc.v)
		if got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.v, got, tc.want)
		}
		path, err := fill("/out/{partition}.ndjson", got)
		if clean := filepath.Clean(path); err != nil || clean != path || !strings.HasPrefix(clean, "/out/") {
			t.Errorf("%v: got the path %s, %v", tc.v, path, err)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a/../b", "\xff", "%2F", "_null"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := name(boundary.String(s))
		if got == "" || got[0] == '.' || strings.ContainsAny(got, "/\\\x00\n") {
			t.Errorf("%q has the name %q", s, got)
		}
	})
}

// Each value goes to the file of its partition; folders are made below what is there.
func TestPartitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openWith(t, Config{Path: dir + "/{partition}/part.ndjson", Partition: by(t, "[value, epoch % 2]")})
	if err := deliver(t, s, texts("a", "b", "a", "a")...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := below(t, dir)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{
		"a/0/part.ndjson", "a/1/part.ndjson", "b/0/part.ndjson",
	}) {
		t.Errorf("got the files %v", got)
	}
	wantEpochs(t, "a/1", files["a/1/part.ndjson"], 1, 3)
	wantEpochs(t, "a/0", files["a/0/part.ndjson"], 4)
	wantEpochs(t, "b/0", files["b/0/part.ndjson"], 2)

	if _, err := Open(Config{Path: dir + "/none/{partition}/x", Partition: by(t, "value")}); err == nil ||
		!strings.Contains(err.Error(), "does not exist; make it") {
		t.Errorf("got %v, want a word about the missing folder", err)
	}
}

// No more files are open than may be; one that was closed for another is appended to again.
func TestFewOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openWith(t, Config{Path: dir + "/{partition}", Partition: by(t, "value"), MaxOpen: 3})
	for range 4 {
		if err := deliver(t, s, texts("a", "b", "c", "d", "e", "a")...); err != nil {
			t.Fatal(err)
		}
		if s.open.Len() != 3 || len(s.known) != 5 || s.closed.Len() != 2 {
			t.Fatalf("%d open, %d closed, %d known", s.open.Len(), s.closed.Len(), len(s.known))
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := below(t, dir)
	wantEpochs(t, "a", files["a"], 1, 6, 1, 6, 1, 6, 1, 6)
	wantEpochs(t, "e", files["e"], 5, 5, 5, 5)
}

// One partition more than may be is refused alone, until one has not been written to for a day.
func TestTooManyPartitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openWith(t, Config{Path: dir + "/{partition}", Partition: by(t, "value"), MaxOpen: 1, MaxPartitions: 2})
		err := deliver(t, s, texts("a", "b", "c", "a")...)
		refused, ok := errors.AsType[*sink.PermanentError](err)
		if !ok || refused.Index != 2 || refused.Code != "too_many_partitions" {
			t.Fatalf("got %v, want the third value refused", err)
		}
		time.Sleep(partitionSpan / 2)
		if err := deliver(t, s, texts("b")...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(partitionSpan / 2) // nothing went to a for a day
		if err := deliver(t, s, texts("c", "b")...); err != nil {
			t.Fatal(err)
		}
		if err := deliver(t, s, texts("a")...); !errors.As(err, &refused) {
			t.Errorf("got %v, want it refused", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if got := slices.Sorted(maps.Keys(below(t, dir))); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got the files %v", got)
	}
}

// What counts is when a partition was written to last, not when it began.
func TestUsedPartitionsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openWith(t, Config{Path: dir + "/{partition}", Partition: by(t, "value"), MaxOpen: 1, MaxPartitions: 2})
		for range 3 {
			if err := deliver(t, s, texts("a", "b")...); err != nil {
				t.Fatal(err)
			}
			time.Sleep(partitionSpan / 2)
		}
		if _, ok := errors.AsType[*sink.PermanentError](deliver(t, s, texts("c")...)); !ok {
			t.Error("a third partition was let in while two are written to")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A partition that cannot be found, or named, refuses its value.
func TestNoPartition(t *testing.T) {
	t.Parallel()
	s := openWith(t, Config{Path: t.TempDir() + "/{partition}", Partition: by(t, "value.n / value.d")})
	refused, ok := errors.AsType[*sink.PermanentError](deliver(t, s, texts("a")...))
	if !ok || refused.Code != "partition_failed" || refused.Index != 0 {
		t.Errorf("got %v", refused)
	}
	s = openWith(t, Config{Path: t.TempDir() + "/{partition}", Partition: by(t, "value")})
	refused, ok = errors.AsType[*sink.PermanentError](deliver(t, s, texts("a", strings.Repeat("é", 128))...))
	if !ok || refused.Code != "partition_failed" || refused.Index != 1 {
		t.Errorf("got %v", refused)
	}
}

// M5: a value whose file cannot be, for another partition has made its name a folder or one of its folders a
// file, is refused, and holds nothing up.
func TestPartitionInTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openWith(t, Config{Path: dir + "/{partition}", Partition: by(t, "value")})
	list := func(parts ...boundary.Value) boundary.Value { return boundary.List(parts) }
	a, x := boundary.String("a"), boundary.String("x")
	for _, c := range []struct {
		v    boundary.Value
		fits bool
	}{{list(a, x), true}, {a, false}, {x, true}, {list(x, a), false}, {list(a, a), true}} {
		err := deliver(t, s, c.v)
		refused, ok := errors.AsType[*sink.PermanentError](err)
		if c.fits != (err == nil) || !c.fits && (!ok || refused.Code != "partition_failed") {
			t.Errorf("%s: got %v", c.v, err)
		}
	}
}

// M30: what is written of a batch that fails in the middle is not written again.
func TestPartlyWritten(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no /dev/full")
	}
	dir := t.TempDir()
	full := filepath.Join(dir, "b")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	s := openWith(t, Config{Path: dir + "/{partition}", Partition: by(t, "value")})
	err := deliver(t, s, texts("a", "b", "a", "b", "c")...)
	refused, ok := errors.AsType[*sink.PermanentError](err)
	if !ok || refused.Code != "disk_full" || refused.Index != 1 {
		t.Fatalf("got %v, want the second value refused for want of space", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	// As a writer does: what is through is not delivered again, the rest is.
	var batch []sink.Message
	for i, v := range texts("b", "a", "b", "c", "d") {
		batch = append(batch, sinktest.Message("o", int64(i+2), v))
	}
	if err := s.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for file, text := range below(t, dir) {
		want := map[string][]int64{"a": {1, 3}, "b": {2, 4}, "c": {5}, "d": {6}}[file]
		wantEpochs(t, file, text, want...)
	}
}

func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o, err := sink.CompileOption(spec.Expr{Text: fmt.Sprintf("epoch %% %d", n)}, boundary.Null())
			if err != nil {
				b.Fatal(err)
			}
			s, err := Open(Config{Path: b.TempDir() + "/{partition}", Partition: o})
			if err != nil {
				b.Fatal(err)
			}
			batch := make([]sink.Message, 4096)
			for i := range batch {
				batch[i] = sinktest.Message("signals", int64(i), boundary.Float(0.9))
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Deliver(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "values/s")
		})
	}
}
