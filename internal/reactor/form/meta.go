package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNewer says that a newer release has written a state.
var ErrNewer = errors.New("run a newer graphd")

// Stopped says who has stopped one input or output, and since when.
type Stopped struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (s *Stopped) String() string {
	return fmt.Sprintf("stopped by %s at %s", s.By, s.At.UTC().Format(time.RFC3339))
}

// Meta is the reactor's own record in the head. JSON, so that a person can read it.
type Meta struct {
	Format   int    `json:"format"`
	Shards   int    `json:"shards,omitempty"`        // that the keys are dealt to; 0 is one
	DealtBy  string `json:"dealt_by,omitempty"`      // the function that they are dealt by; "" is graphd's own
	DealtOn  string `json:"dealt_by_keys,omitempty"` // names what events have as their keys; "" where it is not known
	Plan     string `json:"plan"`
	Epoch    int64  `json:"epoch"`
	Stamp    uint64 `json:"stamp"`
	Admitted uint64 `json:"admitted"`
	Frames   int64  `json:"frames"`
	// Unbroken is the incarnation since which each ended with a checkpoint of everything, so that none of its frames
	// was undone; 0 where that is not known. DealtFrames is Frames as of when the keys were dealt anew.
	Unbroken    int64     `json:"unbroken,omitempty"`
	DealtFrames int64     `json:"dealt_frames,omitempty"`
	Paused      bool      `json:"paused"`
	PausedBy    string    `json:"paused_by,omitempty"`
	PausedAt    time.Time `json:"paused_at,omitzero"`
	LastStart   time.Time `json:"last_start,omitzero"`
	// What an operator has stopped, by name; a checkpoint without it has nothing stopped.
	StoppedInputs  map[string]*Stopped `json:"stopped_inputs,omitempty"`
	StoppedOutputs map[string]*Stopped `json:"stopped_outputs,omitempty"`
	LastFired      time.Time           `json:"last_fired,omitzero"`
	Now            time.Time           `json:"now,omitzero"`
	Clock          string              `json:"clock,omitempty"` // Now's; without it the arrival clock
	Open           int64               `json:"open,omitempty"`  // the instant that is; see reactor.Core.OpenInstant
	Waits          bool                `json:"waits,omitempty"` // the guard was asked, and waits
	First          int64               `json:"first,omitempty"` // of the timers, in nanoseconds since 1970
	Last           int64               `json:"last,omitempty"`
	Ticked         int64               `json:"ticked,omitempty"`
	Pace           *Pace               `json:"pace,omitempty"`   // of the lanes that have a cadence
	Waited         map[string]int      `json:"waited,omitempty"` // by node, epochs in a row that have left it out
	Books          map[string]Books    `json:"books"`
	Emitted        map[string]int64    `json:"emitted"`
	Filtered       map[string]int64    `json:"filtered,omitempty"`
	Refused        map[string]int64    `json:"refused,omitempty"` // by output, values that became dead letters
	Evicted        int64               `json:"evicted,omitempty"`
	Overflowed     int64               `json:"overflowed,omitempty"`
	Letters        int64               `json:"letters,omitempty"` // the number of the last dead letter
	Journal        int64               `json:"journal,omitempty"` // the last entry this state covers
	Outbox         map[string]int64    `json:"outbox,omitempty"`  // by output, the last number given out
	Halted         string              `json:"halted,omitempty"`  // the key whose epoch the graph has halted on
	// Since is the place of what raised the flag of an input of the graph as a whole, by name, where one is up; earlier
	// releases do not say.
	Since map[string]uint64 `json:"since,omitempty"`
	// Joins are the identities of the joins that take inputs, by the name of the input.
	Joins map[string]string `json:"joins,omitempty"`
	// Caught are the sides of joins that did not trail: name, space, identity. Those of earlier releases trail.
	Caught []string `json:"caught,omitempty"`
	// Keys are the identities of what gives the boundaries of inputs their keys, by the name of the input; none where
	// the graph has no keys, and in what an earlier release has written.
	Keys map[string]string `json:"keyed,omitempty"`
	// Defaults are fingerprints of what stood for inputs before something had arrived, by name; those of
	// earlier releases are not known.
	Defaults map[string]uint64 `json:"defaults,omitempty"`
}

// Pace is where the cadences of a graph's lanes stand.
type Pace struct {
	// Served are by lane the last instants, in nanoseconds since 1970, that a tick was for or was dropped up to.
	Served map[string]int64 `json:"served,omitempty"`
	// Yields says that the last epoch was a tick which came late: what else waits comes before the next one.
	Yields bool `json:"yields,omitempty"`
}

// Format is the greatest version of what is written that is read; a greater one is refused. Since 2
// what waits in a queue is written with the time since when it does.
// Since 3 a record says to how many shards the keys are dealt. It is written where that is more than one: an
// older release would take a shard for the whole. Since 4 it says by which function they are, where that is not
// graphd's own: an older release would look for a key where it is not.
const (
	Format    = 4
	ownDeal   = 3
	unsharded = 2
)

// Books are what a reactor has counted of one input.
type Books struct {
	Filtered     int64 `json:"filtered,omitempty"`
	Conflated    int64 `json:"conflated,omitempty"`
	DeadLettered int64 `json:"dead_lettered,omitempty"`
	Consumed     int64 `json:"consumed,omitempty"`
	// Reasons splits the dead-lettered events by code.
	Reasons map[string]int64 `json:"reasons,omitempty"`
}

// Dealt is the number of shards that the state was dealt for.
func (m *Meta) Dealt() int { return max(m.Shards, 1) }

// Append appends the record in the oldest format that has room for it.
func (m *Meta) Append(dst []byte) []byte {
	switch m.Format = Format; {
	case m.Dealt() == 1:
		m.Format, m.Shards, m.DealtBy, m.DealtOn = unsharded, 0, "", ""
	case m.DealtBy == "":
		m.Format = ownDeal
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("reactor: a struct of plain fields cannot be encoded: %v", err))
	}
	return append(dst, data...)
}

// ReadMeta reads a head's record; ok is false where nothing was ever committed.
func ReadMeta(data []byte) (m Meta, ok bool, err error) {
	if len(data) == 0 {
		return m, false, nil
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, false, fmt.Errorf("head: %w", err)
	}
	if m.Format > Format {
		return m, false, fmt.Errorf("it has format %d and this graphd reads up to %d; %w", m.Format, Format, ErrNewer)
	}
	return m, true, nil
}
