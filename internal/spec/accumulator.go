package spec

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

var timeUnits = choice{built: []string{"ms", "s", "us", "ns"}}

var accumulatorFields = []field[Accumulator]{
	{name: "source", read: readSource},
	{name: "schema", read: readSchema},
	{name: "where", read: func(d *decoder, v value, a *Accumulator) { a.Where = d.expr(v) }},
	{name: "emit", read: readEmit},
	{name: "batch", read: readBatch},
	{name: "state", read: readState},
	{name: "window", read: readWindow},
	{name: "time", read: func(d *decoder, v value, a *Accumulator) { a.Time = d.expr(v) }},
	{name: "time_unit", read: func(d *decoder, v value, a *Accumulator) { d.pick(v, timeUnits, &a.TimeUnit) }},
	{name: "timezone", read: readTimezone},
	{name: "key", read: readKey},
	{name: "global", read: func(d *decoder, v value, a *Accumulator) { d.boolean(v, &a.Global) }},
	{name: "passive", read: func(d *decoder, v value, a *Accumulator) { d.boolean(v, &a.Passive) }},
	{name: "default", read: func(d *decoder, v value, a *Accumulator) { a.Default, a.HasDefault = d.free(v) }},
	{name: "strategy", read: readInputStrategy},
	{name: "sync_group", read: readSyncGroup},
	{name: "capacity", read: func(d *decoder, v value, a *Accumulator) { d.count(v, 1, maxCapacity, &a.Capacity) }},
	{name: "capacity_bytes", read: func(d *decoder, v value, a *Accumulator) {
		if n, ok := d.integer(v, 1, maxCapacityBytes); ok {
			a.CapacityBytes = n
		}
	}},
}

// accumulatorKinds are the fields that say what an accumulator is. With none of
// them it passes events through.
var accumulatorKinds = []string{"batch", "state", "window"}

func readAccumulators(d *decoder, v value, g *Graph) {
	d.links.inputs = v
	pairs := d.names(v, "accumulator")
	g.Accumulators = make([]Accumulator, 0, len(pairs))
	for _, p := range pairs {
		a := Accumulator{
			Name: p.key.Value, Pos: d.pos(p.key, p.at),
			Source:   Source{Kind: "websocket", Pos: d.pos(p.key, p.at)},
			Kind:     "passthrough",
			TimeUnit: timeUnits.built[0],
			Capacity: defaultCapacity, CapacityBytes: defaultCapacityBytes,
		}
		d.links.accumulators = append(d.links.accumulators, input{value: p.value})
		got, _ := readObject(d, p.value, "an accumulator", accumulatorFields, &a)
		if kind, ok := d.exclusive(got, "the accumulator", accumulatorKinds); ok {
			a.Kind = kind.key.Value
		}
		g.Accumulators = append(g.Accumulators, a)
	}
	for i := range pairs {
		if late := d.links.accumulators[i].late; late.node != nil {
			a := g.Accumulators[i]
			d.addLateInput(g, &a, late)
		}
	}
	if v.node.Kind == yaml.MappingNode && len(v.node.Content) == 0 {
		d.report(v.anchor(), v.at, CodeEmptyValue, "", "a graph needs at least one accumulator; add one")
	}
}

// readInputStrategy notes where the strategy stands: whether it fits depends on
// the reactor, which may come later.
func readInputStrategy(d *decoder, v value, a *Accumulator) {
	if d.pick(v, strategies, &a.Strategy) {
		d.links.accumulators[len(d.links.accumulators)-1].strategy = v
	}
}

// readSyncGroup notes where the group stands: what it is made of shows when all inputs are known.
func readSyncGroup(d *decoder, v value, a *Accumulator) {
	name, ok := d.text(v, "the name of a group")
	if !ok {
		return
	}
	if !validName.MatchString(name) {
		d.checkName(v.node, v.at, "sync_group")
		return
	}
	a.SyncGroup = name
	d.links.accumulators[len(d.links.accumulators)-1].group = v
}

func readSchema(d *decoder, v value, a *Accumulator) {
	a.SchemaPos = d.pos(v.node, v.at)
	const want = "a JSON Schema, as a mapping or as the name of a file"
	if v.node.Kind != yaml.MappingNode {
		a.SchemaFile, _ = d.text(v, want)
		return
	}
	schema, ok := d.free(v)
	if ok && d.checkSchema(v, schema) {
		a.Schema = schema
	}
}

func readEmit(d *decoder, v value, a *Accumulator) {
	if v.node.Kind != yaml.MappingNode || d.notAnExpression(v.node) != "YAML reads a mapping" {
		a.EmitExpr = d.expr(v)
		return
	}
	a.Emit = d.expressions(v, "")
	if len(v.node.Content) == 0 {
		d.report(v.anchor(), v.at, CodeEmptyValue, "", "emit is empty; name at least one field, or remove it to hand the event over as it is")
	}
}

// expressions reads a mapping from names to expressions, in the order of the
// document. what says what is named; when it is "", any text is a name.
func (d *decoder) expressions(v value, what string) []Field {
	var list []Field
	for _, p := range d.pairs(v, func(string) bool { return false }) {
		if what != "" {
			d.checkName(p.key, p.at, what)
		}
		switch {
		case p.key.Value == "" && what == "":
			d.report(p.key, p.at, CodeEmptyValue, "", "a field needs a name; write one before the colon")
		case p.split:
			d.reportSplit(p)
			list = append(list, Field{Name: p.key.Value})
		default:
			list = append(list, Field{Name: p.key.Value, Expr: d.expr(p.value)})
		}
	}
	return list
}

func readTimezone(d *decoder, v value, a *Accumulator) {
	const want = "the name of a time zone such as Europe/Zurich"
	name, ok := d.text(v, want)
	if !ok {
		return
	}
	// The zone database comes with the system or the binary. Local would make the
	// meaning of a declaration depend on the machine.
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		d.report(v.node, v.at, CodeBadTimezone, "", "expected %s, found %s", want, document.Describe(v.node))
		return
	}
	a.Timezone = name
}

var flushes = choice{built: []string{"epoch"}}

var batchFields = []field[Batch]{
	{name: "size", read: func(d *decoder, v value, b *Batch) { d.count(v, 1, maxCapacity, &b.Size) }},
	{name: "interval", read: func(d *decoder, v value, b *Batch) { d.duration(v, 1, &b.Interval) }},
	{name: "flush", read: func(d *decoder, v value, b *Batch) { d.pick(v, flushes, &b.Flush) }},
}

func readBatch(d *decoder, v value, a *Accumulator) {
	got, ok := readObject(d, v, "batch", batchFields, &a.Batch)
	if ok && len(got) == 0 {
		d.report(v.anchor(), v.at, CodeNoFlushRule, "", "the batch would never be handed over; give size, interval or flush: epoch")
	}
}

var stateFields = []field[State]{
	{name: "keep", need: true, read: func(d *decoder, v value, s *State) { d.count(v, 1, maxCapacity, &s.Keep) }},
}

func readState(d *decoder, v value, a *Accumulator) {
	readObject(d, v, "state", stateFields, &a.State)
}
