package spec

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/trait"
)

var timeUnits = decode.Words("ms", "s", "us", "ns")

var accumulatorFields = []decode.Field[inputDraft]{
	{Name: "source", Read: readSource},
	{Name: "from", Read: func(d *decoder, v value, a *inputDraft) {
		a.From, _ = d.Text(v, "the name of a node")
		a.FromPos = v.Here().Pos()
	}},
	{Name: "schema", Read: readSchema},
	{Name: "where", Also: []string{"filter"}, Read: func(d *decoder, v value, a *inputDraft) { a.Where = d.Expr(v) }},
	{Name: "emit", Also: []string{"select", "map"}, Read: readEmit},
	{Name: "time", Also: []string{"timestamp", "event_time"}, Read: func(d *decoder, v value, a *inputDraft) {
		a.Time = d.Expr(v)
	}},
	{Name: "time_unit", Read: func(d *decoder, v value, a *inputDraft) { d.Pick(v, timeUnits, &a.TimeUnit) }},
	{Name: "timezone", Read: readTimezone},
	{Name: "key", Also: []string{"key_by", "group_by", "partition_by"}, Read: readKey},
	{Name: "partitioned", Also: []string{"partitioner"}, Read: readPartitioned},
	{Name: "global", Read: func(d *decoder, v value, a *inputDraft) { d.Bool(v, &a.Global) }},
	{Name: "passive", Read: func(d *decoder, v value, a *inputDraft) { d.Bool(v, &a.Passive) }},
	{Name: "default", Read: func(d *decoder, v value, a *inputDraft) { a.Default, a.HasDefault = d.Free(v) }},
	{Name: "strategy", Read: readInputStrategy},
	{Name: "sync_group", Read: readSyncGroup},
	{Name: "capacity", Read: func(d *decoder, v value, a *inputDraft) { d.Count(v, 1, maxCapacity, &a.Capacity) }},
	{Name: "capacity_bytes", Read: func(d *decoder, v value, a *inputDraft) {
		if n, ok := d.Integer(v, 1, maxCapacityBytes); ok {
			a.CapacityBytes = n
		}
	}},
}

// accumulatorFields are the fields of an accumulator. Those of the kinds say what it is; with
// none of them it passes events through.
func (k *Kinds) accumulatorFields() []decode.Field[inputDraft] {
	kinds := make([]decode.Field[inputDraft], len(k.Accumulators))
	for i, kind := range k.Accumulators {
		kinds[i] = decode.KindField(kind, func(into *inputDraft, name value, c AccumulatorConfig) {
			into.configs[name.Key()] = c
		})
	}
	at := slices.IndexFunc(accumulatorFields, func(f decode.Field[inputDraft]) bool { return f.Name == "time" })
	return slices.Insert(slices.Clone(accumulatorFields), at, kinds...)
}

// accumulatorKinds are the names of the kinds.
func (k *Kinds) accumulatorKinds() (names []string) {
	for _, kind := range k.Accumulators {
		names = append(names, kind.Name())
	}
	return names
}

func readAccumulators(d *decoder, v value, g *draft) {
	g.links.inputs = v
	pairs := d.Names(v, "accumulator")
	g.Accumulators = make([]Accumulator, 0, len(pairs))
	for _, p := range pairs {
		g.readAccumulator(p.Value)
	}
	for i := range pairs {
		a := g.Accumulators[i]
		if own := a.Folding().Own; own.Name != "" {
			g.addOwn(&a, own, g.links.accumulators[i].kind.Find([]string{own.Field}))
		}
	}
	if v.IsMapping() && v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "a graph needs at least one accumulator; add one")
	}
}

// partitioners are the functions that keys can have been dealt to partitions by; package partitioner has them.
var partitioners = decode.Words("murmur2", "crc32", "fnv1a", "fnv1a_reference")

// readPartitioned notes where the function stands: whether the keys can be dealt by it depends on the rest.
func readPartitioned(d *decoder, v value, a *inputDraft) {
	a.all.ofKeys(v)
	a.at.partitioned = v
	d.Pick(v, partitioners, &a.Partitioned)
}

// inputDraft is an accumulator that is being read.
type inputDraft struct {
	*Accumulator
	at  *input
	all *draft
	// configs are those that were given, by kind.
	configs map[string]AccumulatorConfig
}

