package drop

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink. A graph that runs has none at all: its values are counted, and
// that costs less than handing them over.
func Kind() kind.Sink[sink.Sink] {
	about := decode.NoFields("Nowhere; the output is counted.")
	declared := decode.NewKind("drop", about, defaults, decode.Nothing[Declared]("sink drop"))
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, kind.NoSink[Declared, sink.Sink])
}

// Declared is the sink as a declaration describes it: there is nothing to say.
type Declared struct{}

func defaults() Declared { return Declared{} }

// Canonical implements [spec.SinkConfig].
func (Declared) Canonical(*meaning.Tree) {}

// Target implements [spec.SinkConfig].
func (Declared) Target() trait.Target {
	return trait.Nowhere("values of this output are counted and thrown away")
}
