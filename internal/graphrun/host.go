package graphrun

import (
	"log/slog"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/supervisor"
)

// Kinds builds what a declaration names.
type Kinds interface {
	// Source makes accumulator i's source; nil when the socket is all there is.
	Source(u *compile.Unit, i int) (accumulator.Source, error)
	// Sink makes output i's sink; nil when values are only counted and watched.
	Sink(u *compile.Unit, i int) (sink.Sink, error)
}

// Host is what the graphs of one daemon share.
type Host struct {
	Store checkpoint.Store
	Kinds Kinds
	Log   *slog.Logger
	// Lease says which graphs this daemon may run.
	Lease *lease.Keeper
	// Feeds are the links between graphs.
	Feeds *feed.Links
	// Tasks are the graphs' supervising goroutines.
	Tasks *supervisor.Group
	// Gate bounds how many graphs run epochs at one time; nil is no bound.
	Gate *live.Gate
	// Careful has one place, for the graph that tries its first epoch after a crash (M43).
	Careful *live.Gate
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// MaxEventBytes bounds one event, MailboxEvents and MailboxBytes what waits of pushes for
	// one accumulator.
	MaxEventBytes, MailboxEvents int
	MailboxBytes                 int64
	// PushTimeout bounds how long the answer to a push waits for the journal where its caller sets
	// no bound.
	PushTimeout time.Duration
	// ShutdownTimeout bounds the stop of a graph.
	ShutdownTimeout time.Duration
	// Room refuses events while the daemon has no room for more.
	Room func() error
	// CloseBy is until when the shutdown under way has time; zero while there is none.
	CloseBy func() time.Time
	// Closing says whether the daemon is stopping: then a graph that has stopped is yielded.
	Closing func() bool
}
