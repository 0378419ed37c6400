package spec

import "time"

// Defaults of the whole graph.
const (
	defaultEpochTimeout    = 30 * time.Second
	defaultWarmTimeout     = 30 * time.Second
	defaultCapacity        = 1024
	defaultCapacityBytes   = 8 << 20
	defaultMaxKeys         = 10_000_000
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
	maxCount         = 1 << 31
)

func defaultGraph(file string) *Graph {
	return &Graph{
		File: file,
		Reactor: Reactor{
			Pos:           Pos{Line: 1, Column: 1, Path: "reactor"},
			When:          criteria.built[0],
			Strategy:      strategies.built[0],
			WarmTimeout:   defaultWarmTimeout,
			OnWarmTimeout: onWarmTimeouts.built[0],
			EpochTimeout:  defaultEpochTimeout,
			MaxKeys:       defaultMaxKeys,
			OnEvict:       onEvicts.built[0],
			Restart: Restart{
				Attempts: 5, Base: time.Second, Max: time.Minute, Reset: time.Minute,
				OnExhausted: onExhausteds.built[0],
			},
		},
		Durability:  Durability{Mode: "checkpoint", Interval: time.Second, OnFailure: onFailures.built[0]},
		History:     History{Keep: defaultHistory},
		DeadLetters: DeadLetters{Keep: defaultDeadLetterKeep, Max: defaultDeadLetterMax, MaxBytes: defaultDeadLetterBytes},
	}
}

var graphFields = []field[Graph]{
	{name: "graph", need: true, read: readGraphName},
	{name: "description", read: readDescription},
	{name: "vars", read: readVars},
	{name: "accumulators", need: true, read: readAccumulators},
	{name: "reactor", read: readReactor},
	{name: "lanes"},
	{name: "loops"},
	{name: "nodes", read: readNodes},
	{name: "outputs", read: readOutputs},
	{name: "durability", read: readDurability},
	{name: "history", read: readHistory},
	{name: "dead_letters", read: readDeadLetters},
}

// readGraph decodes the whole document and checks what crosses its parts.
func (d *decoder) readGraph(v value, g *Graph) {
	readObject(d, v, "the declaration", graphFields, g)
	d.check(g)
}

func readGraphName(d *decoder, v value, g *Graph) {
	name, ok := d.text(v, "the graph's name")
	if !ok {
		return
	}
	g.Name = name
	if !validName.MatchString(name) {
		d.checkName(v.node, v.at, "graph")
	}
}

func readDescription(d *decoder, v value, g *Graph) {
	if s, ok := d.scalar(v, "a text", true); ok {
		g.Description = s.text
	}
}

func readVars(d *decoder, v value, g *Graph) {
	for _, p := range d.names(v, "var") {
		if p.split {
			d.reportSplit(p)
			continue
		}
		if x, ok := d.free(p.value); ok {
			g.Vars = append(g.Vars, Var{Name: p.key.Value, Value: x, Pos: d.pos(p.key, p.at)})
		}
	}
}

var durabilityModes = choice{built: []string{"checkpoint", "none", "journal"}}

var onFailures = choice{built: []string{"advance", "halt"}}

var durabilityFields = []field[Durability]{
	{name: "mode", read: func(d *decoder, v value, t *Durability) { d.pick(v, durabilityModes, &t.Mode) }},
	{name: "interval", read: func(d *decoder, v value, t *Durability) { d.duration(v, 1, &t.Interval) }},
	{name: "every_epochs", read: func(d *decoder, v value, t *Durability) { d.count(v, 1, maxCount, &t.EveryEpochs) }},
	{name: "on_failure", read: func(d *decoder, v value, t *Durability) { d.pick(v, onFailures, &t.OnFailure) }},
}

func readDurability(d *decoder, v value, g *Graph) {
	readObject(d, v, "durability", durabilityFields, &g.Durability)
}

var historyFields = []field[History]{
	{name: "keep", read: func(d *decoder, v value, t *History) { d.count(v, 0, maxHistory, &t.Keep) }},
}

func readHistory(d *decoder, v value, g *Graph) {
	readObject(d, v, "history", historyFields, &g.History)
}

var deadLettersFields = []field[DeadLetters]{
	{name: "keep", read: func(d *decoder, v value, t *DeadLetters) { d.duration(v, 1, &t.Keep) }},
	{name: "max", read: func(d *decoder, v value, t *DeadLetters) { d.count(v, 1, maxCount, &t.Max) }},
	{name: "max_bytes", read: func(d *decoder, v value, t *DeadLetters) {
		if n, ok := d.integer(v, 1, maxCapacityBytes); ok {
			t.MaxBytes = n
		}
	}},
}

func readDeadLetters(d *decoder, v value, g *Graph) {
	readObject(d, v, "dead_letters", deadLettersFields, &g.DeadLetters)
}
