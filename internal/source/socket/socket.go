// Package socket is the two kinds of source that are nothing but the accumulator's own socket:
// clients push events over WebSocket or over REST, whatever the declaration says. The
// declaration tells readers, and metrics, which way is meant.
package socket

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// WebSocket describes the source that clients push to over WebSocket.
func WebSocket() kind.Source[accumulator.Source] {
	return describe("websocket", "Pushed by clients over WebSocket; the default.")
}

// HTTP describes the source that clients push to over REST.
func HTTP() kind.Source[accumulator.Source] { return describe("http", "Pushed by clients over REST.") }

func describe(name, about string) kind.Source[accumulator.Source] {
	declared := decode.NewKind(name, decode.NoFields(about), defaults, decode.Nothing[Declared]("source "+name))
	return kind.NewSource(declared, kind.Unchecked, kind.NoSource[Declared, accumulator.Source])
}

// Declared is the source as a declaration describes it: there is nothing to say.
type Declared struct{}

func defaults() Declared { return Declared{} }

// Canonical implements [spec.SourceConfig].
func (Declared) Canonical(*meaning.Tree) {}

// Identity implements [spec.SourceConfig].
func (Declared) Identity() string { return "" }

// Origin implements [spec.SourceConfig].
func (Declared) Origin() trait.Origin { return trait.Socket() }