func (d *draft) readAccumulator(v value) {
	a := d.newAccumulator(v.Key(), v.Name().Pos())
	at := input{value: v}
	configs := map[string]AccumulatorConfig{}
	into := &inputDraft{&a, &at, d, configs}
	got, _ := decode.Object(d.Decoder, v, "an accumulator", d.kinds.accumulatorFields(), into)
	if from, ok := got["from"]; ok && got["source"].Given() {
		d.Report(from.Name(), decode.CodeConflict, "",
			"%s has a source and is fed by a node; remove one of the two", decode.Quote(v.Key()))
	}
	if kind, ok := d.Exclusive(got, "the accumulator", d.kinds.accumulatorKinds()); ok {
		a.Kind, a.KindPos, a.Config = kind.Key(), kind.Name().Pos(), configs[kind.Key()]
		at.kind = kind
	}
	if a.Folding().Hands == trait.Rows {
		for name, said := range map[string]bool{"global": a.Global, "passive": a.Passive, "key": false,
			"strategy": a.Strategy == "latest", "sync_group": false, "default": false} {
			if v, given := got[name]; given && !said {
				d.Report(v.Name(), decode.CodeConflict, "", "%s is a table, which is looked up and never triggers, "+
					"one for all keys: remove %s", decode.Quote(a.Name), name)
			}
		}
		a.Keys, a.Strategy, a.SyncGroup, a.HasDefault = nil, "", "", false
	}
	d.checkSideless(&a, got)
	d.Accumulators = append(d.Accumulators, a)
	d.links.accumulators = append(d.links.accumulators, at)
}

// addOwn declares the input that a kind has of its own: one that has no source, and whose every
// event counts.
func (d *draft) addOwn(a *Accumulator, own trait.Own, at value) {
	if slices.ContainsFunc(d.Accumulators, func(o Accumulator) bool { return o.Name == own.Name }) {
		d.Report(at.Here(), decode.CodeDuplicateName, "",
			"%s is an accumulator already; %s go to an input of their own: give it another name",
			decode.Quote(own.Name), own.Several)
		return
	}
	added := d.newAccumulator(own.Name, at.Here().Pos())
	added.Capacity, added.CapacityBytes, added.Owner, added.Global = a.Capacity, a.CapacityBytes, a.Name, a.Global
	d.links.accumulators = append(d.links.accumulators, input{value: at.AsName()})
	d.Accumulators = append(d.Accumulators, added)
}

// newAccumulator is an accumulator of which nothing is said.
func (d *draft) newAccumulator(name string, at Pos) Accumulator {
	source := d.kinds.Sources[0]
	return Accumulator{
		Name: name, Pos: at,
		Source:   Source{Kind: source.Name(), Pos: at, Config: source.Default()},
		Kind:     "passthrough",
		TimeUnit: timeUnits.Default(),
		Capacity: defaultCapacity, CapacityBytes: defaultCapacityBytes,
	}
}

func readSource(d *decoder, v value, a *inputDraft) {
	if name, config, ok := readKind(d, v, "source", a.all.kinds.Sources); ok {
		a.Source = Source{Kind: name.Key(), Pos: name.Name().Pos(), Config: config}
	}
}

// readInputStrategy notes where the strategy stands: whether it fits depends on
// the reactor, which may come later.
func readInputStrategy(d *decoder, v value, a *inputDraft) {
	if d.Pick(v, strategies, &a.Strategy) {
		a.at.strategy = v
	}
}

// readSyncGroup notes where the group stands: what it is made of shows when all inputs are known.
func readSyncGroup(d *decoder, v value, a *inputDraft) {
	name, ok := d.Text(v, "the name of a group")
	if !ok {
		return
	}
	if !decode.ValidName(name) {
		d.CheckName(v.Here(), v.Text(), "sync_group")
		return
	}
	a.SyncGroup = name
	a.at.group = v
}

func readSchema(d *decoder, v value, a *inputDraft) {
	a.SchemaPos = v.Here().Pos()
	const want = "a JSON Schema, as a mapping or as the name of a file"
	if !v.IsMapping() {
		a.SchemaFile, _ = d.Text(v, want)
		return
	}
	schema, ok := d.Free(v)
	if ok && a.all.checkSchema(v, schema) {
		a.Schema = schema
	}
}

func readEmit(d *decoder, v value, a *inputDraft) {
	if !d.ReadsMapping(v) {
		a.EmitExpr = d.Expr(v)
		return
	}
	a.Emit = d.Expressions(v, "")
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyValue, "",
			"emit is empty; name at least one field, or remove it to hand the event over as it is")
	}
}

func readTimezone(d *decoder, v value, a *inputDraft) {
	const want = "the name of a time zone such as Europe/Zurich"
	name, ok := d.Text(v, want)
	if !ok {
		return
	}
	// The zone database comes with the system or the binary. Local would make the
	// meaning of a declaration depend on the machine.
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		d.Report(v.Here(), decode.CodeBadTimezone, "", "expected %s, found %s", want, v.Described())
		return
	}
	a.Timezone = name
}
