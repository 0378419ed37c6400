package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Ref names one graph of one tenant.
type Ref struct{ Tenant, Name string }

// Reason says why a graph or accumulator is in the health it is in.
type Reason struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// ReasonOf is a reason, nil where there is nothing to say.
func ReasonOf(code, detail string) *Reason {
	if code == "" && detail == "" {
		return nil
	}
	return &Reason{Code: code, Detail: detail}
}

// Moved says of why a push was not taken whole that the graph is not run here, or its part there cannot be reached: its
// books, and those of what was not taken, are at another daemon. It is false of nil.
func (r *Reason) Moved() bool {
	return r != nil && (r.Code == CodeOwnerMoved || r.Code == CodeGraphStopping || r.Code == CodeOwnerUnreachable)
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

// Add counts o in.
func (c *Counters) Add(o Counters) {
	c.Received += o.Received
	c.Filtered += o.Filtered
	c.Conflated += o.Conflated
	c.Rejected += o.Rejected
	c.DeadLettered += o.DeadLettered
	c.Consumed += o.Consumed
	c.Queued += o.Queued
}

// DurabilityStatus is where the checkpoint stands.
type DurabilityStatus struct {
	Mode                 string   `json:"mode"`
	CheckpointEpoch      int64    `json:"checkpoint_epoch"`
	CheckpointAgeSeconds *float64 `json:"checkpoint_age_seconds"` // null before the first
	CheckpointBytes      int64    `json:"checkpoint_bytes"`       // what the last one wrote, of all shards together
}

// Stopped says who has stopped an input or output, and since when.
type Stopped struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"`
}

// AccumulatorSummary is one input as an operator sees it.
type AccumulatorSummary struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	Source        string   `json:"source"`
	From          string   `json:"from,omitempty"` // what feeds it, where Source is "node" or "join"
	Strategy      string   `json:"strategy"`
	Triggers      bool     `json:"triggers"`
	Health        string   `json:"health"`
	HealthReason  *Reason  `json:"health_reason"`
	Dirty         bool     `json:"dirty"`
	Depth         int      `json:"depth"`   // what takes room: in the inbox, and in queues that can fire
	Waiting       int      `json:"waiting"` // boundaries that are the keys' own, beside depth
	Capacity      int      `json:"capacity"`
	DepthBytes    int64    `json:"depth_bytes"`
	CapacityBytes int64    `json:"capacity_bytes"`
	SecondsToFull *float64 `json:"seconds_to_full"`
	Counters      Counters `json:"counters"`
	// Position is where its source has come to; "" of a graph whose shards stand at several.
	Position    string     `json:"position"`
	LastEventAt *time.Time `json:"last_event_at"`
	Restarts    int        `json:"restarts"`
	// Gaps is how often an operator let it go on behind what its source had lost, since the daemon started (M44).
	Gaps int64 `json:"gaps"`
	// Late is how many events came too late for it since it started, whatever became of them.
	Late int64 `json:"late"`
	// Lag is how many events wait at the source; null where it cannot tell. Of a graph with shards it is that of the
	// process which is furthest behind, for each reads all; of a topic that is partitioned by the key, of which each
	// reads its own partitions, the sum over them.
	Lag *int64 `json:"lag"`
	// Keys is what a fold has of keys; null for others, without a key, and until the first event after a start.
	Keys *FoldKeys `json:"keys"`
	// Versions is what a table keeps of what it was; left out where rows are looked up as of now.
	Versions *Versions `json:"versions,omitempty"`
	// Watermark is how far the time of events has come in it; left out for what does not go by that, and before the
	// first event. Of a graph with shards that of the shard which is furthest behind.
	Watermark *Watermark `json:"watermark,omitempty"`
	// Stopped is set while an operator has it stopped.
	Stopped     *Stopped `json:"stopped,omitempty"`
	Incarnation int64    `json:"incarnation"`
}

// AccumulatorDetail adds what the accumulator expects and hands over.
type AccumulatorDetail struct {
	AccumulatorSummary
	Schema       json.RawMessage `json:"schema"`        // null when none was declared
	BoundaryType string          `json:"boundary_type"` // the static type of a boundary's value
	Row          *TableRow       `json:"row,omitempty"` // of a table, where a key is asked for
}

