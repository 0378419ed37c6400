package telemetry

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// Source answers a scrape. It is called concurrently. What it answers is the caller's own:
// nothing writes into it any more, also not an answer of a graph that comes too late.
type Source interface {
	// Graphs are all graphs of all tenants. Once ctx is done it waits for none of them, and
	// answers with what is known.
	Graphs(ctx context.Context) []GraphMetrics
	// WebSockets are the figures of the daemon's WebSocket connections.
	WebSockets() WebSocketMetrics
	// Limits are the daemon's limits, and those of tenants.
	Limits() LimitMetrics
	// Outbound are the figures of the calls to other servers.
	Outbound() OutboundMetrics
	// Certificate is the one that the daemon shows; ok is false for a daemon without.
	Certificate() (c CertificateMetrics, ok bool)
	// Daemon is what the daemon knows of its store, the others on it and the audit. It waits for the store until
	// ctx is done at most.
	Daemon(ctx context.Context) DaemonMetrics
}

// GraphMetrics is what one graph has to tell. Counts only grow while the process lives.
type GraphMetrics struct {
	// Summary is the graph as an operator sees it; all that it holds is taken from there.
	Summary api.GraphSummary
	// DeadLetters splits the dead-lettered events of the summary by reason. What it leaves
	// out is exposed under the reason "other".
	DeadLetters []DeadLetterCount
	// Epochs counts the epochs that ended, by cause and outcome.
	Epochs []EpochCount
	// EpochDuration is how long they took, in seconds.
	EpochDuration Histogram
	// Nodes counts what nodes did in epochs, by outcome: "ran", "cut_off", "skipped", "failed".
	Nodes []OutcomeCount
	// Loops counts why loops have ended, "settled", "until", "max_iterations", "budget", "broken" or "skipped", and
	// Iterations how often they have run in all; nil and 0 for a graph of which none has.
	Loops      []OutcomeCount
	Iterations int64
	// Overruns counts nodes that took longer than their budget, Overlong epochs that took longer than theirs.
	Overruns, Overlong int64
	// Lifted counts nodes that ran in an epoch over its budget, for they had been left out often enough.
	Lifted int64
	// Lanes are the pools that nodes run in, Overflows counts the nodes that they had no room for; nil for a graph that
	// has none.
	Lanes     []LaneFigures
	Overflows int64
	// Rates are the lanes that have a cadence; nil for a graph that has none.
	Rates []RateFigures
	// NodeDurations is how long single nodes took, in seconds; nil where it is not measured.
	NodeDurations []NodeDuration
	// Calls are those of nodes that call out.
	Calls      []NodeCalls
	Checkpoint CheckpointMetrics
	// Restarts counts what the supervisor started again, by reason.
	Restarts []RestartCount
	// Lost counts the events that were taken and are not in the graph's state, since a run ended before
	// a checkpoint had them.
	Lost []AccumulatorEvents
	// KeysExpired and KeysDisplaced count Idempotency-Keys of pushes that the store knows no more: for their age, and
	// for want of room.
	KeysExpired, KeysDisplaced int64
	// Lags says how far sources are behind, where that is known.
	Lags []SourceLag
	// Retries counts deliveries that were tried again, by output.
	Retries []OutputRetries
	// Deliveries is how long values took from their epoch's end until the sink had them, by output.
	Deliveries []OutputDuration
}

// DeadLetterCount is how many events of an accumulator became dead letters for one reason.
type DeadLetterCount struct {
	Accumulator, Reason string
	Events              int64
}

// AccumulatorEvents is a number of an accumulator's events.
type AccumulatorEvents struct {
	Accumulator string
	Events      int64
}

// EpochCount is how many epochs of one cause ("criteria", "force", …) ended in one way ("ok", "failed").
type EpochCount struct {
	Cause, Outcome string
	Count          int64
}

// OutcomeCount is how often something ended in one way.
type OutcomeCount struct {
	Outcome string
	Count   int64
}

// NodeDuration is how long one node took, in seconds.
type NodeDuration struct {
	Node     string
	Duration Histogram
}

