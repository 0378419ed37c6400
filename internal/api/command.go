package api

import "encoding/json"

// FireRequest is the body of POST …/fire and of the ForceFire and FireWith frames.
type FireRequest struct {
	Mode    string                     `json:"mode"` // "force" or "with"
	Cache   map[string]json.RawMessage `json:"cache,omitempty"`
	Replace *bool                      `json:"replace,omitempty"` // default true
	Key     json.RawMessage            `json:"key,omitempty"`
	// OnlyChanged keeps a force from putting out values that have not ticked.
	OnlyChanged bool `json:"only_changed,omitempty"`
}

// StepRequest is the body of POST …/step and of the Step frame.
type StepRequest struct {
	N *int `json:"n"` // 1 when it is not given
}

// PieceRequest is the body of POST …/restart and …/skip-lost: which part of the graph is meant.
type PieceRequest struct {
	Accumulator *string `json:"accumulator"` // null is the graph as a whole
}

// PartRequest is the body of POST …/stop and …/start: the one input or output that is meant.
type PartRequest struct {
	Accumulator *string `json:"accumulator"`
	Output      *string `json:"output"`
}

// Part names one input or one output of a graph; the other name is "".
type Part struct{ Accumulator, Output string }

// ResetRequest is the body of POST …/reset.
type ResetRequest struct {
	Confirm string `json:"confirm"` // the graph's name
}

// RewindRequest is the body of POST …/rewind.
type RewindRequest struct {
	Position string `json:"position"`
	Confirm  string `json:"confirm"` // the graph's name
}

// Checkpointed answers a checkpoint command.
type Checkpointed struct {
	Epoch int64 `json:"checkpoint_epoch"`
}