// TableRow is what a table has of one key (M3).
type TableRow struct {
	Key   json.RawMessage `json:"key"`
	Found bool            `json:"found"`
	Value json.RawMessage `json:"value"` // null where there is none
	Rows  int             `json:"rows"`  // how many the table has
}

// OutputSummary is one output as an operator sees it.
type OutputSummary struct {
	Name    string `json:"name"`
	From    string `json:"from"`
	Sink    string `json:"sink"`
	Path    string `json:"path"` // "direct", "outbox" or "co-transaction"
	Emitted int64  `json:"emitted"`
	// Filtered are values that did not go out because of `where`, or because they were null.
	Filtered int64 `json:"filtered"`
	Pending  int64 `json:"pending"`
	// Full says that as many wait as may: the graph does not fire until some are through.
	Full   bool  `json:"full,omitempty"`
	Failed int64 `json:"failed"` // values that became dead letters, in all
	// OldestPendingSeconds is how long the first of the pending values has waited; null when
	// none waits, or when it is not known yet.
	OldestPendingSeconds *float64 `json:"oldest_pending_seconds"`
	// FreshSeconds is within how long the next value is to go out, as declared; left out where nothing is.
	FreshSeconds float64 `json:"fresh_seconds,omitempty"`
	// AgeSeconds is how long ago the last value went out, to the sink where there is one, or since when one is waited
	// for; null while none is to come: the graph does not run or is paused, the output stopped, or all inputs ended.
	AgeSeconds *float64 `json:"age_seconds"`
	// Stale says that this is longer than FreshSeconds.
	Stale bool   `json:"stale,omitempty"`
	Error string `json:"error,omitempty"` // the last failure while it lasts
	// FailingSince is when the first delivery failed since one went well; left out while they do.
	FailingSince *time.Time `json:"failing_since,omitempty"`
	// RefusedSince are the values that became dead letters since then.
	RefusedSince int64    `json:"refused_since,omitempty"`
	Stopped      *Stopped `json:"stopped,omitempty"` // while an operator has it stopped
	// Followers are the graphs that follow an output which is kept for them, by name; left out where nobody does.
	Followers []Follower `json:"followers,omitempty"`
}

// GaveUp reports whether nothing waits and the last values have become dead letters.
func (o *OutputSummary) GaveUp() bool {
	return o.FailingSince != nil && o.Pending == 0 && o.RefusedSince > 0
}

// Trouble is what there is to say of an output whose last delivery did not go well.
func (o *OutputSummary) Trouble() string {
	since := o.FailingSince.Format(time.RFC3339)
	switch {
	case o.GaveUp():
		return fmt.Sprintf("has taken nothing since %s, and nothing waits: what came (%d) became dead letters: %s",
			since, o.RefusedSince, o.Error)
	case o.RefusedSince > 0:
		return fmt.Sprintf("has failed since %s, %d wait, %d became dead letters: %s", since, o.Pending,
			o.RefusedSince, o.Error)
	}
	return fmt.Sprintf("has failed since %s, %d wait: %s", since, o.Pending, o.Error)
}

// DeadLettered is how many events and values of the graph became dead letters, in all.
func (s *GraphSummary) DeadLettered() int64 {
	n := s.Counters.DeadLettered
	for i := range s.Outputs {
		n += s.Outputs[i].Failed
	}
	return n
}

// FoldKeys is what a fold has of keys (M3).
type FoldKeys struct {
	Count   int   `json:"count"`
	Max     int   `json:"max"`
	Evicted int64 `json:"evicted"` // in all, of every incarnation
}

// Versions is what a table keeps of what it was (M3).
type Versions struct {
	Count int   `json:"count"`
	Max   int   `json:"max"`
	Bytes int64 `json:"bytes"`
	// Since is the earliest time that its rows can be looked up as of; null while that is any.
	Since *time.Time `json:"since"`
}

