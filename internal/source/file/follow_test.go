package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/sourcetest"
)

// following is a source that follows a file, in a bubble.
type following struct {
	*sourcetest.Receiver
	stop context.CancelFunc
	done chan error
}

func follow(t *testing.T, cfg Config, from ...boundary.Position) *following {
	t.Helper()
	cfg.Follow = true
	src := newSource(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{Receiver: &sourcetest.Receiver{}, stop: cancel, done: make(chan error, 1)}
	go func() { f.done <- src.Run(ctx, from, f) }()
	return f
}

// settle lets everything happen that happens within d.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (f *following) end(t *testing.T) {
	t.Helper()
	f.stop()
	if err := <-f.done; err != nil {
		t.Errorf("Run after a stop: %v", err)
	}
}

// texts are the events so far.
func (f *following) texts() string {
	var out []string
	for _, it := range f.Items() {
		out = append(out, it.Raw)
	}
	return strings.Join(out, " ")
}

func (f *following) last(t *testing.T) boundary.Position {
	t.Helper()
	items := f.Items()
	if len(items) == 0 {
		t.Fatal("no events")
	}
	return items[len(items)-1].Pos
}

// A file is followed as it grows; a partial last line waits for its end.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, "1\n2")
		f := follow(t, Config{Path: path})
		settle(time.Second)
		if got := f.texts(); got != "1" {
			t.Errorf("got %q: a partial line is no event yet", got)
		}
		appendTo(t, path, "3\n4\n")
		settle(maxPoll)
		if got := f.texts(); got != "1 23 4" {
			t.Errorf("got %q within one look", got)
		}
		settle(time.Hour)
		appendTo(t, path, "5\n")
		settle(maxPoll)
		if got := f.texts(); got != "1 23 4 5" {
			t.Errorf("got %q after a long rest", got)
		}
		if said := f.Said(); !slices.Equal(said, []accumulator.Health{accumulator.Live}) {
			t.Errorf("said %v", said)
		}
		f.end(t)
	})
}

// M2, W21: a file that is not there, or goes away, is said at once.
func TestM2FollowWaitsForTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		f := follow(t, Config{Path: path})
		settle(time.Minute)
		write(t, path, "1\n")
		settle(time.Second)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		write(t, path, "2\n")
		settle(3 * time.Second)
		if got := f.texts(); got != "1 2" {
			t.Errorf("got %q", got)
		}
		want := []accumulator.Health{accumulator.Disconnected, accumulator.Live, accumulator.Disconnected,
			accumulator.Live}
		if said := f.Said(); !slices.Equal(said, want) {
			t.Errorf("said %v, want %v", said, want)
		}
		f.end(t)
	})
	src := newSource(t, Config{Path: filepath.Join(t.TempDir(), "none")})
	if err := src.Run(t.Context(), nil, &sourcetest.Receiver{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("once, without a file: %v", err)
	}
	src = newSource(t, Config{Path: t.TempDir(), Follow: true})
	if err := src.Run(t.Context(), nil, &sourcetest.Receiver{}); err == nil {
		t.Error("a directory is no error")
	}
}

// M44: rename-and-create finishes the old file and goes on with the new one.
func TestM44Rotation(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			path, old := filepath.Join(dir, "f"), filepath.Join(dir, "f.1")
			head, row := "", func(i int) string { return fmt.Sprint(i) }
			if format == "csv" {
				head, row = "n\n", func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }
			}
			write(t, path, head+"1\n")
			f := follow(t, Config{Path: path, ReaderConfig: ReaderConfig{Format: format}})
			settle(time.Second)
			if err := os.Rename(path, old); err != nil {
				t.Fatal(err)
			}
			appendTo(t, old, "2\n") // its writer has not noticed yet
			settle(time.Second)
			write(t, path, head+"5\n")
			settle(500 * time.Millisecond)
			appendTo(t, old, "3\n")
			settle(900 * time.Millisecond)
			appendTo(t, old, "4") // and its last line never ends
			settle(3 * time.Second)
			appendTo(t, path, "6\n")
			settle(time.Second)
			var want []string
			for i := 1; i <= 6; i++ {
				want = append(want, row(i))
			}
			if got := f.texts(); got != strings.Join(want, " ") {
				t.Errorf("%s: got %q, want %q", format, got, want)
			}
			if adv := f.Advanced(); len(adv) != 1 || adv[0].Offset != 0 {
				t.Errorf("advanced to %v, want the beginning of the new file", adv)
			}
			f.end(t)

			// A restart between the two files resumes in the new one.
			f2 := follow(t, Config{Path: path, ReaderConfig: ReaderConfig{Format: format}}, f.Advanced()[0])
			settle(time.Second)
			if got := f2.texts(); got != row(5)+" "+row(6) {
				t.Errorf("%s: resumed after the rotation: %q", format, got)
			}
			f2.end(t)
		})
	}
}

