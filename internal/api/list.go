package api

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Query pages through a list, newest first.
type Query struct {
	Limit  int    // at most this many; 0 means 50, more than 1,000 means 1,000
	Before string // the previous page's cursor; "" starts at the newest
	Key    string // only this key, where the list has keys; "" means all
}

// Page is a list, newest first.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// DeadLetter is what could not be used, with why and from where.
type DeadLetter struct {
	ID          string    `json:"id"` // unique in the graph, sorts by time
	At          time.Time `json:"at"`
	Accumulator string    `json:"accumulator"`
	// Stage is where it failed: "decode", "size", "schema", "time", "where", "emit", "key", "fold",
	// "generate", "guard", "node", "evict" or "sink".
	Stage string `json:"stage"`
	Code  string `json:"code"`
	// Reason is one line for people.
	Reason string `json:"reason"`
	// Epoch is the failed epoch, 0 when it never came to one.
	Epoch int64  `json:"epoch,omitempty"`
	Key   string `json:"key,omitempty"`
	// Position is the event's position, or "first..last" of a folded boundary; "" for pushed events.
	Position string `json:"position,omitempty"`
	// Events is how many events the letter accounts for (M42).
	Events int64 `json:"events"`
	// Folded says that the payload is a boundary's value, and not an event.
	Folded bool `json:"folded,omitempty"`
	// ReplayOf links a letter to the letter it was replayed from.
	ReplayOf string `json:"replay_of,omitempty"`
	// Payload is JSON where it is JSON, and a string otherwise.
	Payload json.RawMessage `json:"payload"`
	// PayloadEncoding is "json", "text" (Payload is a string) or "base64" (a string of bytes that are not UTF-8).
	PayloadEncoding string `json:"payload_encoding"`
}

// Payload is raw as a dead letter shows it, and how: JSON as it is, text as a string, and
// other bytes as a string in base64.
func Payload(raw []byte) (shown json.RawMessage, encoding string) {
	switch {
	case utf8.Valid(raw) && json.Valid(raw):
		return raw, "json"
	case utf8.Valid(raw):
		return text(string(raw)), "text"
	}
	shown, _ = json.Marshal(raw) // bytes always encode
	return shown, "base64"
}

// text is s as JSON, with <, > and & as they are.
func text(s string) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes, and a buffer takes everything
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
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
	// "update_refused", "state_reset" or "rewound".
	Kind    string        `json:"kind"`
	Reason  string        `json:"reason"`
	Stack   string        `json:"stack,omitempty"`
	Attempt int           `json:"attempt"`
	Delay   time.Duration `json:"delay_ns"`
	// Outcome is "restarted", "failed", "pending".
	Outcome     string `json:"outcome"`
	Incarnation int64  `json:"incarnation"`
}