// KeysSummary is what a keyed graph has of keys (M13).
type KeysSummary struct {
	Count   int   `json:"count"`
	Max     int   `json:"max"`
	Evicted int64 `json:"evicted"` // in all, of every incarnation
	// Shards is how many parts the keys are dealt to, where there are several, ShardsRunning how many of them run.
	Shards        int `json:"shards,omitempty"`
	ShardsRunning int `json:"shards_running,omitempty"`
	// AsOne is why all of them are run as one; "" where each runs by itself.
	AsOne string `json:"as_one,omitempty"`
	// Waiting are the boundaries of keys that wait for their counterpart, a guard or a timer.
	Waiting int `json:"waiting"`
	// WaitingBytes is about what the boundaries hold that wait in queues of keys.
	WaitingBytes    int64 `json:"waiting_bytes"`
	MaxWaitingBytes int64 `json:"max_waiting_bytes"`
	// Overflowed are the boundaries that went because more would have waited than may, in all.
	Overflowed int64 `json:"overflowed"`
}

// GraphSummary is GET /v1/graphs/{g}.
type GraphSummary struct {
	Graph        string   `json:"graph"`
	Tenant       string   `json:"tenant"`
	Description  string   `json:"description,omitempty"`
	Revision     int64    `json:"revision"`
	Instance     string   `json:"instance"`
	Incarnation  int64    `json:"incarnation"`
	Health       string   `json:"health"`
	HealthReason *Reason  `json:"health_reason"`
	Paused       bool     `json:"paused"`
	PausedBy     string   `json:"paused_by,omitempty"`
	Degraded     []string `json:"degraded"`    // accumulators (or "checkpoint") that are not healthy
	WaitingFor   []string `json:"waiting_for"` // inputs the next epoch waits for
	// Clock is "event" or "arrival", ClockBy says in words what that goes by; EngineTime is null before it
	// has begun. HeldBackBy is, under the event clock, the input, and the stream of it, that the others
	// wait for now.
	Clock      string     `json:"clock,omitempty"`
	ClockBy    string     `json:"clock_by,omitempty"`
	EngineTime *time.Time `json:"engine_time"`
	HeldBackBy string     `json:"held_back_by,omitempty"`
	Epoch      int64      `json:"epoch"`
	// EpochsPerSecond is how many there were a second in about the last ten, of all shards together.
	EpochsPerSecond float64      `json:"epochs_per_second"`
	Keys            *KeysSummary `json:"keys"` // null in a graph without keys
	LastFiredAt     *time.Time   `json:"last_fired_at"`
	// DueAt is when what waits for a timer may fire, by the graph's clock; null when nothing does.
	DueAt        *time.Time           `json:"due_at"`
	Durability   DurabilityStatus     `json:"durability"`
	Guarantees   map[string]string    `json:"guarantees"`
	Counters     Counters             `json:"counters"`
	Accumulators []AccumulatorSummary `json:"accumulators"`
	Outputs      []OutputSummary      `json:"outputs"`
	// Calls are those of nodes that call out, by node.
	Calls []NodeCalls `json:"calls,omitempty"`
	// Shards are those of a graph that is dealt, by number.
	Shards []ShardSummary `json:"shards,omitempty"`
	// Cost is what the graph has cost in the daemons that run it, since they started; of a graph with shards it is the
	// sum over the shards, and of one shard that one's, but for EventBytes, which its daemon has read for all of its
	// own.
	Cost Cost `json:"cost"`
	// Update is the last attempt to change the graph since the daemon started; null when there was none.
	Update *UpdateStatus `json:"last_update"`
}

// Cost is what a graph has cost.
type Cost struct {
	// BusySeconds is how long its reactor and the threads of its pools were at work, EventBytes what came in as text,
	// and StoredBytes what its checkpoints wrote.
	BusySeconds float64 `json:"busy_seconds"`
	EventBytes  int64   `json:"event_bytes"`
	StoredBytes int64   `json:"stored_bytes"`
	// MemoryBytes is about what it holds in memory now, and Memory how much of that which part has.
	MemoryBytes int64  `json:"memory_bytes"`
	Memory      Memory `json:"memory"`
}

// Memory is about how many bytes a graph holds in memory, by what holds them.
type Memory struct {
	// Keys is what keys have, State what accumulators keep, Records what the newest firing records and the sample of
	// what came to nothing show; Queues is what waits for an epoch, Outputs what waits to be delivered, and Letters are
	// dead letters on their way to the store.
	Keys    int64 `json:"keys"`
	State   int64 `json:"state"`
	Queues  int64 `json:"queues"`
	Outputs int64 `json:"outputs"`
	Letters int64 `json:"letters"`
	Records int64 `json:"records"`
}

