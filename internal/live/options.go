package live

import (
	"context"
	"log/slog"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/live/hands"
	"github.com/graphd/graphd/internal/live/laps"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/reactor"
)

// Options are what a live reactor is made of.
type Options struct {
	Core    *reactor.Core
	Inbox   *Inbox
	Writers []*delivery.Writer // per output of the plan; nil where values are only counted and watched
	Store   checkpoint.Checkpoints
	// Ledger is told which epochs are tried after a crash (M43); nil where nothing crashes.
	Ledger checkpoint.Ledger
	// Journal is where a journaled core's entries go (M29); nil for a core without one.
	Journal checkpoint.Journal
	// Drop are outbox entries that nobody will deliver any more; the first commit removes them.
	Drop []checkpoint.Delivered
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// Meter counts what the graph costs; nil counts nothing.
	Meter *quota.Meter
	// Hands are the core's, to be told of. Who made them joins them when the reactor has ended. Nil where it has none.
	Hands *hands.Hands
	// Waiting is about how many bytes wait in front of the inbox; nil for nothing.
	Waiting func() int64
	// Head is what Acquire answered: the sequence and ledger the commits go on from. It is for New alone.
	Head *checkpoint.Head
	// Interval is the time between checkpoints; EveryEpochs, when positive, asks for one sooner.
	Interval    time.Duration
	EveryEpochs int
	// Watch is told, on the reactor's goroutine, that there may be new records or another
	// health, and answers when it wants to be told again although nothing happens; zero for
	// never. It must not block. Nil for none.
	Watch func(c *reactor.Core, now time.Time) (again time.Time)
	// Published is told, on the reactor's goroutine or in New, that there is a new view. It must not
	// block. Nil for none.
	Published func()
	// Kept is told, on the reactor's goroutine, that epochs were kept since the last call. It
	// must not block. Nil for none.
	Kept func()
	// Committed is told, on the reactor's goroutine, how long the commit of all up to an epoch took. It must not
	// block. Nil for none.
	Committed func(epoch int64, took time.Duration)
	// Mirror is told, on the reactor's goroutine, that an input's positions are in a checkpoint.
	// It must not block. Nil for none.
	Mirror func(input int, positions []boundary.Position)
	// Shutdown answers, once Run is to stop, the context that all of the shutdown has: when it
	// ends, what is on its way to the sinks and the store is cut off. Nil for ten seconds.
	Shutdown func() context.Context
	// HandOver says, once Run is to stop, that another daemon waits to go on with the graph; nil for no.
	HandOver func() bool
	// Steps are noted of a shutdown; nil where nobody asks.
	Steps func() *laps.Laps
	// Flush waits, at shutdown and within ctx, until the writers have returned. Nil for none.
	Flush func(ctx context.Context)
	// Epochs bounds how many reactors run epochs at one time; nil for no bound.
	Epochs *Gate
	// Careful has one place, for the graph that tries an epoch again which it tried before a crash; nil for no bound.
	Careful *Gate
	// Hold keeps the reactor from admitting, firing and committing until Release.
	Hold bool
	// Clock is the engine time that the graph's accumulators share; nil for one of its own.
	Clock *Clock
	Log   *slog.Logger
	// Owned says whether the graph is still this daemon's; nil means that it always is. When
	// it is not, nothing more is released or committed, and Run ends with ErrDisowned. Term
	// ends when Owned has become false for good, and with it a commit under way; nil for never.
	Owned func() bool
	Term  context.Context
	// Idle is, under the event clock, how long a source that is behind is waited for while it gives
	// nothing, and after how long a silence of all time goes on without events; 0 for [flow.DefaultIdle].
	Idle time.Duration
}
