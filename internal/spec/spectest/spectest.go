// Package spectest has kinds for tests of what is made of a declaration, where those that are
// built in cannot be imported, for they build on what is tested.
package spectest

import (
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kinds are a source and a sink that have no fields and never run.
func Kinds() spec.Kinds {
	source := decode.NewKind("websocket", decode.NoFields("Pushes."), nothing, decode.Nothing[none]("source websocket"))
	sink := decode.NewKind("drop", decode.NoFields("Nowhere."), nothing, decode.Nothing[none]("sink drop"))
	return spec.Kinds{
		Sources: []decode.Kind[spec.SourceConfig]{decode.As(source, func(c none) spec.SourceConfig { return c })},
		Sinks:   []decode.Kind[spec.SinkConfig]{decode.As(sink, func(c none) spec.SinkConfig { return c })},
	}
}

type none struct{}

func nothing() none { return none{} }

// Canonical implements [spec.SourceConfig] and [spec.SinkConfig].
func (none) Canonical(*meaning.Tree) {}

// Identity implements [spec.SourceConfig].
func (none) Identity() string { return "" }

// Origin implements [spec.SourceConfig].
func (none) Origin() trait.Origin { return trait.Socket() }

// Target implements [spec.SinkConfig].
func (none) Target() trait.Target { return trait.Nowhere("values are thrown away") }
