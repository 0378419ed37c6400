// Package keep is what a declaration says of what is kept of its graph, and for how long: begin with [Durability].
package keep

import (
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

const (
	defaultFirings     = 1000
	defaultLetters     = 7 * 24 * time.Hour
	defaultLettersMax  = 100_000
	defaultLettersRoom = 256 << 20
)

// The bounds of what is kept. They are far above what is sensible, and low enough that a slip
// of the finger is caught.
const (
	maxFirings = 1_000_000
	maxCount   = 1 << 31
	maxRoom    = 1 << 40
)

// Durability says what survives a crash.
type Durability struct {
	Mode        string        // "none", "checkpoint" (default) or "journal"
	Interval    time.Duration // default 1s
	EveryEpochs int           // 0: no such rule
	// OnFailure is "advance" (default) or "halt": what a failed epoch does to the graph.
	OnFailure string
}

// History bounds the ring of firing records.
type History struct {
	Keep int // default 1,000
}

// DeadLetters bounds the dead-letter list.
type DeadLetters struct {
	Keep     time.Duration // default 7 days
	Max      int           // default 100,000
	MaxBytes int64         // default 256 MiB
}

// Defaults are what holds where nothing is said.
func Defaults() (Durability, History, DeadLetters) {
	return Durability{Mode: modes.Default(), Interval: time.Second, OnFailure: onFailures.Default()},
		History{Keep: defaultFirings},
		DeadLetters{Keep: defaultLetters, Max: defaultLettersMax, MaxBytes: defaultLettersRoom}
}

var (
	modes      = decode.Words("checkpoint", "none", "journal")
	onFailures = decode.Words("advance", "halt")
)

var durabilityFields = []decode.Field[Durability]{
	{Name: "mode", Alone: true, Read: func(d *decode.Decoder, v decode.Value, t *Durability) {
		d.Pick(v, modes, &t.Mode)
	}},
	{Name: "interval", Read: func(d *decode.Decoder, v decode.Value, t *Durability) { d.Duration(v, 1, &t.Interval) }},
	{Name: "every_epochs", Read: func(d *decode.Decoder, v decode.Value, t *Durability) {
		d.Count(v, 1, maxCount, &t.EveryEpochs)
	}},
	{Name: "on_failure", Read: func(d *decode.Decoder, v decode.Value, t *Durability) {
		d.Pick(v, onFailures, &t.OnFailure)
	}},
}

var historyFields = []decode.Field[History]{
	{Name: "keep", Alone: true, Read: func(d *decode.Decoder, v decode.Value, t *History) {
		d.Count(v, 0, maxFirings, &t.Keep)
	}},
}

var deadLettersFields = []decode.Field[DeadLetters]{
	{Name: "keep", Alone: true, Read: func(d *decode.Decoder, v decode.Value, t *DeadLetters) {
		d.Duration(v, 1, &t.Keep)
	}},
	{Name: "max", Read: func(d *decode.Decoder, v decode.Value, t *DeadLetters) { d.Count(v, 1, maxCount, &t.Max) }},
	{Name: "max_bytes", Read: func(d *decode.Decoder, v decode.Value, t *DeadLetters) {
		if n, ok := d.Integer(v, 1, maxRoom); ok {
			t.MaxBytes = n
		}
	}},
}

// Read reads what survives a crash.
func (k *Durability) Read(d *decode.Decoder, v decode.Value) {
	decode.Object(d, v, "durability", durabilityFields, k)
}

// Read reads how many firing records are kept.
func (k *History) Read(d *decode.Decoder, v decode.Value) {
	decode.Object(d, v, "history", historyFields, k)
}

// Read reads how many dead letters are kept.
func (k *DeadLetters) Read(d *decode.Decoder, v decode.Value) {
	decode.Object(d, v, "dead_letters", deadLettersFields, k)
}

// Mappings are the mappings of the declaration that are read here.
func Mappings() []decode.Mapping {
	return []decode.Mapping{
		decode.MappingOf("durability", durabilityFields, decode.Choices{"mode": modes, "on_failure": onFailures}),
		decode.MappingOf("history", historyFields, nil),
		decode.MappingOf("dead_letters", deadLettersFields, nil),
	}
}

// Canonical writes what is kept.
func Canonical(t *meaning.Tree, durability Durability, history History, letters DeadLetters) {
	b := t.Branch("durability")
	b.Text("mode", durability.Mode)
	b.Span("interval", durability.Interval)
	b.Number("every_epochs", int64(durability.EveryEpochs))
	b.Text("on_failure", durability.OnFailure)
	t.Branch("history").Number("keep", int64(history.Keep))
	b = t.Branch("dead_letters")
	b.Span("keep", letters.Keep)
	b.Number("max", int64(letters.Max))
	b.Number("max_bytes", letters.MaxBytes)
}