// NodeCalls is what a node that calls out has asked for since the graph began to run.
type NodeCalls struct {
	Node string `json:"node"`
	// Out are calls on their way; Waiting are those that begin when one of these has ended.
	Out     int `json:"out"`
	Waiting int `json:"waiting"`
	// Answered and Failed are calls that have ended, Retries tries after their first; Cached are answers that were
	// remembered, for which nobody was called.
	Answered int64 `json:"answered"`
	Failed   int64 `json:"failed"`
	Retries  int64 `json:"retries"`
	Cached   int64 `json:"cached"`
	// BreakerOpen says that nobody is called for a while, since the last tries have failed.
	BreakerOpen bool `json:"breaker_open"`
	// FailedInRow are the tries that have come to nothing since a server has answered with whatever is not worth
	// another try; Error is what the last one failed with.
	FailedInRow int    `json:"failed_in_row,omitempty"`
	Error       string `json:"error,omitempty"`
	// AwaitedSince is since when the next epoch waits for an answer; left out while it waits for none.
	AwaitedSince *time.Time `json:"awaited_since,omitempty"`
}

// SkipResult answers skip-lost: the graph, and what is left out.
type SkipResult struct {
	GraphSummary
	// Gaps is where and how much: one for each stream of the source that has lost something.
	// Each command with a gap counts once in the accumulator's own Gaps.
	Gaps []Gap `json:"skipped"`
}

// Gap is what one stream of a source is let go on without (M44).
type Gap struct {
	Stream string  `json:"stream"`
	From   string  `json:"from"`   // the position that is lost
	To     *string `json:"to"`     // where it goes on; "start" for the beginning, null for nowhere
	Events *int64  `json:"events"` // how many are left out; null where nobody can know
	Reason string  `json:"reason"`
	Shard  int     `json:"shard,omitempty"` // which shard goes on without it
}

// UpdateStatus is the last attempt to change a graph since the daemon started.
type UpdateStatus struct {
	At     time.Time `json:"at"`
	OK     bool      `json:"ok"`
	Origin string    `json:"origin"` // "api" or "file:PATH"
	// Detail is what became of the state, or why the graph was left as it was.
	Detail string `json:"detail"`
}

// StateChange lists what of a graph's state an update keeps and drops (M33).
type StateChange struct {
	Kept    []string `json:"kept"`
	Dropped []string `json:"dropped"`
}

// String is the change for a recovery event.
func (c *StateChange) String() string {
	if c == nil {
		return "no state was there to keep"
	}
	text := "the state of all names was kept"
	if len(c.Dropped) > 0 {
		text = "dropped: " + strings.Join(c.Dropped, "; ")
		if len(c.Kept) > 0 {
			text += "; kept: " + strings.Join(c.Kept, ", ")
		}
	}
	return text
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
	// Restated says that the text is another and its meaning the same: it was stored, and the graph
	// runs on untouched.
	Restated bool `json:"restated,omitempty"`
	// Restored is the earlier revision that a rollback has applied again.
	Restored int64 `json:"restored,omitempty"`
	// Files says which file each relative path of the declaration is.
	Files []File `json:"files,omitempty"`
	// Troubles are inputs that do not run, or why the graph does not: a source that cannot be opened, say. It was
	// applied all the same, and they are tried again.
	Troubles []string `json:"troubles,omitempty"`
	// Notes are what the caller should know beside the result.
	Notes []string      `json:"notes,omitempty"`
	Graph *GraphSummary `json:"graph,omitempty"`
}

// State is GET …/state.
type State struct {
	Cache  map[string]json.RawMessage `json:"cache"`
	Dirty  map[string]bool            `json:"dirty"`
	Queues map[string]int             `json:"queues"`
	Nodes  map[string]json.RawMessage `json:"nodes"`
	Paused bool                       `json:"paused"`
	Epoch  int64                      `json:"epoch"`
	// Shard has the key; Shards are those of a graph that is dealt, where no key is asked for.
	Shard  int            `json:"shard,omitempty"`
	Shards []ShardSummary `json:"shards,omitempty"`
}
