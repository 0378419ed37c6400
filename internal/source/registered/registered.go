// Package registered is the source of kind go: one that the embedding program has registered.
package registered

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/registered"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source; sources are what has been registered, by name.
func Kind(sources map[string]func() accumulator.Source) kind.Source[accumulator.Source] {
	check := func(c Declared, in kind.Input) spec.Diagnostics {
		return c.Missing(in.Place, "source", sources[c.Name.Name] != nil)
	}
	open := func(c Declared, _ kind.Input) (accumulator.Source, error) {
		if make := sources[c.Name.Name]; make != nil {
			return make(), nil
		}
		return nil, c.NotRegistered("source")
	}
	about := decode.NewSchema("A source that the embedding program has registered.", registered.Definitions())
	return kind.NewSource(decode.NewKind("go", about, defaults, readDeclared), check, open)
}

// Declared is the source as a declaration describes it.
type Declared struct{ registered.Name }

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) { c.Name.Read(d, v, "source go") }

// Identity implements [spec.SourceConfig].
func (c Declared) Identity() string { return c.Name.Name }

// Origin implements [spec.SourceConfig]. Whether a source of the program's own can go back is
// not known, so nothing is promised.
func (c Declared) Origin() trait.Origin { return trait.Outside(trait.Lost) }
