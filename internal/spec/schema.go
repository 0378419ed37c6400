package spec

import (
	"slices"

	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/keep"
	"github.com/graphd/graphd/internal/spec/lanes"
	"github.com/graphd/graphd/internal/spec/limits"
	"github.com/graphd/graphd/internal/spec/retry"
)

// Mappings are the mappings of the declaration with fixed fields.
func (k Kinds) Mappings() []decode.Mapping {
	list := []decode.Mapping{
		decode.MappingOf("graph", graphFields, decode.Choices{"clock": clocks}),
		decode.MappingOf("accumulator", k.accumulatorFields(), decode.Choices{
			"time_unit": timeUnits, "strategy": strategies,
		}),
		decode.MappingOf("source", kindFields(k.Sources), nil),
		decode.MappingOf("reactor", reactorFields, decode.Choices{
			"when": criteria, "strategy": strategies, "on_warm_timeout": onWarmTimeouts, "on_overrun": onOverruns,
		}),
		decode.MappingOf("when", whenFields, nil),
		decode.MappingOf("restart", restartFields, decode.Choices{"on_exhausted": onExhausteds}),
		decode.MappingOf("node", k.nodeFields(), decode.Choices{
			"on_error": onErrors, "priority": priorities, "on_overrun": onOverruns,
		}),
		decode.MappingOf("output", outputFields, decode.Choices{
			"emit": outputEmits, "on_error": outputOnErrors, "delivery": deliveries,
		}),
		decode.MappingOf("sink", kindFields(k.Sinks), nil),
		decode.MappingOf("retry", retry.Fields(), nil),
		decode.MappingOf("limits", limits.Fields(), nil),
	}
	list = append(append(append(list, keep.Mappings()...), cycles.Mappings()...), lanes.Mappings()...)
	for _, s := range slices.Concat(k.schemas(), k.nodeSchemas()) {
		for _, d := range s.Definitions() {
			list = append(list, d.Mappings()...)
		}
	}
	return list
}

// nodeSchemas are what the kinds of nodes add to the JSON Schema.
func (k Kinds) nodeSchemas() (list []decode.Schema) {
	for _, n := range k.Nodes {
		list = append(list, n.Schema())
	}
	return list
}

// schemas are what the other kinds add, each definition by the first that has it.
func (k Kinds) schemas() (list []decode.Schema) {
	for _, a := range k.Accumulators {
		list = append(list, a.Schema())
	}
	for _, s := range k.Sources {
		list = append(list, s.Schema())
	}
	for _, s := range k.Sinks {
		list = append(list, s.Schema())
	}
	return list
}

// checkSchema checks that an inline schema is a JSON Schema.
func (d *draft) checkSchema(v value, schema any) bool {
	problems := d.schemas.Check(schema)
	if len(problems) > 0 && d.HoldsReference(v) {
		// The words of a problem may quote values, which references may have filled in.
		d.Report(v.Here(), decode.CodeBadSchema, "",
			"this is not a JSON Schema with the references as they are set; correct it")
		return false
	}
	for _, p := range problems {
		bad := v.Find(p.Pointer)
		d.Report(bad.Here(), decode.CodeBadSchema, "",
			"this is not a JSON Schema: %s; correct it", decode.Shorten(p.Text, 200))
	}
	return len(problems) == 0
}
