package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/spec"
)

// The answers of the control plane. Their JSON is a promise to users: it is the
// wire shape of REST and WebSocket alike.

// Ref names one graph of one tenant.
type Ref struct{ Tenant, Name string }

// Query pages through a list, newest first.
type Query = checkpoint.Query

// Reason says why a graph or accumulator is in the health it is in.
type Reason struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Counters are the books of one accumulator or graph, in events (M42):
// Received = the sum of the other six, at quiescence.
type Counters struct {
	Received     int64 `json:"received"`
	Filtered     int64 `json:"filtered"`
	Conflated    int64 `json:"conflated"`
	Rejected     int64 `json:"rejected"`
	DeadLettered int64 `json:"dead_lettered"`
	Consumed     int64 `json:"consumed"`
	Queued       int64 `json:"queued"`
}

// DurabilityStatus is where the checkpoint stands.
type DurabilityStatus struct {
	Mode                 string   `json:"mode"`
	CheckpointEpoch      int64    `json:"checkpoint_epoch"`
	CheckpointAgeSeconds *float64 `json:"checkpoint_age_seconds"` // null before the first
}

// AccumulatorSummary is one input as an operator sees it.
type AccumulatorSummary struct {
	Name          string     `json:"name"`
	Kind          string     `json:"kind"`
	Source        string     `json:"source"`
	Strategy      string     `json:"strategy"`
	Triggers      bool       `json:"triggers"`
	Health        string     `json:"health"`
	HealthReason  *Reason    `json:"health_reason"`
	Dirty         bool       `json:"dirty"`
	Depth         int        `json:"depth"`
	Capacity      int        `json:"capacity"`
	DepthBytes    int64      `json:"depth_bytes"`
	CapacityBytes int64      `json:"capacity_bytes"`
	SecondsToFull *float64   `json:"seconds_to_full"`
	Counters      Counters   `json:"counters"`
	Position      string     `json:"position"`
	LastEventAt   *time.Time `json:"last_event_at"`
	Restarts      int        `json:"restarts"`
	// Gaps is how often an operator let it go on behind what its source had lost, since the daemon started (M44).
	Gaps int64 `json:"gaps"`
	// Lag is how many events wait at the source; null where it cannot tell.
	Lag         *int64 `json:"lag"`
	Incarnation int64  `json:"incarnation"`
}

// AccumulatorDetail adds what the accumulator expects and hands over.
type AccumulatorDetail struct {
	AccumulatorSummary
	Schema       json.RawMessage `json:"schema"`        // null when none was declared
	BoundaryType string          `json:"boundary_type"` // the static type of a boundary's value
}

// OutputSummary is one output as an operator sees it.
type OutputSummary struct {
	Name    string `json:"name"`
	From    string `json:"from"`
	Sink    string `json:"sink"`
	Path    string `json:"path"` // "direct", "outbox" or "co-transaction"
	Emitted int64  `json:"emitted"`
	Pending int64  `json:"pending"`
	Failed  int64  `json:"failed"`
	// OldestPendingSeconds is how long the first of the pending values has waited; null when
	// none waits, or when it is not known yet.
	OldestPendingSeconds *float64 `json:"oldest_pending_seconds"`
	Error                string   `json:"error,omitempty"` // the last failure while it lasts
}

// GraphSummary is GET /v1/graphs/{g}.
type GraphSummary struct {
	Graph        string               `json:"graph"`
	Tenant       string               `json:"tenant"`
	Description  string               `json:"description,omitempty"`
	Revision     int64                `json:"revision"`
	Instance     string               `json:"instance"`
	Incarnation  int64                `json:"incarnation"`
	Health       string               `json:"health"`
	HealthReason *Reason              `json:"health_reason"`
	Paused       bool                 `json:"paused"`
	PausedBy     string               `json:"paused_by,omitempty"`
	Degraded     []string             `json:"degraded"`    // accumulators (or "checkpoint") that are not healthy
	WaitingFor   []string             `json:"waiting_for"` // inputs the next epoch waits for
	Epoch        int64                `json:"epoch"`
	Keys         *KeysSummary         `json:"keys"` // null in a graph without keys
	LastFiredAt  *time.Time           `json:"last_fired_at"`
	Durability   DurabilityStatus     `json:"durability"`
	Guarantees   map[string]string    `json:"guarantees"`
	Counters     Counters             `json:"counters"`
	Accumulators []AccumulatorSummary `json:"accumulators"`
	Outputs      []OutputSummary      `json:"outputs"`
	// Update is the last attempt to change the graph since the daemon started; null when there was none.
	Update *UpdateStatus `json:"last_update"`
}

// Firing is one record of the history, as listed.
type Firing struct {
	Epoch       int64                      `json:"epoch"`
	Incarnation int64                      `json:"incarnation"`
	At          time.Time                  `json:"at"`
	Cause       string                     `json:"cause"`
	Key         json.RawMessage            `json:"key"` // null when unkeyed
	OK          bool                       `json:"ok"`
	Error       *string                    `json:"error"`
	DurationUS  int64                      `json:"duration_us"`
	Degraded    []string                   `json:"degraded,omitempty"`
	Inputs      map[string]json.RawMessage `json:"inputs"`
	Outputs     map[string]json.RawMessage `json:"outputs"`
}

