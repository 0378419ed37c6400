package file

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, func(t *testing.T) sinktest.Place {
		path := filepath.Join(t.TempDir(), "out.ndjson")
		return sinktest.Place{
			Open: func(t *testing.T) sink.Sink { return open(t, path) },
			Arrived: func(t *testing.T) []sinktest.Arrival {
				return sinktest.ParseLines(t, []byte(read(t, path)))
			},
		}
	})
}

func open(t *testing.T, path string) *Sink {
	t.Helper()
	s, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// send delivers one message of that epoch.
func send(t *testing.T, s *Sink, epoch int64) {
	t.Helper()
	if err := s.Deliver(t.Context(), []sink.Message{sinktest.Message("o", epoch, boundary.Int(epoch))}); err != nil {
		t.Fatal(err)
	}
}

// epochs lists the epochs in a file's text.
func epochs(t *testing.T, text string) []int64 {
	t.Helper()
	var got []int64
	for _, a := range sinktest.ParseLines(t, []byte(text)) {
		got = append(got, a.Epoch)
	}
	return got
}

func wantEpochs(t *testing.T, what, text string, want ...int64) {
	t.Helper()
	got := epochs(t, text)
	if len(got) != len(want) {
		t.Fatalf("%s: got epochs %v, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: got epochs %v, want %v", what, got, want)
		}
	}
}

// M10, M30: the line's form, and that a degraded epoch says so.
func TestLine(t *testing.T) {
	t.Parallel()
	m := sinktest.Message("signals", 7, boundary.Int(1))
	m.Key = `"AAPL"`
	m.Degraded = []string{"book"}
	want := `{"at":"2026-11-20T10:00:00.123Z","degraded":["book"],"epoch":7,"firing_id":"` + m.FiringID() +
		`","incarnation":3,"key":"AAPL","output":"signals","value":1}` + "\n"
	if got := string(appendLine(nil, &m)); got != want {
		t.Errorf("got  %s want %s", got, want)
	}
	m.Key, m.Degraded = "", nil
	want = `{"at":"2026-11-20T10:00:00.123Z","epoch":7,"firing_id":"` + m.FiringID() +
		`","incarnation":3,"key":null,"output":"signals","value":1}` + "\n"
	if got := string(appendLine(nil, &m)); got != want {
		t.Errorf("got  %s want %s", got, want)
	}
}

// A line that a crash left unfinished is ended before anything is appended.
func TestTornLastLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, want string }{
		{"", ""},
		{"{\"epoch\":1}\n", "{\"epoch\":1}\n"},
		{"{\"epoch\":1}\n{\"epo", "{\"epoch\":1}\n{\"epo\n"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte(tc.before), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != tc.want {
			t.Errorf("after %q: got %q, want %q", tc.before, got, tc.want)
		}
	}
}

// A file that was rotated away is finished, and the next batch begins a new one.
func TestRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	s := open(t, path)
	send(t, s, 1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	send(t, s, 2) // renamed: nothing is at path
	send(t, s, 3)
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // renamed and made anew
		t.Fatal(err)
	}
	send(t, s, 4)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	send(t, s, 5)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, "first", read(t, path+".1"), 1)
	wantEpochs(t, "second", read(t, path+".2"), 2, 3)
	wantEpochs(t, "last", read(t, path), 5)
}

// A file that was truncated in place is appended to from its new end.
func TestTruncatedInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	s := open(t, path)
	send(t, s, 1)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	send(t, s, 2)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, "file", read(t, path), 2)
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(Config{Path: filepath.Join(dir, "none", "out")})
	if err == nil || !strings.Contains(err.Error(), "does not exist; make it") {
		t.Errorf("got %v, want a word about the missing folder", err)
	}
	if _, err := Open(Config{Path: dir}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("got %v, want that it is a folder", err)
	}
}

// A folder that went away is an error for as long as it is away.
func TestFolderGoesAndComes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	mkdir := func() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mkdir()
	path := filepath.Join(dir, "out")
	s := open(t, path)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	batch := []sink.Message{sinktest.Message("o", 1, boundary.Int(1))}
	for range 2 {
		err := s.Deliver(t.Context(), batch)
		if err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("got %v, want a word about the missing folder", err)
		}
	}
	mkdir()
	send(t, s, 2)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, "file", read(t, path), 2)
}

// A full disk refuses the line that does not fit; once there is room, the sink goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no /dev/full")
	}
	path := filepath.Join(t.TempDir(), "out")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	err := s.Deliver(t.Context(), []sink.Message{sinktest.Message("o", 1, boundary.Int(1))})
	if refused, ok := errors.AsType[*sink.PermanentError](err); !errors.Is(err, syscall.ENOSPC) || !ok ||
		refused.Index != 0 || refused.Code != "disk_full" {
		t.Errorf("got %v, want the first value refused for want of space", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// What the full disk let through of the line.
	if err := os.WriteFile(path, []byte(`{"at":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	send(t, s, 2)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	torn, rest, _ := strings.Cut(read(t, path), "\n")
	if torn != `{"at":"20` {
		t.Errorf("got first line %q, want the torn one", torn)
	}
	wantEpochs(t, "file", rest, 2)
}

// After a failed write the end of the same file is looked at again.
func TestFailedWriteEndsItsLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	s := open(t, path)
	send(t, s, 1)
	// What a write that fails half-way leaves behind.
	if err := s.known[""].file.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(read(t, path)+`{"at":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(t.Context(), []sink.Message{sinktest.Message("o", 2, boundary.Int(2))}); !errors.Is(err,
		os.ErrClosed) {
		t.Fatalf("got %v, want a closed file", err)
	}
	send(t, s, 2)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, "file", strings.Replace(read(t, path), `{"at":"20`+"\n", "", 1), 1, 2)
}

// A huge value does not hold its size for ever.
func TestBufferIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "out"))
	big := boundary.String(string(bytes.Repeat([]byte("x"), 2*maxKept)))
	if err := s.Deliver(t.Context(), []sink.Message{sinktest.Message("o", 1, big)}); err != nil {
		t.Fatal(err)
	}
	if cap(s.buf) > maxKept {
		t.Errorf("keeps %d bytes, want at most %d", cap(s.buf), maxKept)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkDeliver(b *testing.B) {
	s, err := Open(Config{Path: filepath.Join(b.TempDir(), "out")})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]sink.Message, 100)
	for i := range batch {
		batch[i] = sinktest.Message("signals", int64(i), boundary.Float(0.9))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Deliver(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
