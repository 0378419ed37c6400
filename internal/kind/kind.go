// Package kind describes kinds of sources, sinks and nodes: what the rest of the program has to know
// of one, and everything it knows.
//
// A kind lives in a folder of its own, with its configuration, its descriptor and its run
// time, and is one line in internal/builtin; nothing else knows its name. Who asks what:
//
//   - A declaration that is read asks the [decode.Kind]: name, fields, defaults, JSON Schema.
//   - What was read is the kind's own configuration, a [spec.SourceConfig], [spec.SinkConfig] or
//     [spec.NodeConfig]: what it means, what its positions or values belong to, where events
//     come from or values go, what a node reads.
//   - A declaration that is compiled asks the descriptor to check what needs more than the
//     document, such as the types of expressions or what a program has registered.
//   - A graph that runs asks it for the source or sink; its plan, for a node's evaluator.
//
// A descriptor is a value. Its constructor asks for every answer, so that a kind which does
// not give one does not build; [Unchecked], [NothingOutside], [NoSource] and [NoSink] say that
// there is none to give. What a kind needs of the daemon, such as the guard of outgoing
// connections, its folder's own constructor takes from the line in internal/builtin.
package kind

import (
	"context"
	"path/filepath"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Remarked is a configuration of a source or sink that says what in it is valid and hardly meant.
type Remarked interface {
	Remarks(at Place) spec.Diagnostics
}

// Place is where in a graph a source or a sink stands.
type Place struct {
	// File is the declaration's, "" when it was pushed; Folder is where its relative paths begin.
	File, Folder string
	// Name is that of the accumulator, node or output, Graph that of the graph.
	Name, Graph string
	// Pos is where the declaration names the kind.
	Pos spec.Pos
	// Vars is the object that expressions read as `vars`.
	Vars boundary.Value
	// Tenant is whose declaration it is; "" where nobody has said.
	Tenant string
	// Access opens the files that the declaration names; nil is the operator's, which denies nothing.
	Access *policy.Policy
	// Stored says that the declaration was checked before and is in the store.
	Stored bool
	// Late is set once something of the declaration has not come to an end in time: what may be as slow is not waited
	// for any more while it is read. nil: nobody keeps count.
	Late *bool
	// For is who has it compiled.
	For *expression.Caller
}

// FromNetwork reports whether the declaration came over the network, and is not the operator's.
func (p *Place) FromNetwork() bool { return p.Access != nil }

// Path makes a path of the declaration absolute.
func (p *Place) Path(path string) string { return Resolve(p.Folder, path) }

// Mistake is a diagnostic about the kind at its place.
func (p *Place) Mistake(code, text string) spec.Diagnostics {
	return spec.Diagnostics{{
		File: p.File, Line: p.Pos.Line, Column: p.Pos.Column, Path: p.Pos.Path, Code: code, Text: text,
	}}
}

// Resolve makes a path absolute that stands in a declaration whose paths begin in a folder.
func Resolve(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// Filed is a configuration that names files. One that does not answer names none.
type Filed interface {
	// Files are their paths, as declared.
	Files() []string
}

// Calling is a configuration that names servers to call. One that does not answer names none.
type Calling interface {
	// Hosts are their names or addresses.
	Hosts() []string
}

// Lanes is a configuration of a sink that may deliver several values at once.
type Lanes interface {
	// Lanes says how many, and whether it has a key of its own for what keeps its order.
	Lanes() (most int, keyed bool)
}

// Connected is a configuration that may name a connection of the daemon's. One that does not answer names none.
type Connected interface {
	// Named is its name, "" for none, and the scheme that its address must have: postgres or kafka.
	Named() (name, scheme string)
}

// Auditing is a configuration that reads the audit. One that does not answer reads none.
type Auditing interface {
	// Chains is whose entries: a tenant's, or those of no tenant; "" are the graph's own tenant's.
	Chains() string
}

// Input is the accumulator that a source is for.
type Input struct {
	Place
	// Schema is the JSON Schema that events must match, nil when there is none.
	Schema any
}

// Output is the output that a sink is for.
type Output struct {
	Place
	// Timeout bounds one try of a delivery.
	Timeout time.Duration
}

// Source describes a kind of source, whose run time is an S. Make one with [NewSource].
type Source[S any] struct {
	decode.Kind[spec.SourceConfig]
	check func(spec.SourceConfig, Input) spec.Diagnostics
	open  func(spec.SourceConfig, Input) (S, error)
}

// NewSource describes a kind of source: how it is declared, what of a declaration only it can
// check, and how a source is made. Making one connects to nothing and reads nothing.
func NewSource[C spec.SourceConfig, S any](
	declared decode.Kind[C], check func(C, Input) spec.Diagnostics, open func(C, Input) (S, error),
) Source[S] {
	return Source[S]{
		Kind:  decode.As(declared, func(c C) spec.SourceConfig { return c }),
		check: func(c spec.SourceConfig, in Input) spec.Diagnostics { return check(c.(C), in) },
		open:  func(c spec.SourceConfig, in Input) (S, error) { return open(c.(C), in) },
	}
}

// Check says what is wrong with a configuration where it stands.
func (s *Source[S]) Check(c spec.SourceConfig, in Input) spec.Diagnostics { return s.check(c, in) }

// Open makes a source.
func (s *Source[S]) Open(c spec.SourceConfig, in Input) (S, error) { return s.open(c, in) }

// Sink describes a kind of sink, whose run time is an S. Make one with [NewSink].
type Sink[S any] struct {
	decode.Kind[spec.SinkConfig]
	check func(spec.SinkConfig, Output) spec.Diagnostics
	look  func(context.Context, spec.SinkConfig, Output) spec.Diagnostics
	open  func(spec.SinkConfig, Output) (S, error)
}

// NewSink describes a kind of sink: how it is declared, what of a declaration only it can
// check, what it finds when it looks at what the declaration names outside of the daemon, and
// how a sink is made.
func NewSink[C spec.SinkConfig, S any](
	declared decode.Kind[C],
	check func(C, Output) spec.Diagnostics,
	look func(context.Context, C, Output) spec.Diagnostics,
	open func(C, Output) (S, error),
) Sink[S] {
	return Sink[S]{
		Kind:  decode.As(declared, func(c C) spec.SinkConfig { return c }),
		check: func(c spec.SinkConfig, out Output) spec.Diagnostics { return check(c.(C), out) },
		look: func(ctx context.Context, c spec.SinkConfig, out Output) spec.Diagnostics {
			return look(ctx, c.(C), out)
		},
		open: func(c spec.SinkConfig, out Output) (S, error) { return open(c.(C), out) },
	}
}

// Check says what is wrong with a configuration where it stands.
func (s *Sink[S]) Check(c spec.SinkConfig, out Output) spec.Diagnostics { return s.check(c, out) }

// Look says what does not fit in what a configuration names outside of the daemon.
func (s *Sink[S]) Look(ctx context.Context, c spec.SinkConfig, out Output) spec.Diagnostics {
	return s.look(ctx, c, out)
}

// Open makes a sink.
func (s *Sink[S]) Open(c spec.SinkConfig, out Output) (S, error) { return s.open(c, out) }

// Unchecked is of kinds of whose configuration everything is known when it has been read.
func Unchecked[C, P any](C, P) spec.Diagnostics { return nil }

// NothingOutside is of sinks that name nothing outside of the daemon which could be looked at
// beforehand.
func NothingOutside[C any](context.Context, C, Output) spec.Diagnostics { return nil }

// NoSource is of kinds that are wired by the engine: the socket, and other graphs.
func NoSource[C, S any](C, Input) (none S, err error) { return none, nil }

// NoSink is of kinds whose values are only counted and watched, or wired by the engine.
func NoSink[C, S any](C, Output) (none S, err error) { return none, nil }