// CheckpointMetrics is the cost of a graph's checkpoints; where they stand is in the summary.
type CheckpointMetrics struct {
	// Duration is how long commits took, in seconds.
	Duration Histogram
	// Bytes is what the last one wrote.
	Bytes int64
	// Failed is how many commits did not succeed.
	Failed int64
}

// RestartCount is how often a piece of a graph was started again for one reason.
type RestartCount struct {
	// Accumulator is "" for the reactor and the graph as a whole.
	Accumulator string
	// Reason is "panic", "returned", "operator", "source_data_lost", "crash_loop",
	// "checkpoint_corrupt", "fenced", "commit_unknown", or "error" for all others.
	Reason string
	Count  int64
}

// SourceLag is how far a source is behind its end: events or bytes, as the source counts positions.
type SourceLag struct {
	Accumulator string
	Lag         float64
}

// NodeCalls are the calls of one node.
type NodeCalls struct {
	Node string
	// Answered, Failed and Cached are how calls ended; Retries are tries after the first.
	Answered, Failed, Cached, Retries int64
	// Seconds is how long all tries took together. Open says that the breaker lets none through.
	Seconds float64
	Open    bool
}

// LaneFigures are those of one pool of nodes.
type LaneFigures struct {
	Lane string
	// Runs counts the runs of nodes that have ended, Late those of them whose epoch had been given up.
	Runs, Late int64
	// Busy is how many are at work, Waiting how many wait for a worker, Stuck how many of those at work were given up.
	Busy, Waiting, Stuck int
}

// RateFigures are those of one lane with a cadence.
type RateFigures struct {
	Lane string
	// Ticks counts the epochs that its nodes have run in, Overruns those of them that came a period late or more, and
	// Dropped the ticks that there was no epoch for.
	Ticks, Overruns, Dropped int64
}

// OutputRetries is how many deliveries of an output were tried again.
type OutputRetries struct {
	Output string
	Count  int64
}

// OutputDuration is how long the values of one output took.
type OutputDuration struct {
	Output   string
	Duration Histogram
}

// Histogram is a distribution as it was counted: Counts[i] observations were at most
// Bounds[i] and more than the bound before, and the last count, one more than there are
// bounds, is everything above. The zero Histogram is one without observations.
type Histogram struct {
	Bounds []float64
	Counts []int64
	Sum    float64
	// Exemplars are observations that a trace tells of, the oldest first: the last of each bucket is exposed.
	Exemplars []Exemplar
}

// Exemplar is one observation, with the trace that tells of it in hexadecimal digits.
type Exemplar struct {
	Value float64
	Trace string
	At    time.Time
}

// LimitMetrics are limits with their use.
type LimitMetrics struct {
	Limits []api.Limit
	// Refused is what they have refused, by the code of the refusal.
	Refused map[string]int64
	// Quotas are those of tenants.
	Quotas []quota.Use
}

// WebSocketMetrics are the daemon's WebSocket connections.
type WebSocketMetrics struct {
	Clients int64
	// SlowClosed counts clients that were closed because they did not keep up.
	SlowClosed int64
}

// OutboundMetrics are the calls of sources and sinks to other servers.
type OutboundMetrics struct {
	// Calls is how many are on the way, Denied how many were not made.
	Calls, Denied int64
	// Spans is what became of spans of traces, by outcome; nil where none are made.
	Spans map[string]int64
}

// CertificateMetrics are those of the certificate that the daemon shows.
type CertificateMetrics struct {
	Ends time.Time
	// Reloads counts the changes of its files that were taken, Failures those that could not be.
	Reloads, Failures int64
}

// DaemonMetrics are those of the daemon and its store.
type DaemonMetrics struct {
	// StoreUp says that the store answers.
	StoreUp bool
	// SchemaAhead is how many migrations the store has that this release does not know.
	SchemaAhead int64
	// Members counts the daemons on the store by state; nil while it does not answer.
	Members map[string]int
	// AuditUnwritable counts changes that were refused because they could not be written down, AuditLost results
	// that were given up.
	AuditUnwritable, AuditLost int64
}

// BuildInfo is what the binary was made of.
type BuildInfo struct {
	Version, Revision, GoVersion string
}
