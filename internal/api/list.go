package api

import "time"

// Query pages through a list, newest first.
type Query struct {
	Limit  int    // at most this many; 0 means 50, more than 1,000 means 1,000
	Before string // the previous page's cursor; "" starts at the newest
	Key    string // only this key, where the list has keys; "" means all
	Shard  *int   // only this shard, where the list has shards; nil means all
}

// Page is a list, newest first.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// RecoveryEvent is one restart or other act of the supervisor.
type RecoveryEvent struct {
	ID    int64     `json:"id"`
	At    time.Time `json:"at"`
	Graph string    `json:"graph"`
	Shard int       `json:"shard,omitempty"`
	// Component is "reactor", "graph" or "accumulator/NAME".
	Component string `json:"component"`
	// Kind is "restart", "gave_up", "operator_restart", "quarantined", "unclean_start",
	// "state_dropped", "source_data_lost", "gap_skipped", "updated", "update_failed",
	// "update_refused", "state_reset", "rewound", "lease_lost" or "store_away".
	Kind    string        `json:"kind"`
	Reason  string        `json:"reason"`
	Stack   string        `json:"stack,omitempty"`
	Attempt int           `json:"attempt"`
	Delay   time.Duration `json:"delay_ns"`
	// Outcome is "restarted", "failed", "pending".
	Outcome     string `json:"outcome"`
	Incarnation int64  `json:"incarnation"`
}