// FiringDetail is one epoch in full: what it saw, what ran and what came out.
type FiringDetail struct {
	Firing
	Cut   map[string]CutInput   `json:"cut"`
	Nodes map[string]NodeRecord `json:"nodes"`
}

// CutInput is what the cut took from one input.
type CutInput struct {
	Taken    bool   `json:"taken"` // false: the cached value was read again
	Events   int64  `json:"events"`
	Position string `json:"position"`
}

// NodeRecord is what one node did in an epoch.
type NodeRecord struct {
	Status     string          `json:"status"` // ran, cut_off, skipped, failed, idle
	Value      json.RawMessage `json:"value"`  // null when absent
	DurationUS *float64        `json:"duration_us"`
	Error      *string         `json:"error"`
}

// FireResult answers ForceFire and FireWith.
type FireResult struct {
	Epoch   int64                      `json:"epoch"`
	OK      bool                       `json:"ok"`
	Error   *string                    `json:"error"`
	Cause   string                     `json:"cause"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// FireRequest is the body of POST …/fire and of the ForceFire and FireWith frames.
type FireRequest struct {
	Mode    string                     `json:"mode"` // "force" or "with"
	Cache   map[string]json.RawMessage `json:"cache,omitempty"`
	Replace *bool                      `json:"replace,omitempty"` // default true
	Key     json.RawMessage            `json:"key,omitempty"`
}

// State is GET …/state.
type State struct {
	Cache  map[string]json.RawMessage `json:"cache"`
	Dirty  map[string]bool            `json:"dirty"`
	Queues map[string]int             `json:"queues"`
	Nodes  map[string]json.RawMessage `json:"nodes"`
	Paused bool                       `json:"paused"`
	Epoch  int64                      `json:"epoch"`
}

// PushResult answers a push. Accepted counts the leading events that were taken, the
// filtered ones among them; nothing after them was taken when Full is set.
type PushResult struct {
	Accepted int         `json:"accepted"`
	Filtered int         `json:"filtered"`
	Durable  bool        `json:"durable"`
	Rejected []Rejection `json:"rejected"`
	// Full says that the queue stayed full until the caller's deadline: answer 429.
	Full bool `json:"-"`
}

// Rejection is one event of a push that was refused (M5).
type Rejection struct {
	Index  int    `json:"index"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Page is a list, newest first.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// ApplyResult answers PUT /v1/graphs/{g}.
type ApplyResult struct {
	Created  bool            `json:"created"`
	Changed  bool            `json:"changed"`
	Revision int64           `json:"revision"`
	DryRun   bool            `json:"dry_run,omitempty"`
	Plan     json.RawMessage `json:"plan,omitempty"`
	Diff     []string        `json:"diff,omitempty"`
	State    *StateChange    `json:"state,omitempty"` // of a change: what of the state is kept
	Graph    *GraphSummary   `json:"graph,omitempty"`
}

// TreeNode is one line of the live task tree (M34).
type TreeNode struct {
	Path     string    `json:"path"` // "graphd/default/market_maker/accumulator/orderbook"
	State    string    `json:"state"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`
}

// Limit is one bound of the daemon with its use.
type Limit struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	Used  *int64 `json:"used"` // null where use is not a running figure
	Unit  string `json:"unit"`
}

// Frame is what watchers get: one of the WebSocket topics.
type Frame struct {
	Type        string          `json:"type"` // output, firing, health, state, gap
	Graph       string          `json:"graph"`
	Seq         int64           `json:"seq"`
	Incarnation int64           `json:"incarnation"`
	Output      string          `json:"output,omitempty"`
	Epoch       int64           `json:"epoch,omitempty"`
	Key         json.RawMessage `json:"key,omitempty"`
	FiringID    string          `json:"firing_id,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`
	Firing      *Firing         `json:"firing,omitempty"`
	Health      string          `json:"health,omitempty"`
	Reason      *Reason         `json:"health_reason,omitempty"`
	State       *State          `json:"state,omitempty"`
	From        int64           `json:"from,omitempty"` // gap
	To          int64           `json:"to,omitempty"`   // gap
}

// Error is a refusal with a stable code. The server maps Status to HTTP and to the
// command line's exit codes.
type Error struct {
	Status int    // an HTTP status
	Code   string // stable, snake_case
	Detail string // what is wrong and what to do
	// Diagnostics are a declaration's mistakes (422).
	Diagnostics spec.Diagnostics
	// Extra are further members of the problem document, such as the declared names.
	Extra map[string]any
}

func (e *Error) Error() string { return e.Code + ": " + e.Detail }

// DeadLetter is a dead letter as listed; Payload is JSON where it is JSON, else a string.
type DeadLetter = checkpoint.DeadLetter

// RecoveryEvent is one act of the supervisor.
type RecoveryEvent = checkpoint.RecoveryEvent

// Subscription is one watcher's bounded queue. What it missed is announced by a gap frame
// in its place; a watcher never holds a graph up.
type Subscription interface {
	// Next waits for the next frame, until ctx is done. io.EOF says the graph is gone.
	Next(ctx context.Context) (*Frame, error)
	// TryNext is the next frame if one is ready, so that a writer can batch; nil when none is.
	TryNext() *Frame
	// Close ends the subscription; safe to call twice.
	Close()
}
