package api

import (
	"encoding/json"
	"time"
)

// Firing is one record of the history, as listed.
type Firing struct {
	Epoch       int64           `json:"epoch"`
	Shard       int             `json:"shard,omitempty"` // which of the graph's shards counts the epoch
	Incarnation int64           `json:"incarnation"`
	At          time.Time       `json:"at"`
	Cause       string          `json:"cause"`
	Key         json.RawMessage `json:"key"` // null when unkeyed
	OK          bool            `json:"ok"`
	Error       *string         `json:"error"`
	DurationUS  int64           `json:"duration_us"`
	Overran     bool            `json:"overran,omitempty"` // it took longer than the reactor's budget
	// Lanes are those whose cadence has ticked in it, DroppedTicks the ticks that it came too late for.
	Lanes        []string                   `json:"lanes,omitempty"`
	DroppedTicks int64                      `json:"dropped_ticks,omitempty"`
	Degraded     []string                   `json:"degraded,omitempty"`
	Inputs       map[string]json.RawMessage `json:"inputs"`
	Outputs      map[string]json.RawMessage `json:"outputs"`
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
	Absent   bool   `json:"absent,omitempty"` // nothing has come of it yet, so that its value is null
}

// NodeRecord is what one node did in an epoch.
type NodeRecord struct {
	Status     string          `json:"status"` // ran, cut_off, skipped, failed, idle
	Value      json.RawMessage `json:"value"`  // null when absent
	DurationUS *float64        `json:"duration_us"`
	Error      *string         `json:"error"`
	Overran    bool            `json:"overran,omitempty"` // it took longer than its budget
	// Iterations is how often the node's loop has run, and Ended why it ended: settled, until, max_iterations,
	// budget, skipped, broken.
	// Both are left out for nodes of no loop, and where that was not due.
	Iterations int    `json:"iterations,omitempty"`
	Ended      string `json:"ended,omitempty"`
}

// FireResult answers ForceFire and FireWith.
type FireResult struct {
	Epoch   int64                      `json:"epoch"`
	Shard   int                        `json:"shard,omitempty"` // that of the key
	OK      bool                       `json:"ok"`
	Error   *string                    `json:"error"`
	Cause   string                     `json:"cause"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}
