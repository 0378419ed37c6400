package api

import (
	"encoding/json"
	"time"
)

// KeyQuery pages through the keys of a graph.
type KeyQuery struct {
	// Search is a part of the keys as they are written, upper and lower case being the same; "" means all keys.
	Search string `json:"search,omitempty"`
	// Sort is "recent", for which "" stands, "key" or "waiting".
	Sort   string `json:"sort,omitempty"`
	Limit  int    `json:"limit,omitempty"`  // at most this many; 0 means 50, more than 1,000 means 1,000
	Before string `json:"before,omitempty"` // the previous page's cursor; "" starts at the first
}

// KeyRow is a key in a list.
type KeyRow struct {
	Key   json.RawMessage `json:"key"`
	Shard int             `json:"shard,omitempty"`
	// LastArrivalAt is when something last came for it, by the clock of the graph.
	LastArrivalAt time.Time `json:"last_arrival_at"`
	// Waiting are its boundaries that no epoch has taken yet.
	Waiting int `json:"waiting"`
}

// KeyPage is a part of the keys that a graph has at this time.
type KeyPage struct {
	Items []KeyRow `json:"items"`
	Next  string   `json:"next,omitempty"`
	// Keys are all that were looked at, Fitting those of them that were searched for.
	Keys    int `json:"keys"`
	Fitting int `json:"fitting"`
	// Unknown are the shards whose keys are not known, for they do not run or have not answered.
	Unknown []int `json:"unknown,omitempty"`
}
