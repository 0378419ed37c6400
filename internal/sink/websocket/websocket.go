// Package websocket is the sink that is nothing but an output's subscribers. Watchers see
// every output anyway; the declaration says that they are all it is for.
package websocket

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink.
func Kind() kind.Sink[sink.Sink] {
	about := decode.NoFields("WebSocket subscribers.")
	declared := decode.NewKind("websocket", about, defaults, decode.Nothing[Declared]("sink websocket"))
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, kind.NoSink[Declared, sink.Sink])
}

// Declared is the sink as a declaration describes it: there is nothing to say.
type Declared struct{}

func defaults() Declared { return Declared{} }

// Canonical implements [spec.SinkConfig].
func (Declared) Canonical(*meaning.Tree) {}

// Target implements [spec.SinkConfig].
func (Declared) Target() trait.Target {
	return trait.Watched("subscribers get each value at most once, and what one missed is announced as a gap")
}
