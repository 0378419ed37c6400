package api

import (
	"slices"
	"time"
)

// ShardSummary is one shard of a graph that is dealt, as an operator sees it.
type ShardSummary struct {
	Shard        int     `json:"shard"`
	Health       string  `json:"health"`
	HealthReason *Reason `json:"health_reason"`
	Paused       bool    `json:"paused"`
	Incarnation  int64   `json:"incarnation"`
	Epoch        int64   `json:"epoch"`
	Keys         int     `json:"keys"`
	// Queued are the events that its inputs hold, Waiting the boundaries of keys among them that wait for their
	// counterpart, a guard or a timer.
	Queued  int64 `json:"queued"`
	Waiting int   `json:"waiting"`
	// Lag is how many events wait at the sources of its inputs; null where none can tell.
	Lag *int64 `json:"lag"`
	// DeadLettered are the events and values that became dead letters, in all.
	DeadLettered int64      `json:"dead_lettered"`
	LastFiredAt  *time.Time `json:"last_fired_at"`
	EngineTime   *time.Time `json:"engine_time"` // null before it has begun
}

// Severity orders healths, the worst last: of several shards the graph has the greatest.
func Severity(health string) int {
	return slices.Index([]string{
		"live", "degraded", "stopped", "standby", "warming", "starting", "halted", "failed",
	}, health)
}

// ShardResult is what one shard did on a command that others did not carry out.
type ShardResult struct {
	Shard  int    `json:"shard"`
	Done   bool   `json:"done"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}
