// Package registered is how a declaration names what a Go program that embeds the daemon has
// registered: the source and the sink of kind go, and what they share.
package registered

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// CodeNotRegistered is a name that the program has not registered.
const CodeNotRegistered = "not_registered"

// Name is a registered name as a declaration gives it.
type Name struct{ Name string }

// Canonical writes what the name means.
func (n Name) Canonical(t *meaning.Tree) { t.Text("name", n.Name) }

var (
	fields = []decode.Field[Name]{
		{Name: "name", Need: true, Read: func(d *decode.Decoder, v decode.Value, n *Name) {
			n.Name, _ = d.Text(v, "a registered name")
		}},
	}

	//go:embed schema.json
	definitions string
)

// Read reads the mapping with the name; where says in words what it is of.
func (n *Name) Read(d *decode.Decoder, v decode.Value, where string) {
	decode.Object(d, v, where, fields, n)
}

// Definitions are those of the JSON Schema.
func Definitions() decode.Definitions {
	return decode.Define(definitions, decode.MappingOf("registered", fields, nil))
}

// Missing is the diagnostic of a name that is not registered; what says of what. A name that
// could not be read has one already.
func (n Name) Missing(at kind.Place, what string, registered bool) spec.Diagnostics {
	if registered || n.Name == "" {
		return nil
	}
	return at.Mistake(CodeNotRegistered, n.missing(what)+"; Go programs that embed the daemon register them")
}

// NotRegistered is the same for who makes one all the same.
func (n Name) NotRegistered(what string) error { return errors.New(n.missing(what)) }

func (n Name) missing(what string) string {
	return fmt.Sprintf("this program has registered no %s %q", what, n.Name)
}
