package spec

import (
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/limits"
)

// Defaults of the whole graph.
const (
	defaultEpochTimeout    = 30 * time.Second
	defaultWarmTimeout     = 30 * time.Second
	defaultCapacity        = 1024
	defaultCapacityBytes   = 8 << 20
	defaultMaxKeys         = 10_000_000
	defaultMaxWaiting      = 1024
	defaultMaxWaitingBytes = 256 << 20
	defaultHistory         = 1000
	defaultDeadLetterKeep  = 7 * 24 * time.Hour
	defaultDeadLetterMax   = 100_000
	defaultDeadLetterBytes = 256 << 20
)

// The bounds of what is kept in memory per graph. They are far above what is
// sensible, and low enough that a slip of the finger is caught.
const (
	maxCapacity      = 1 << 24
	maxCapacityBytes = 1 << 40
	maxHistory       = 1_000_000
	maxKeys          = 1 << 28
	maxShards        = 1024
	maxCount         = 1 << 31
)

func defaultGraph(file string) *Graph {
	return &Graph{
		File: file,
		Reactor: Reactor{
			Pos:           Pos{Line: 1, Column: 1, Path: "reactor"},
			When:          criteria.Default(),
			Strategy:      strategies.Default(),
			WarmTimeout:   defaultWarmTimeout,
			OnWarmTimeout: onWarmTimeouts.Default(),
			EpochTimeout:  defaultEpochTimeout,
			MaxKeys:       defaultMaxKeys,
			Shards:        1,
			OnEvict:       onEvicts.Default(),
			MaxWaiting:    defaultMaxWaiting, MaxWaitingBytes: defaultMaxWaitingBytes,
			Restart: Restart{
				Attempts: 5, Base: time.Second, Max: time.Minute, Reset: time.Minute,
				OnExhausted: onExhausteds.Default(),
			},
		},
		Durability: Durability{Mode: "checkpoint", Interval: time.Second, OnFailure: onFailures.Default()},
		History:    History{Keep: defaultHistory},
		DeadLetters: DeadLetters{
			Keep: defaultDeadLetterKeep, Max: defaultDeadLetterMax, MaxBytes: defaultDeadLetterBytes,
		},
	}
}

var graphFields = []decode.Field[draft]{
	{Name: "graph", Also: []string{"name", "id"}, Need: true, Read: readGraphName},
	{Name: "description", Read: readDescription},
	{Name: "vars", Read: readVars},
	{Name: "accumulators", Also: []string{"inputs", "sources", "streams"}, Need: true, Read: readAccumulators},
	{Name: "reactor", Read: readReactor},
	{Name: "clock", Read: readClock},
	{Name: "idle", Read: readIdle},
	{Name: "lanes"},
	{Name: "loops"},
	{Name: "nodes", Read: readNodes},
	{Name: "outputs", Also: []string{"sinks"}, Read: readOutputs},
	{Name: "durability", Read: readDurability},
	{Name: "history", Read: readHistory},
	{Name: "dead_letters", Read: readDeadLetters},
	{Name: "limits", Read: readLimits},
}

// read decodes the whole document and checks what crosses its parts.
func (d *draft) read(v value) {
	decode.Object(d.Decoder, v, "the declaration", graphFields, d)
	d.check()
}

func readGraphName(d *decoder, v value, g *draft) {
	if name, ok := d.Text(v, "the graph's name"); ok {
		g.Name = name
		if !decode.ValidName(name) {
			d.CheckName(v.Here(), v.Text(), "graph")
		}
	}
}

func readDescription(d *decoder, v value, g *draft) {
	if text, ok := d.AnyText(v, "a text"); ok {
		g.Description = text
	}
}

func readVars(d *decoder, v value, g *draft) {
	for _, p := range d.Names(v, "var") {
		if !d.Unsplit(p) {
			g.VarsUnread = true
		} else if x, ok := d.Free(p.Value); ok {
			g.Vars = append(g.Vars, Var{Name: p.Key(), Value: x, Pos: p.Name().Pos()})
		} else {
			g.VarsUnread = true
		}
	}
}

var durabilityModes = decode.Words("checkpoint", "none", "journal")

var onFailures = decode.Words("advance", "halt")

var durabilityFields = []decode.Field[Durability]{
	{Name: "mode", Alone: true, Read: func(d *decoder, v value, t *Durability) { d.Pick(v, durabilityModes, &t.Mode) }},
	{Name: "interval", Read: func(d *decoder, v value, t *Durability) { d.Duration(v, 1, &t.Interval) }},
	{Name: "every_epochs", Read: func(d *decoder, v value, t *Durability) { d.Count(v, 1, maxCount, &t.EveryEpochs) }},
	{Name: "on_failure", Read: func(d *decoder, v value, t *Durability) { d.Pick(v, onFailures, &t.OnFailure) }},
}

func readDurability(d *decoder, v value, g *draft) {
	decode.Object(d, v, "durability", durabilityFields, &g.Durability)
}

var historyFields = []decode.Field[History]{
	{Name: "keep", Alone: true, Read: func(d *decoder, v value, t *History) { d.Count(v, 0, maxHistory, &t.Keep) }},
}

func readHistory(d *decoder, v value, g *draft) {
	decode.Object(d, v, "history", historyFields, &g.History)
}

var deadLettersFields = []decode.Field[DeadLetters]{
	{Name: "keep", Alone: true, Read: func(d *decoder, v value, t *DeadLetters) { d.Duration(v, 1, &t.Keep) }},
	{Name: "max", Read: func(d *decoder, v value, t *DeadLetters) { d.Count(v, 1, maxCount, &t.Max) }},
	{Name: "max_bytes", Read: func(d *decoder, v value, t *DeadLetters) {
		if n, ok := d.Integer(v, 1, maxCapacityBytes); ok {
			t.MaxBytes = n
		}
	}},
}

func readDeadLetters(d *decoder, v value, g *draft) {
	decode.Object(d, v, "dead_letters", deadLettersFields, &g.DeadLetters)
}

func readLimits(d *decoder, v value, g *draft) {
	decode.Object(d, v, "limits", limits.Fields(), &g.Limits)
}
