// Package followers is the sink of values that other graphs of the daemon follow: they wait in the outbox until each of
// these graphs has them in a checkpoint. The engine holds them, since it knows the graphs; here is how such a sink is
// declared.
package followers

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink.
func Kind() kind.Sink[sink.Sink] {
	about := decode.NoFields("The graphs that follow the output, with a source of kind follow.")
	declared := decode.NewKind("followers", about, defaults, decode.Nothing[Declared]("sink followers")).
		Also("follow", "follower")
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, kind.NoSink[Declared, sink.Sink])
}

// Declared is the sink as a declaration describes it: there is nothing to say.
type Declared struct{}

func defaults() Declared { return Declared{} }

// Canonical implements [spec.SinkConfig].
func (Declared) Canonical(*meaning.Tree) {}

// Target implements [spec.SinkConfig].
func (Declared) Target() trait.Target {
	return trait.ToFollowers("values are committed with the state and kept until each graph that follows has them in " +
		"a checkpoint of its own: each takes them in order and exactly once, also after a crash of either")
}
