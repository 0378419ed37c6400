package server

import (
	"context"
	"encoding/json"
	"io"

	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/server/socket"
)

var _ socket.Control = Control(nil)

// Control is all the server needs of the daemon. *engine.Engine implements it. Every
// refusal is an *engine.Error; anything else is a 500. All methods may be called concurrently.
//
// A Control may also be a [socket.Pipeline]; then a WebSocket connection has many pushes
// on the way at one time.
type Control interface {
	Catalog
	Inspector
	Letters
	Operator
	Commander
	Maintainer
	Intake
	Daemon
}

// Catalog is the set of graphs.
type Catalog interface {
	Graphs(ctx context.Context, tenant string) ([]engine.GraphSummary, error)
	Graph(ctx context.Context, g engine.Ref) (engine.GraphSummary, error)
	// Apply stores and starts a declaration (YAML or JSON). ifMatch is the expected revision, 0 for any.
	Apply(ctx context.Context, g engine.Ref, document []byte, ifMatch int64, dryRun bool) (engine.ApplyResult, error)
	// Delete stops and removes a graph, with deleteState all it persisted too.
	Delete(ctx context.Context, g engine.Ref, deleteState bool) error
}

// Inspector looks inside a graph.
type Inspector interface {
	Plan(ctx context.Context, g engine.Ref) (json.RawMessage, error)
	State(ctx context.Context, g engine.Ref, key string) (engine.State, error)
	Firings(ctx context.Context, g engine.Ref, q engine.Query) (engine.Page[engine.Firing], error)
	Firing(ctx context.Context, g engine.Ref, epoch int64) (engine.FiringDetail, error)
}

// Letters is what went wrong and was kept.
type Letters interface {
	RecoveryEvents(ctx context.Context, g engine.Ref, q engine.Query) (engine.Page[engine.RecoveryEvent], error)
	DeadLetters(ctx context.Context, g engine.Ref, q engine.Query) (engine.Page[engine.DeadLetter], error)
	ReplayDeadLetter(ctx context.Context, g engine.Ref, id string) (engine.PushResult, error)
	DiscardDeadLetter(ctx context.Context, g engine.Ref, id string) error
}

// Operator steers a graph. by names who asks, for the record.
type Operator interface {
	Fire(ctx context.Context, g engine.Ref, req engine.FireRequest) (engine.FireResult, error)
	Pause(ctx context.Context, g engine.Ref, by string) (engine.GraphSummary, error)
	Resume(ctx context.Context, g engine.Ref, by string) (engine.GraphSummary, error)
	Step(ctx context.Context, g engine.Ref, n int) (engine.GraphSummary, error)
}

// Commander carries out the rarer commands.
type Commander interface {
	// Checkpoint answers with the epoch covered once the commit is durable.
	Checkpoint(ctx context.Context, g engine.Ref) (int64, error)
	// Drain runs what is queued until nothing is left to fire, flushes the sinks and takes a checkpoint.
	Drain(ctx context.Context, g engine.Ref) (engine.GraphSummary, error)
	// Restart revives the graph, or one accumulator when accumulator is not "".
	Restart(ctx context.Context, g engine.Ref, accumulator, by string) (engine.GraphSummary, error)
	// SkipLost lets a halted accumulator go on behind a gap in its source (M44).
	SkipLost(ctx context.Context, g engine.Ref, accumulator, by string) (engine.GraphSummary, error)
}

// Maintainer does what is rarely done. confirm must be the graph's name.
type Maintainer interface {
	// Reset takes all state from a graph.
	Reset(ctx context.Context, g engine.Ref, confirm, by string) (engine.GraphSummary, error)
	// Rewind has an accumulator read its source again from another position.
	Rewind(ctx context.Context, g engine.Ref, accumulator, position, confirm, by string) (engine.GraphSummary, error)
	// Backup copies the store as of one moment and hands the copy to send.
	Backup(ctx context.Context, send func(copied io.Reader, size int64) error) error
}

// Intake takes pushed events. Every event is one JSON value. It blocks while the
// accumulator is full, until ctx is done: then PushResult.Full is set and the error nil.
type Intake interface {
	Push(ctx context.Context, g engine.Ref, accumulator string, events []json.RawMessage) (engine.PushResult, error)
	// RejectBody counts one event for a body that could not be parsed (M42).
	RejectBody(ctx context.Context, g engine.Ref, accumulator, code string) error
	Accumulators(ctx context.Context, g engine.Ref) ([]engine.AccumulatorSummary, error)
	Accumulator(ctx context.Context, g engine.Ref, accumulator string) (engine.AccumulatorDetail, error)
}

// Daemon is the process as a whole.
type Daemon interface {
	Ready(ctx context.Context) error
	Tree(ctx context.Context) []engine.TreeNode
	Limits(ctx context.Context) []engine.Limit
	// Watch subscribes to frames. graph "" means every graph of the tenant. since is the last
	// sequence number seen, with its incarnation ("incarnation:seq", "" for from now on).
	Watch(ctx context.Context, g engine.Ref, topics []string, since string) (engine.Subscription, error)
}
