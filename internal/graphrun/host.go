package graphrun

import (
	"time"

	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/supervisor"
)

// Host is what the graphs of one daemon share.
type Host struct {
	life.Host
	// Lease says which graphs this daemon may run.
	Lease *lease.Keeper
	// Tasks are the graphs' supervising goroutines.
	Tasks *supervisor.Group
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
