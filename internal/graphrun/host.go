package graphrun

import (
	"time"

	"github.com/graphd/graphd/internal/graphrun/lives"
)

// Host is what the graphs of one daemon share.
type Host struct {
	lives.Host
	// Sharded has graphs that are dealt run as so many shards; without it one runs them all.
	Sharded bool
	// MaxEventBytes bounds one event, MailboxEvents and MailboxBytes what waits of pushes for
	// one accumulator.
	MaxEventBytes, MailboxEvents int
	MailboxBytes                 int64
	// PushTimeout bounds how long the answer to a push waits for the journal where its caller sets
	// no bound.
	PushTimeout time.Duration
	// Room refuses events while the daemon has no room for more.
	Room func() error
}
