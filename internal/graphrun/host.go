package graphrun

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/lives"
)

// Host is what the graphs of one daemon share.
type Host struct {
	lives.Host
	// MaxEventBytes bounds one event, MailboxEvents and MailboxBytes what waits of pushes for
	// one accumulator.
	MaxEventBytes, MailboxEvents int
	MailboxBytes                 int64
	// PushTimeout bounds how long the answer to a push waits for the journal where its caller sets
	// no bound.
	PushTimeout time.Duration
	// Away are the members that have shards which do not run here, as pushes to an input of their graph reach them;
	// nil: nobody else is reached.
	Away func(g api.Ref, shards []checkpoint.ID, input int) []pump.Away
	// Room refuses events of a graph while the daemon has no room for more of it.
	Room func(g api.Ref) error
}
