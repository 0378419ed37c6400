package stdout

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink. All of a daemon share one output, so that lines of several graphs
// stay whole.
func Kind(out *Output) kind.Sink[sink.Sink] {
	about := decode.NoFields("Lines of JSON on the daemon's standard output.")
	declared := decode.NewKind("stdout", about, defaults, decode.Nothing[Declared]("sink stdout"))
	open := func(Declared, kind.Output) (sink.Sink, error) { return out.Sink(), nil }
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, open)
}

// Declared is the sink as a declaration describes it: there is nothing to say.
type Declared struct{}

func defaults() Declared { return Declared{} }

// Canonical implements [spec.SinkConfig].
func (Declared) Canonical(*meaning.Tree) {}

// Target implements [spec.SinkConfig].
func (Declared) Target() trait.Target { return trait.Printed() }
