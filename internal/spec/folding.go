package spec

import "github.com/graphd/graphd/internal/spec/trait"

// Folding is what is made of events.
func (a *Accumulator) Folding() trait.Folding {
	if a.Config == nil {
		return trait.Folding{}
	}
	return a.Config.Folding()
}

// untyped are the fields of accumulators and nodes that have no say in what their values are.
var untyped = []string{"source", "where", "time", "time_unit", "timezone", "key", "partitioned", "global", "passive",
	"default", "sync_group", "capacity", "capacity_bytes", "after", "event", "on_error", "priority", "budget",
	"on_overrun", "lane", "delay", "retry"}

// Identity names what the state of a fold belongs to. The zero Identity is of folds without state.
// Stores hold identities as digests of [Accumulator.Identity], so their form stays what it is.
type Identity struct{ config, rest string }

// ByConfig is the identity of a fold whose state rests on its own configuration alone.
func ByConfig(text string) Identity { return Identity{config: text} }

// ByAccumulator is the identity of a fold whose state rests on what else is declared of its
// accumulator too, such as time and emit: text names all of it.
func ByAccumulator(text string) Identity { return Identity{rest: "/" + text} }

// Identity names what persisted positions and the state of the fold belong to: the kind with
// what its state rests on, and where events come from (M33).
func (a *Accumulator) Identity() string {
	var own Identity
	if a.Config != nil {
		own = a.Config.Identity(a)
	}
	if own.config == "" {
		own.config = "0/0"
	}
	source := a.Source.Kind
	if c := a.Source.Config; c != nil && c.Identity() != "" {
		source += "/" + c.Identity()
	}
	switch {
	case a.From != "":
		source = "from/" + a.From
	case a.Joins():
		source = "joins" // which, its own identity says
	}
	return a.Kind + "/" + own.config + "/" + source + own.rest
}
