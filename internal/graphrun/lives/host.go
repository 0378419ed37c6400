package lives

import (
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/supervisor"
)

// Host is what the shards of all graphs of one daemon share.
type Host struct {
	life.Host
	// Lease says which graphs this daemon may run.
	Lease *lease.Keeper
	// Tasks are the supervising goroutines.
	Tasks *supervisor.Group
	// ShutdownTimeout bounds the stop of a graph.
	ShutdownTimeout time.Duration
	// CloseBy is until when the shutdown under way has time; zero while there is none.
	CloseBy func() time.Time
	// DealtOtherwise is told of a graph whose keys the store has dealt to another number of shards than it runs as; it
	// must not block. Nil: it is given up.
	DealtOtherwise func(g api.Ref)
	// Closing says whether the daemon is stopping: then a graph that has stopped is yielded.
	Closing func() bool
}
