package spec

import (
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kinds are what a declaration can name. A declaration that names no source has the first.
type Kinds struct {
	Sources      []decode.Kind[SourceConfig]
	Sinks        []decode.Kind[SinkConfig]
	Accumulators []decode.Kind[AccumulatorConfig]
	Nodes        []decode.Kind[NodeConfig]
}

// SourceConfig is the configuration of a source, as its kind has read it.
type SourceConfig interface {
	// Canonical writes what the configuration means: every field that makes a difference, under
	// its name in the document. The declaration's hash and its differences come of it.
	Canonical(t *meaning.Tree)
	// Identity names what the source's positions belong to (M33): with another one a graph that
	// goes on after an update begins to read anew. "" when no field makes a difference.
	Identity() string
	// Origin says where events come from, and what becomes of them in a crash.
	Origin() trait.Origin
}

// SinkConfig is the configuration of a sink, as its kind has read it.
type SinkConfig interface {
	// Canonical writes what the configuration means, as that of a source.
	Canonical(t *meaning.Tree)
	// Target says where values go, and how they can go there.
	Target() trait.Target
}

// AccumulatorConfig is the configuration of what an accumulator makes of events, as its kind
// has read it.
type AccumulatorConfig interface {
	// Canonical writes what the configuration means, as that of a source.
	Canonical(t *meaning.Tree)
	// Identity names what the state of the fold belongs to (M33): with another one it begins anew. a
	// is the accumulator that it stands in.
	Identity(a *Accumulator) Identity
	// Folding says what is made of events.
	Folding() trait.Folding
}

// NodeConfig is the configuration of what a node computes, as its kind has read it.
type NodeConfig interface {
	// Canonical writes what the configuration means, as that of a source, but as the branch or
	// leaf of the kind's name: what stands under it need not be a mapping.
	Canonical(t *meaning.Tree, name string)
	// Identity names what is computed beside the terms and of the inputs (M33): with another one
	// the node's value and what it remembers are not kept. "" when there is nothing beside them.
	Identity() string
	// Reads says by what the node says which values it reads.
	Reads() Reads
	// Routes are the routes that other nodes can come after, in the order they are tried; nil
	// when the kind has none.
	Routes() []string
}

// CallingNode is the configuration of a node that calls out, so that there is something to try again.
type CallingNode interface {
	NodeConfig
	CallsOut()
}

// Reads is by what a node says which values it reads. Make one with [ByTerms] or [ByInputs].
type Reads struct {
	terms  []Term
	listed bool
}

// ByTerms is a node whose expressions read what it reads.
func ByTerms(terms ...Term) Reads { return Reads{terms: terms} }

// ByInputs is a node that reads what its field `inputs` lists.
func ByInputs() Reads { return Reads{listed: true} }

// Terms are the node's expressions.
func (r Reads) Terms() []Term { return r.terms }

// Listed reports whether the node reads what its inputs list.
func (r Reads) Listed() bool { return r.listed }

// Term is an expression of a node. The zero Expr in it is one that could not be read.
type Term struct {
	Name string // "" for the only one
	Expr Expr
	// Condition says that it has to be true or false.
	Condition bool
}

// Source says where an accumulator's events come from besides its socket.
type Source struct {
	Kind   string
	Pos    Pos
	Config SourceConfig // nil in a declaration made in Go without one: the socket alone
}

// Sink says where an output goes.
type Sink struct {
	Kind   string
	Pos    Pos
	Config SinkConfig // nil in a declaration that is wrong
}

// Origin is where the source's events come from.
func (s *Source) Origin() trait.Origin {
	if s.Config == nil {
		return trait.Socket()
	}
	return s.Config.Origin()
}

// Target is where the sink's values go.
func (s *Sink) Target() trait.Target {
	if s.Config == nil {
		return trait.Target{}
	}
	return s.Config.Target()
}

// Reads is by what the node says which values it reads.
func (n *Node) Reads() Reads {
	if n.Config == nil {
		return Reads{}
	}
	return n.Config.Reads()
}

// Routes are the routes that other nodes can come after; nil when the node has none.
func (n *Node) Routes() []string {
	if n.Config == nil {
		return nil
	}
	return n.Config.Routes()
}

// readKind reads a mapping that holds one of several kinds.
func readKind[C any](d *decoder, v value, where string, kinds []decode.Kind[C]) (name value, config C, ok bool) {
	configs := make(map[string]C)
	if name, ok = decode.One(d, v, where, kindFields(kinds), &configs); !ok {
		return name, config, false
	}
	config, ok = configs[name.Key()]
	for _, k := range kinds {
		if !ok && k.Name() == name.Key() && k.Built() {
			return name, k.Default(), true // it could not be read, which has been said
		}
	}
	return name, config, ok
}

// kindFields are kinds as the fields of the mapping that names one.
func kindFields[C any](kinds []decode.Kind[C]) []decode.Field[map[string]C] {
	fields := make([]decode.Field[map[string]C], len(kinds))
	for i, k := range kinds {
		fields[i] = decode.KindField(k, func(into *map[string]C, name value, c C) { (*into)[name.Key()] = c })
	}
	return fields
}
