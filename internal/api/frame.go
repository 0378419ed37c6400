package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Subprotocol is the one that WebSocket connections speak; a client must offer it.
const Subprotocol = "graphd.v1+json"

// Frame is what watchers get: one of the WebSocket topics.
type Frame struct {
	Type        string          `json:"type"` // output, firing, health, state, summary, gap
	Graph       string          `json:"graph"`
	Shard       int             `json:"shard,omitempty"`
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
	// LeftOut is how many epochs the sample that a watcher has asked for has left out before this one.
	LeftOut int64 `json:"left_out,omitempty"`
	// A frame of the type summary has one of these: the graph's summary; or among all graphs the row of one, that one
	// is not there any more, or what there was to tell of all together. It has no place in a stream.
	Summary *GraphSummary `json:"summary,omitempty"`
	Row     *GraphRow     `json:"row,omitempty"`
	Removed bool          `json:"removed,omitempty"`
	List    *ListTold     `json:"list,omitempty"`
	// LookedAt is when the summary was found, by the daemon's clock: between two its counters have grown by what was
	// done in that time.
	LookedAt *time.Time `json:"looked_at,omitempty"`
}

// Place is where a subscription goes on behind the frame, in the stream of one graph, or of the shard that it is of.
func (f *Frame) Place() string { return Places{f.Shard: f.At()}.String() }

// At is [Frame.Place] in the frame's own stream.
func (f *Frame) At() Place { return Place{f.Incarnation, max(f.Seq, f.To)} }

// Place is where a watcher is in the stream of a shard: at the last frame that it has seen.
type Place struct{ Incarnation, Seq int64 }

// Places are where a watcher is in the streams of a graph's shards (M53). As a text they are "incarnation:seq" for the
// first shard, which is the only one of a graph that is not dealt, and "shard/incarnation:seq" for others, with a comma
// between.
type Places map[int]Place

// ParsePlaces reads places; ok is false where the text is none.
func ParsePlaces(text string) (p Places, ok bool) {
	p = Places{}
	for one := range strings.SplitSeq(text, ",") {
		shard, at, dealt := strings.Cut(one, "/")
		if !dealt {
			shard, at = "0", one
		}
		a, b, both := strings.Cut(at, ":")
		n, err := strconv.ParseUint(shard, 10, 16)
		incarnation, err1 := strconv.ParseInt(a, 10, 64)
		seq, err2 := strconv.ParseInt(b, 10, 64)
		_, twice := p[int(n)]
		// No frame has the greatest number there is: what comes after it would be negative.
		if !both || twice || errors.Join(err, err1, err2) != nil || incarnation < 0 || seq < 0 || seq == math.MaxInt64 {
			return nil, false
		}
		p[int(n)] = Place{incarnation, seq}
	}
	return p, true
}

// String is what [ParsePlaces] reads.
func (p Places) String() string {
	var text []byte
	for _, n := range slices.Sorted(maps.Keys(p)) {
		if len(text) > 0 {
			text = append(text, ',')
		}
		if n > 0 {
			text = append(strconv.AppendInt(text, int64(n), 10), '/')
		}
		text = append(strconv.AppendInt(text, p[n].Incarnation, 10), ':')
		text = strconv.AppendInt(text, p[n].Seq, 10)
	}
	return string(text)
}

// Wanted is what a watcher asks for.
type Wanted struct {
	Topics []string
	Since  string // "incarnation:seq" of the last frame that was seen of a graph, see [Places]; "" is from now on
	Sample int    // of how many epochs a second it is told, of those of one graph; 0 is all
}

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
