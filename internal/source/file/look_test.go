package file

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/source/sourcetest"
)

// asking is a receiver that asks for looks.
type asking struct {
	sourcetest.Receiver
	poke chan struct{}

	mu                  sync.Mutex
	wants, begun, found int64
}

// Asked implements [accumulator.Asker].
func (a *asking) Asked() <-chan struct{} { return a.poke }

// Look implements [accumulator.Asker].
func (a *asking) Look() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = a.wants
	return a.begun
}

// Looked implements [accumulator.Asker].
func (a *asking) Looked(look int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found = max(a.found, look)
}

// ask asks for a look and reports whether it is answered without any time passing.
func (a *asking) ask() bool {
	a.mu.Lock()
	a.wants++
	a.mu.Unlock()
	a.poke <- struct{}{}
	synctest.Wait()
	return a.answered()
}

func (a *asking) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.found == a.wants
}

// M26: a file that is followed is looked at when that is asked for, whether it is there or not; while it is
// renamed and another has its name, there may be more, and that is not an answer.
func TestM26LooksWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		src := newSource(t, Config{Path: path, Follow: true, OnTruncate: "restart"})
		ctx, stop := context.WithCancel(t.Context())
		out := &asking{poke: make(chan struct{}, 1)}
		done := make(chan error, 1)
		go func() { done <- src.Run(ctx, nil, out) }()
		texts := func(want string) {
			t.Helper()
			got := ""
			for _, it := range out.Items() {
				got += it.Raw
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		settle(time.Minute)
		if !out.ask() {
			t.Error("a file that is not there is no answer")
		}
		write(t, path, "1\n")
		if !out.ask() {
			t.Error("no answer when it is there")
		}
		texts("1")
		appendTo(t, path, "2\n3")
		if !out.ask() || !out.ask() {
			t.Error("no answer when it has grown")
		}
		texts("12")
		appendTo(t, path, "\n")
		settle(minPoll + maxPoll) // it is looked at by itself too
		texts("123")
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		write(t, path, "5\n")
		appendTo(t, path+".1", "4\n")
		for range 10 {
			if out.ask() {
				t.Error("the file of before is an answer for the new one")
			}
			settle(rotateQuiet / 20)
		}
		texts("1234")
		settle(rotateQuiet)
		texts("12345")
		if !out.answered() {
			t.Error("no answer after the new file was read")
		}
		write(t, path, "")
		if !out.ask() {
			t.Error("no answer when it was truncated")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if newSource(t, Config{Path: "f"}).Looks() {
		t.Error("a file that is not followed says that it looks")
	}
}
