package fold

import (
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// NewKind describes a kind of accumulator: how it is declared. What else there is to know of it,
// its configuration answers.
func NewKind[C Declared](declared decode.Kind[C]) decode.Kind[spec.AccumulatorConfig] {
	return decode.As(declared, func(c C) spec.AccumulatorConfig { return c })
}

// Declared is the configuration of a kind of accumulator: what a declaration asks of it, and
// what makes it run.
type Declared interface {
	spec.AccumulatorConfig
	// Compile makes what is declared ready to run, or says what is wrong with it. A declaration that
	// is refused is compiled all the same, for what else is wrong: expressions that it needs may be
	// missing, and then the programs of them are nil.
	Compile(at *Site) (*Program, spec.Diagnostics)
	// Remarks say what is valid and hardly meant.
	Remarks(at Place) spec.Diagnostics
}

// Place is where in a graph a kind of accumulator stands.
type Place struct {
	kind.Place
	// Accumulator is all that is declared there.
	Accumulator *spec.Accumulator
}

// Site is a place and what is known there when a kind is compiled.
type Site struct {
	Place
	// Scope is what expressions can read over an event as it came: event, meta and vars.
	Scope expression.Scope
	// Emitted is the type of what `emit` makes of an event, and of the event itself without one.
	Emitted expression.Type
	// Timed says that the declaration says what the events' own time is, for kinds that go by it:
	// it stands in [Facts] then.
	Timed bool
	// Follows says that a watermark is not that of the events' times: engine time moves it, by way of
	// [Watching.Quiet] alone.
	Follows bool
	// GivesKey says that the key of a boundary is that of its group: the graph has keys, and the
	// reactor does not say how they are made.
	GivesKey bool
	// MaxBytes bounds what a fold may hold open for one boundary.
	MaxBytes int64
	// Sides are the inputs that the kind takes, where it says that it does: see [trait.Sides].
	Sides [2]Side
}

// Side is what is known of an input that a kind takes in place of events of its own.
type Side struct {
	Type expression.Type   // of what it hands over
	Key  []expression.Type // by part of its key
	// Times says for each part of the key whether it is known to be a time.
	Times []bool
	// Joined says that it is a join itself: what it hands over is late by none of it.
	Joined bool
}

// Shaped is what expressions can read over what `emit` has made of an event: event, meta, vars, and
// names of the fold's own, from [NameOwn] on.
func (s *Site) Shaped(own ...expression.Name) expression.Scope {
	scope := s.Scope
	scope.Names = append(append([]expression.Name(nil), scope.Names...), own...)
	scope.Names[NameEvent].Type = s.Emitted
	return scope
}

// Program is a kind of accumulator compiled at its site. It is immutable.
//
// What its expressions come to for an event stands in [Facts] before the fold is asked to add it; an
// event for which one of them fails is refused, and the fold never hears of it.
type Program struct {
	// New makes an empty fold.
	New func() Fold
	// Type is the static type of a boundary's value, and Shape the shape of all of them; nil when they
	// have none in common, as lists have.
	Type  expression.Type
	Shape *boundary.Shape
	// Keys group events: over an event as it came, see [CompileKeys].
	Keys []*expression.Program
	// Groups are the fields of a boundary's value that are those of its group's key.
	Groups KeyFields
	// Deletes says of an event as it came that it takes away what its key has, in kinds that know such
	// events; see [Facts]. Always, for kinds with a Table, does an event that is null.
	Deletes *expression.Program
	// Args are what else is looked at in every event, over what emit has made of it.
	Args []*expression.Program
	// Terms are expressions over the same that the fold evaluates itself, in [Facts.Env].
	Terms []*expression.Program
	// Stage names what fails when one of the Args does.
	Stage string
	// LooksOnly says that of the event's value itself nothing is kept or handed on: it is lent until
	// Add returns. See the package's documentation.
	LooksOnly bool
	// FactsOnly says that the event's value is not even looked at: what is needed of it are the facts, without Env.
	FactsOnly bool
	// Table is set for a kind whose boundary is what it keeps: the fold is a [Handing], its states are
	// [Tracked], and the value of its boundaries refers to one of them.
	Table Rows
	// Ticks says that time completes something by itself. Together says that when something is completed
	// for one key depends on events of others.
	Ticks, Together bool
	// Lasts says that time completes what is open when no event comes any more: the fold is a [Lasting].
	Lasts bool
	// WithEpochs says that after every epoch that is kept the fold is asked to End.
	WithEpochs bool
}
