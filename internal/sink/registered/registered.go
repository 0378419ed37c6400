// Package registered is the sink of kind go: one that the embedding program has registered.
package registered

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/registered"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink; sinks are what has been registered, by name.
func Kind(sinks map[string]func() sink.Sink) kind.Sink[sink.Sink] {
	check := func(c Declared, out kind.Output) spec.Diagnostics {
		return c.Missing(out.Place, "sink", sinks[c.Name.Name] != nil)
	}
	open := func(c Declared, _ kind.Output) (sink.Sink, error) {
		if make := sinks[c.Name.Name]; make != nil {
			return make(), nil
		}
		return nil, c.NotRegistered("sink")
	}
	about := decode.NewSchema("A sink that the embedding program has registered.", registered.Definitions())
	return kind.NewSink(decode.NewKind("go", about, defaults, readDeclared), check, kind.NothingOutside, open)
}

// Declared is the sink as a declaration describes it.
type Declared struct{ registered.Name }

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) { c.Name.Read(d, v, "sink go") }

// Target implements [spec.SinkConfig].
func (c Declared) Target() trait.Target { return trait.Called(trait.MayOutbox, "") }
