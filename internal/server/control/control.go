// Package control is what the server needs of the daemon, [Control], and that which writes to the audit what of it
// changes something, [Audited].
package control

import (
	"context"
	"encoding/json"
	"io"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/socket"
)

var _ socket.Control = Control(nil)

// Control is all the server needs of the daemon. *engine.Engine implements it. What is added to it and changes
// something belongs into [Audited] too. Every
// refusal is an *api.Error; anything else is a 500. All methods may be called concurrently.
type Control interface {
	Finder
	Catalog
	Trier
	Historian
	Inspector
	Explainer
	Letters
	Operator
	Commander
	Stopper
	Maintainer
	Intake
	Membership
	Daemon
}

// Finder knows which graphs there are.
type Finder interface {
	// Find refuses a graph that is not there. It asks nobody, and waits for nothing.
	Find(g api.Ref) error
}

// Catalog is the set of graphs.
type Catalog interface {
	// Graphs are those of a tenant, wherever they run. It is bounded in time: who has not answered is named.
	Graphs(ctx context.Context, tenant string) (api.GraphList, error)
	Graph(ctx context.Context, g api.Ref) (api.GraphSummary, error)
	// Shard is the summary of one shard of a graph.
	Shard(ctx context.Context, g api.Ref, shard int) (api.GraphSummary, error)
	// Apply stores and starts a declaration (YAML or JSON).
	Apply(ctx context.Context, g api.Ref, document []byte, c api.Change) (api.ApplyResult, error)
	// Delete stops and removes a graph, with deleteState all it persisted too.
	Delete(ctx context.Context, g api.Ref, deleteState bool) error
}

// Trier tries out what is not applied.
type Trier interface {
	// Test runs the tests of a declaration.
	Test(ctx context.Context, g api.Ref, req api.TestRequest) (api.TestResult, error)
	// Complete is what can be put at a place of a declaration.
	Complete(ctx context.Context, g api.Ref, req api.CompletionRequest) (api.Completion, error)
}

// Historian is what was applied of a graph.
type Historian interface {
	// Revisions are those that are kept, newest first, without their documents.
	Revisions(ctx context.Context, g api.Ref) (api.Page[api.Revision], error)
	// Revision is one with its document; 0 is the one that counts.
	Revision(ctx context.Context, g api.Ref, revision int64) (api.Revision, error)
	// Rollback applies an earlier revision again; 0 is the one before that which counts.
	Rollback(ctx context.Context, g api.Ref, revision int64, c api.Change) (api.ApplyResult, error)
}

// Inspector looks inside a graph.
type Inspector interface {
	Plan(ctx context.Context, g api.Ref) (json.RawMessage, error)
	State(ctx context.Context, g api.Ref, key string) (api.State, error)
	// Keys are those of a keyed graph, as they are now.
	Keys(ctx context.Context, g api.Ref, q api.KeyQuery) (api.KeyPage, error)
	// ShardState is what one shard has, without its keys.
	ShardState(ctx context.Context, g api.Ref, shard int) (api.State, error)
	Firings(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.Firing], error)
	Firing(ctx context.Context, g api.Ref, shard int, epoch int64) (api.FiringDetail, error)
}

// Explainer tells why something has happened, or has not.
type Explainer interface {
	Why(ctx context.Context, g api.Ref, q api.WhyQuery) (api.Why, error)
	WhyNot(ctx context.Context, g api.Ref, q api.WhyNotQuery) (api.WhyNot, error)
}

// Letters is what went wrong and was kept.
type Letters interface {
	RecoveryEvents(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.RecoveryEvent], error)
	DeadLetters(ctx context.Context, g api.Ref, q api.LetterQuery) (api.LetterPage, error)
	LetterReplayer
}

// LetterReplayer deals with dead letters. A request for many takes no longer than ctx allows, and its answer says
// where the next goes on.
type LetterReplayer interface {
	ReplayDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error)
	DiscardDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error)
	ReplayDeadLetter(ctx context.Context, g api.Ref, id string) (api.PushResult, error)
	DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error
}

// Operator steers a graph. by names who asks, for the record.
type Operator interface {
	Fire(ctx context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error)
	Pause(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error)
	Resume(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error)
	Step(ctx context.Context, g api.Ref, n int) (api.GraphSummary, error)
}

// Commander carries out the rarer commands.
type Commander interface {
	// Checkpoint answers with the epoch covered once the commit is durable.
	Checkpoint(ctx context.Context, g api.Ref) (int64, error)
	// Drain fires until nothing is left to fire now, flushes the sinks and takes a checkpoint.
	Drain(ctx context.Context, g api.Ref) (api.GraphSummary, error)
	// Restart revives the graph, or one accumulator when accumulator is not "".
	Restart(ctx context.Context, g api.Ref, accumulator, by string) (api.GraphSummary, error)
	// SkipLost lets a halted accumulator go on behind a gap in its source (M44).
	SkipLost(ctx context.Context, g api.Ref, accumulator, by string) (api.SkipResult, error)
}

// Stopper stops and starts one input or output while its siblings go on. by names who asks.
type Stopper interface {
	StopPart(ctx context.Context, g api.Ref, part api.Part, by string) (api.GraphSummary, error)
	StartPart(ctx context.Context, g api.Ref, part api.Part, by string) (api.GraphSummary, error)
}

// Maintainer does what is rarely done. confirm must be the graph's name.
type Maintainer interface {
	// Reset takes all state from a graph.
	Reset(ctx context.Context, g api.Ref, confirm, by string) (api.GraphSummary, error)
	// Rewind has an accumulator read its source again from another position.
	Rewind(ctx context.Context, g api.Ref, accumulator, position, confirm, by string) (api.GraphSummary, error)
	// Backup copies the store as of one moment and hands the copy to send.
	Backup(ctx context.Context, send func(copied io.Reader, size int64) error) error
}

// Membership is the daemons on the store.
type Membership interface {
	// ListMembers are those there are, with all that each runs.
	ListMembers(ctx context.Context) ([]api.Member, error)
	// DrainMember has one run nothing, or lets it again.
	DrainMember(ctx context.Context, member string, drained bool, by string) error
}

// Intake takes pushed events. Every event is one JSON value. It blocks while the
// accumulator is full, until ctx is done: then PushResult.Full is set and the error nil.
type Intake interface {
	Push(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (api.PushResult, error)
	// Submit is Push in two parts: it waits for room, and answer for what became of the events. The order of the
	// calls is that of the events.
	Submit(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (
		answer func(ctx context.Context) (api.PushResult, error), err error)
	// RejectBody counts n events that were not handed over: one for a body that could not be parsed (M42).
	RejectBody(ctx context.Context, g api.Ref, accumulator, code string, n int) error
	Accumulators(ctx context.Context, g api.Ref) ([]api.AccumulatorSummary, error)
	// Accumulator looks up a row too where row is a key, as JSON, of a table.
	Accumulator(ctx context.Context, g api.Ref, accumulator, row string) (api.AccumulatorDetail, error)
}

// Daemon is the process as a whole.
type Daemon interface {
	Ready(ctx context.Context) error
	Tree(ctx context.Context) []api.TreeNode
	Limits(ctx context.Context) []api.Limit
	// Watch subscribes to frames. A name "" means every graph of the tenant.
	Watch(ctx context.Context, g api.Ref, w api.Wanted) (api.Subscription, error)
}
