package api

// ShardSummary is one shard of a graph that is dealt, as an operator sees it.
type ShardSummary struct {
	Shard        int     `json:"shard"`
	Health       string  `json:"health"`
	HealthReason *Reason `json:"health_reason"`
	Paused       bool    `json:"paused"`
	Incarnation  int64   `json:"incarnation"`
	Epoch        int64   `json:"epoch"`
	Keys         int     `json:"keys"`
	// Lag is how many events wait at the sources of its inputs; null where none can tell.
	Lag *int64 `json:"lag"`
}

// ShardResult is what one shard did on a command that others did not carry out.
type ShardResult struct {
	Shard  int    `json:"shard"`
	Done   bool   `json:"done"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}