// M44: a truncated or replaced file halts the source, or is read anew where that is declared.
func TestM44Truncation(t *testing.T) {
	t.Run("cut behind its first KiB", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			write(t, path, lines(0, 500))
			f := follow(t, Config{Path: path})
			settle(time.Second)
			if err := os.Truncate(path, 2000); err != nil {
				t.Fatal(err)
			}
			if lost := new(accumulator.DataLost); !errors.As(<-f.done, &lost) {
				t.Error("no data lost")
			}
		})
	})
	for name, change := range map[string]func(t *testing.T, path string){
		"truncated":                           func(t *testing.T, path string) { write(t, path, "") },
		"truncated and written anew, shorter": func(t *testing.T, path string) { write(t, path, "7\n") },
		"as long as before":                   func(t *testing.T, path string) { write(t, path, "7\n8\n9\n") },
		"longer than before":                  func(t *testing.T, path string) { write(t, path, "7\n8\n9\n10\n") },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "f")
					write(t, path, "1\n2\n3\n")
					cfg := Config{Path: path}
					if restart {
						cfg.OnTruncate = "restart"
					}
					f := follow(t, cfg)
					settle(time.Second)
					// The clock of files is not the bubble's: make sure that the change shows.
					past := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
					if err := os.Chtimes(path, past, past); err != nil {
						t.Fatal(err)
					}
					settle(time.Second)
					change(t, path)
					settle(time.Second)
					if !restart {
						err := <-f.done
						lost := new(accumulator.DataLost)
						if !errors.As(err, &lost) || !strings.HasPrefix(lost.Want, "file#6-") || lost.Have == "" {
							t.Errorf("got %v, want data lost", err)
						}
						return
					}
					text, _ := os.ReadFile(path)
					want := strings.TrimSpace("1 2 3 " + strings.Join(strings.Fields(string(text)), " "))
					if got := f.texts(); got != want {
						t.Errorf("got %q, want %q", got, want)
					}
					f.end(t)
				})
			})
		}
	}
}

// The name of a short file's stream follows it as it grows, and still is one stream.
func TestFingerprintGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, "")
		f := follow(t, Config{Path: path})
		var streams []string
		for i := range 40 {
			appendTo(t, path, fmt.Sprintf(`"%s"`+"\n", strings.Repeat("x", 47)))
			settle(time.Second)
			items := f.Items()
			if len(items) != i+1 {
				t.Fatalf("got %d events after %d lines", len(items), i+1)
			}
			streams = append(streams, items[i].Pos.Stream)
			if !boundary.SameStream(streams[0], streams[i]) {
				t.Errorf("%q and %q are not one stream", streams[0], streams[i])
			}
		}
		if streams[0] == streams[1] || streams[38] != streams[39] || !strings.HasPrefix(streams[39], "file#1024-") {
			t.Errorf("got %q", slices.Compact(streams))
		}
		pos := f.last(t)
		f.end(t)
		f = follow(t, Config{Path: path}, f.Items()[3].Pos) // a position with a short fingerprint
		settle(time.Second)
		if n := len(f.Items()); n != 36 {
			t.Errorf("resumed from %v: %d events, want 36", f.Items()[3].Pos, n)
		}
		if diff := cmp.Diff(pos, f.last(t)); diff != "" {
			t.Error(diff)
		}
		f.end(t)
	})
}
