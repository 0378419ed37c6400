package live

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// brokenState is the state of a fold that cannot be encoded.
type brokenState struct{}

func (brokenState) AppendBinary([]byte) []byte { panic("the state reads what is not its own") }

// brokenStore panics instead of committing or appending.
type brokenStore struct {
	checkpoint.Checkpoints
	checkpoint.Journal
}

func (brokenStore) Commit(context.Context, *checkpoint.Commit) error { panic("a bug in the store") }

func (brokenStore) AppendJournal(context.Context, checkpoint.ID, int64, []checkpoint.JournalEntry) error {
	panic("a bug in the store")
}

// M35: a panic on a goroutine that works for the reactor, in what an accumulator left to be
// encoded or in the store, ends the reactor with an error and never the process.
func TestM35PanicBesideTheReactor(t *testing.T) {
	for name, c := range map[string]struct {
		state   accumulator.FoldState
		journal bool
		want    string
	}{
		"encoding a checkpoint":    {state: brokenState{}, want: "reads what is not its own"},
		"committing it":            {want: "a bug in the store"},
		"appending to the journal": {journal: true, want: "journal entry 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any }",
					"nodes:\n  last: { expr: a }\n"), func(cfg *reactor.Config) { cfg.Journal = c.journal })
				inbox := NewInbox([]reactor.Lane{{Name: "a", Sequential: true, Capacity: 10, MaxBytes: 1000}})
				shell := New(Options{
					Core: r.c, Inbox: inbox, Store: brokenStore{}, Journal: brokenStore{}, Interval: time.Second,
					Log: slog.New(slog.DiscardHandler), Head: new(checkpoint.Head),
				})
				r.c.Begin()
				h := handoff(1, 1)
				h.Mark.State = c.state
				ended := make(chan error, 1)
				go func() { ended <- shell.Run(t.Context()) }()
				if err := inbox.Port(0).Put(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				err := <-ended
				caught := new(accumulator.PanicError)
				if !errors.As(err, &caught) || len(caught.Stack) == 0 || !strings.Contains(err.Error(), c.want) {
					t.Errorf("ended with %v, want the panic", err)
				}
			})
		})
	}
}
