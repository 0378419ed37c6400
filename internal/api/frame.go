package api

import (
	"context"
	"encoding/json"
	"fmt"
)

// Subprotocol is the one that WebSocket connections speak; a client must offer it.
const Subprotocol = "graphd.v1+json"

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
	Paused      *bool           `json:"paused,omitempty"` // health
	State       *State          `json:"state,omitempty"`
	From        int64           `json:"from,omitempty"` // gap
	To          int64           `json:"to,omitempty"`   // gap
}

// Place is where a subscription goes on behind the frame, in the stream of one graph.
func (f *Frame) Place() string { return fmt.Sprintf("%d:%d", f.Incarnation, max(f.Seq, f.To)) }

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
