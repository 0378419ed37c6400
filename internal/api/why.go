package api

import (
	"encoding/json"
	"time"
)

// WhyQuery says which epoch is asked about.
type WhyQuery struct {
	// Epoch is its number, of Shard where there are several, and FiringID the id of a value that it gave; with neither
	// it is the newest epoch, of Key where one is given.
	Epoch    *int64 `json:"epoch,omitempty"`
	Shard    *int   `json:"shard,omitempty"`
	FiringID string `json:"firing_id,omitempty"`
	Key      string `json:"key,omitempty"`
}

// Why tells why an epoch ran, what it read and did, and what has become of what it gave. It is told of the epoch's
// record, see [FiringDetail], which has the same in full.
type Why struct {
	Graph       string          `json:"graph"`
	Epoch       int64           `json:"epoch"`
	Shard       int             `json:"shard,omitempty"`
	Incarnation int64           `json:"incarnation"`
	At          time.Time       `json:"at"`
	Key         json.RawMessage `json:"key"` // null when unkeyed
	OK          bool            `json:"ok"`
	Error       *string         `json:"error"`
	// Sentence is all of it in short.
	Sentence string `json:"sentence"`
	// Cause is what made it run.
	Cause Reason `json:"cause"`
	// Revision is what the graph was declared as; nil where that is not known any more.
	Revision *Revision  `json:"revision"`
	Degraded []string   `json:"degraded,omitempty"`
	Inputs   []WhyInput `json:"inputs"`
	// Guard is nil without one, where nobody asked it, and of an epoch of another declaration than the present one:
	// what that had said is not told, which the sentence says.
	Guard   *WhyGuard   `json:"guard"`
	Nodes   []WhyNode   `json:"nodes"`
	Outputs []WhyOutput `json:"outputs"`
}

// WhyInput is what an epoch read of an input.
type WhyInput struct {
	Name string `json:"name"`
	// State is "new", "cached", "default" or "absent".
	State    string          `json:"state"`
	Events   int64           `json:"events"` // that the epoch took
	Position string          `json:"position,omitempty"`
	Value    json.RawMessage `json:"value"` // null when absent
	// SinceEpoch is the epoch of the same key that has taken a cached value, and AgeSeconds how long before this one
	// that was, by the graph's clock. Both are left out where the history does not go back so far.
	SinceEpoch int64    `json:"since_epoch,omitempty"`
	AgeSeconds *float64 `json:"age_seconds,omitempty"`
}

// WhyGuard is the guard that an epoch has passed, or that could not be evaluated, and what it read, by the names of
// inputs and nodes. The value of a node is the one that it had before the epoch, and null where the history does not
// have that.
type WhyGuard struct {
	Expression string                     `json:"expression"`
	Reads      map[string]json.RawMessage `json:"reads"`
}

// WhyNode is what a node did, and why.
type WhyNode struct {
	Name   string          `json:"name"`
	Status string          `json:"status"` // as in [NodeRecord]
	Value  json.RawMessage `json:"value"`
	// Because says why it came to nothing new; nil of a node that ran.
	Because *Because `json:"because"`
}

// WhyOutput is what an output gave, and where that is now.
type WhyOutput struct {
	Name string `json:"name"`
	Sink string `json:"sink,omitempty"`
	// Fate is "silent" where it gave nothing, "watched" where only watchers see it, "held" until it is committed,
	// "pending" on its way, "dead_letter", "delivered", or "unknown" where that cannot be told now.
	Fate     string          `json:"fate"`
	Detail   string          `json:"detail"`
	FiringID string          `json:"firing_id,omitempty"`
	Letter   string          `json:"letter,omitempty"` // the dead letter's id
	Value    json.RawMessage `json:"value"`            // null when silent
	// Because says why it gave nothing; nil where it gave something.
	Because *Because `json:"because"`
}

// WhyNotQuery says whose silence is asked about.
type WhyNotQuery struct {
	Key    string `json:"key,omitempty"`
	Output string `json:"output,omitempty"`
	// Since leaves out what was before, by the wall clock: RFC 3339, or a duration back from now. "" leaves nothing
	// out.
	Since string `json:"since,omitempty"`
}

// WhyNot tells why nothing comes, of the graph, of a key or of an output.
type WhyNot struct {
	Graph  string          `json:"graph"`
	Key    json.RawMessage `json:"key"` // null when none was asked for
	Output string          `json:"output,omitempty"`
	At     time.Time       `json:"at"`
	// Sentence is the first of the reasons.
	Sentence string `json:"sentence"`
	// Now are what stands in the way now, the gravest first.
	Now []Because `json:"now"`
	// Epochs are why the newest epochs gave nothing, of Looked that were looked at, the most frequent first.
	Epochs []Because `json:"epochs"`
	Looked int       `json:"looked"`
	// Refused are events and cuts that came to nothing, newest first: a sample. Counts are all of them since the graph
	// began to run.
	Refused []Because        `json:"refused"`
	Counts  map[string]int64 `json:"counts"`
}

// Because is one reason why nothing came of something.
type Because struct {
	// Code is stable, Detail says it in a sentence, and Do what can be done; "" where nothing has to be.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
	// Shard, Input, Node and Output are where, Key whose it is.
	Shard  int             `json:"shard,omitempty"`
	Input  string          `json:"input,omitempty"`
	Node   string          `json:"node,omitempty"`
	Output string          `json:"output,omitempty"`
	Key    json.RawMessage `json:"key,omitempty"`
	// At is when it happened or began, Until when it ends by itself.
	At    *time.Time `json:"at,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Position is the event's, Events how many are concerned; Epochs are how many epochs, Epoch the newest of them.
	Position string `json:"position,omitempty"`
	Events   int64  `json:"events,omitempty"`
	Epochs   int64  `json:"epochs,omitempty"`
	Epoch    int64  `json:"epoch,omitempty"`
	// Values are those that decided, by name.
	Values map[string]json.RawMessage `json:"values,omitempty"`
}
