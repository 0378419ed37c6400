// Package spec is the declaration: the document a user writes to describe one
// graph, decoded strictly, with defaults filled in and every structural
// mistake reported at once with its place in the file.
//
// The package does no I/O of its own. References to the environment and to
// secret files are resolved through a [Resolver] that the caller hands in, and
// what they resolve to appears in no diagnostic, no hash and no [Diff].
//
// Start with [Parse]; the types below mirror the document field by field.
//
// # How it is built
//
// One table of fields per mapping of the document (accumulatorFields,
// reactorFields, …) drives everything: what is decoded and how, what is an
// unknown field and what it was probably meant to be, and what is known but not
// built yet. A field whose reader is nil answers not_yet_supported (M47); giving
// it a reader, and its definition in the JSON Schema a type, lifts it. A test
// holds the tables and the published schema against each other.
//
// The way through the package: parse.go bounds and loads the text (syntax.go
// finds the place of what is not YAML at all), object.go and value.go decode
// mappings and scalars, the files named after parts of the document hold their
// tables, check.go looks at what crosses parts, canonical.go makes the hash. What a kind says of
// itself to the rest of the declaration stands in package trait.
package spec

import (
	"time"

	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/keep"
	"github.com/graphd/graphd/internal/spec/lanes"
	"github.com/graphd/graphd/internal/spec/limits"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// What parts of declarations are made of is the decoder's.
type (
	// Pos is a place in a declaration.
	Pos = decode.Pos
	// Expr is an expression as it was written, with its place.
	Expr = decode.Expr
	// Field is a named expression.
	Field = decode.Named
	// Diagnostic is one mistake in a declaration.
	Diagnostic = decode.Diagnostic
	// Diagnostics are a declaration's mistakes in the order of the document.
	Diagnostics = decode.Diagnostics
	// Resolver reads what a declaration refers to with ${…}.
	Resolver = decode.Resolver
	// Durability says what survives a crash.
	Durability = keep.Durability
	// History bounds the ring of firing records.
	History = keep.History
	// DeadLetters bounds the dead-letter list.
	DeadLetters = keep.DeadLetters
	// Loop is nodes that rest on each other, and run until they agree.
	Loop = cycles.Loop
	// Lane is how nodes are executed that name it.
	Lane = lanes.Lane

	decoder = decode.Decoder
	value   = decode.Value
)

// Graph is one declaration.
type Graph struct {
	File         string // the file name for diagnostics; "" when pushed over the API
	Tenant       string // whose it is; "" where nobody has said, as on the command line
	Name         string
	Description  string
	Vars         []Var
	VarsUnread   bool            // there are more, whose values could not be read, which has been told
	Unsure       map[string]bool // accumulators and nodes of whose values nothing is known; see [decode.Unsure]
	Accumulators []Accumulator
	Reactor      *Reactor // never nil in what was parsed
	Nodes        []Node
	Lanes        []Lane
	Loops        []Loop
	Outputs      []Output
	Durability   Durability
	History      History
	DeadLetters  DeadLetters
	Limits       limits.Limits
	// Clock is what engine time is: "event" or "arrival", or "" where nothing is said; see
	// [Graph.EventClock]. Idle is for how long, under the event clock, who is silent is waited for; 0 is
	// [DefaultIdle].
	Clock string
	Idle  time.Duration
	// Hash identifies the declaration's meaning: equal declarations, however
	// formatted, have equal hashes. Hex SHA-256. Secrets take no part in it:
	// a reference counts as it is written, not as what it resolves to.
	Hash string

	written *meaning.AsWritten // what was written with references
	anchors document.Anchors   // of the aliases
}

// Noted puts a word on the anchor to later diagnostics of the declaration that stand at aliases: what is wrong there is
// written at the anchor. It answers with the same list.
func (g *Graph) Noted(ds Diagnostics) Diagnostics { return decode.Noted(ds, g.anchors) }

// Named is a declaration that differs from g in its name, its file and its tenant alone; all else is shared.
func (g *Graph) Named(name, file, tenant string) *Graph {
	of := *g
	of.Name, of.File, of.Tenant = name, file, tenant
	of.Hash = of.Fingerprint()
	return &of
}

// Var is a constant of the graph. Value is what the document holds: nil, bool,
// int64, float64, string, []any or map[string]any of these.
type Var struct {
	Name  string
	Value any
	Pos   Pos
}

// Accumulator is one input of the graph.
type Accumulator struct {
	Name   string
	Pos    Pos
	Source Source
	// From is the node of this graph that feeds the accumulator, in place of a source; "" for none.
	From    string
	FromPos Pos
	// Schema is a JSON Schema as nested map[string]any / []any, nil when none was given.
	// SchemaFile names a file to read it from instead; the engine resolves it.
	Schema     any
	SchemaFile string
	SchemaPos  Pos
	Where      Expr
	// Emit shapes the boundary. Nil when not given. EmitExpr is set instead when
	// emit is one expression and not a mapping.
	Emit     []Field
	EmitExpr Expr
	// Kind is "passthrough", or the name of the kind whose configuration Config is.
	Kind    string
	KindPos Pos
	Config  AccumulatorConfig // nil for what passes through
	// Owner is the accumulator whose kind has declared this input, "" for all others: a window's
	// late events come to one.
	Owner string
	// JoinedBy is the join that takes what the accumulator hands over, "" for all others.
	JoinedBy string
	Time     Expr
	// Keys make the key of a boundary from its event, in place of the reactor's. Nil when not given.
	Keys []Expr
	// TimeUnit is the unit of numeric times: "s", "ms" (default), "us", "ns".
	TimeUnit string
	Timezone string
	// Global and Passive inputs are read but never trigger.
	Global, Passive bool
	// Partitioned is the function by whose number of the key the events are in the partitions of the source; "" where
	// nothing is said, and every shard reads all of them.
	Partitioned string
	// Default is the value until the first boundary arrives; HasDefault tells nil from absent.
	Default    any
	HasDefault bool
	// SyncGroup names the inputs that are seen in step: once a sequential boundary of the group
	// waits, what comes after it belongs to a later epoch. "" is none.
	SyncGroup string
	// Strategy is "latest", "sequential" or "burst"; never empty after Parse (the reactor's is filled in;
	// inputs that do not trigger are always "latest").
	Strategy string
	// StrategyFrom is who declares the strategy: "accumulator", "reactor", its "kind",
	// "from" (each value of the node counts), or "" for nobody.
	StrategyFrom string
	// Capacity bounds the handoff: boundaries (default 1,024) and bytes (default 8 MiB).
	Capacity      int
	CapacityBytes int64
}

// Triggers reports whether the reactor r fires on this input.
func (a *Accumulator) Triggers(r *Reactor) bool {
	if a.Passive || a.Global || a.JoinedBy != "" {
		return false
	}
	if r.Names == nil {
		return true
	}
	for _, n := range r.Names {
		if n == a.Name {
			return true
		}
	}
	return false
}

// Unsaid reports whether the input triggers the reactor r and is latest only because nothing
// declares how its boundaries are taken: neither a strategy nor a sync_group.
func (a *Accumulator) Unsaid(r *Reactor) bool {
	return a.StrategyFrom == "" && a.Strategy == "latest" && a.SyncGroup == "" && a.Triggers(r)
}

// Reactor says when the graph fires.
type Reactor struct {
	Pos Pos
	// When is "any" (default) or "all"; Names restricts it to a subset, nil means every triggering input.
	When     string
	Names    []string
	Strategy string // "latest" (default), "sequential" or "burst"
	// Keys make the key of a boundary from its fields; several make a composite key. Nil when not given.
	Keys    []Expr
	TTL     time.Duration // a key is forgotten this long after its last arrival; 0: never
	MaxKeys int           // default 10,000,000
	// Shards is how many parts the keys are dealt to, 1 (default) to 1,024 (M48).
	Shards int
	// MaxWaiting bounds what waits in each queue of a key (default 1,024), MaxWaitingBytes what
	// waits in all keys (default 256 MiB).
	MaxWaiting      int
	MaxWaitingBytes int64
	// OnEvict is "dead_letter" (default) or "drop".
	OnEvict     string
	Guard       Expr
	Debounce    time.Duration // fire when nothing that triggers has arrived for so long; 0: at once
	RateLimit   time.Duration // least time between the starts of two epochs; 0: none
	Every       time.Duration // fire at this cadence only, with nothing new too; 0: none
	MaxWait     time.Duration // the most that what has arrived waits for the rest, or for quiet; 0: for ever
	WarmTimeout time.Duration // default 30s
	// OnWarmTimeout is "fire_anyway" (default) or "fail".
	OnWarmTimeout string
	EpochTimeout  time.Duration // default 30s
	// Budget is how long an epoch should take; 0: as long as EpochTimeout. With one, OnOverrun is "record" (default),
	// "cancel_epoch" or "degrade".
	Budget    time.Duration
	OnOverrun string
	Restart   Restart
}

// MostOfEpoch is when an epoch is ended that takes longer.
func (r *Reactor) MostOfEpoch() time.Duration {
	if r.OnOverrun == "cancel_epoch" && r.Budget > 0 {
		return min(r.Budget, r.EpochTimeout)
	}
	return r.EpochTimeout
}

// Restart is the supervisor's policy for one graph.
type Restart struct {
	Attempts int           // default 5
	Base     time.Duration // default 1s
	Max      time.Duration // default 60s
	Reset    time.Duration // default 60s
	// OnExhausted is "fail" (default) or "degrade".
	OnExhausted string
}

// Node is one computation.
type Node struct {
	Name string
	Pos  Pos
	Kind string
	// Config is nil in a declaration that is wrong.
	Config NodeConfig
	// Inputs are what a node reads that does not say so by expressions, in the document's order.
	Inputs []NodeInput
	// After are the nodes and routes that the node comes after, in the document's order: it runs
	// when any of them has a value or was taken, with AfterAll when all of them have.
	After    []Gate
	AfterAll bool
	// Event is nil when not declared.
	Event *bool
	// OnError is "fail_epoch" (default), "skip", "last_good" or "dead_letter".
	OnError string
	// Priority is "high", "normal" (default), "low" or "background".
	Priority string
	// Budget is how long it may take; 0: as long as the epoch. With one, OnOverrun is "record" (default),
	// "cancel_epoch" or "degrade".
	Budget    time.Duration
	OnOverrun string
	// Lane is the lane that it is executed in; without a name, inline.
	Lane lanes.Use
	// Delay are the nodes that it reads as of the last kept epoch.
	Delay cycles.Delay
	// Retry is how a call is tried again; the zero Retry is not at all.
	Retry Retry
}

// Output sends a node's or an accumulator's value to a sink.
type Output struct {
	Name    string
	Pos     Pos
	From    string
	FromPos Pos
	Sink    Sink
	// Emit is "each" (default) or "on_change".
	Emit string
	// Where is a condition on the value; only what meets it goes out.
	Where Expr
	// EmitNull lets null go out too.
	EmitNull bool
	// Fresh is within how long the next value is to go out; 0: there is no such objective.
	Fresh time.Duration
	// OnError is "block" (default) or "dead_letter".
	OnError string
	Retry   Retry
	// Timeout bounds one try of a sink that calls out; default 10s.
	Timeout time.Duration
	// Delivery is "direct", "outbox", or "" when not declared: the sink's own way, which is direct.
	Delivery string
}
