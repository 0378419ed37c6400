package spec

import (
	"time"

	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/keep"
	"github.com/graphd/graphd/internal/spec/lanes"
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
)

// The bounds of what is kept in memory per graph. They are far above what is
// sensible, and low enough that a slip of the finger is caught.
const (
	maxCapacity      = 1 << 24
	maxCapacityBytes = 1 << 40
	maxKeys          = 1 << 28
	maxShards        = 1024
	maxCount         = 1 << 31
)

func defaultGraph(file string) *Graph {
	g := &Graph{
		File: file,
		Reactor: &Reactor{
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
	}
	g.Durability, g.History, g.DeadLetters = keep.Defaults()
	return g
}

var graphFields = []decode.Field[draft]{
	{Name: "graph", Also: []string{"name", "id"}, Need: true, Read: readGraphName},
	{Name: "description", Read: readDescription},
	{Name: "include", Also: []string{"includes", "import", "imports"}, Read: readInclude},
	{Name: "vars", Read: readVars},
	{Name: "accumulators", Also: []string{"inputs", "sources", "streams"}, Need: true, Read: readAccumulators},
	{Name: "reactor", Read: readReactor},
	{Name: "clock", Read: readClock},
	{Name: "idle", Read: readIdle},
	{Name: "lanes", Read: func(d *decoder, v value, g *draft) { g.Lanes = lanes.Read(d, v) }},
	{Name: "loops", Read: func(d *decoder, v value, g *draft) { g.Loops = cycles.ReadLoops(d, v) }},
	{Name: "nodes", Read: readNodes},
	{Name: "outputs", Also: []string{"sinks"}, Read: readOutputs},
	{Name: "durability", Read: func(d *decoder, v value, g *draft) { g.Durability.Read(d, v) }},
	{Name: "history", Read: func(d *decoder, v value, g *draft) { g.History.Read(d, v) }},
	{Name: "dead_letters", Read: func(d *decoder, v value, g *draft) { g.DeadLetters.Read(d, v) }},
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

// readInclude refuses what should have been followed before the declaration comes here: it is one text then.
func readInclude(d *decoder, v value, _ *draft) {
	d.Report(v.Name(), decode.CodeBadInclude, "", "a declaration that is sent holds all that it is made of; send it "+
		"with graphd apply, which puts in what it includes, or put the files into the folder of --graphs")
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

func readLimits(d *decoder, v value, g *draft) {
	decode.Object(d, v, "limits", limits.Fields(), &g.Limits)
}
