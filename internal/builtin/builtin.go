// Package builtin is the list of the kinds graphd comes with: one line each for sources
// and sinks. A new kind is a package of its own under internal/source or internal/sink,
// and a line here.
package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
	sinkfile "github.com/graphd/graphd/internal/sink/file"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/sink/webhook"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/source/generator"
	"github.com/graphd/graphd/internal/source/poll"
	"github.com/graphd/graphd/internal/source/wsclient"
	"github.com/graphd/graphd/internal/spec"
)

// Kinds builds sources and sinks. Safe for concurrent use.
type Kinds struct {
	// Stdout is shared by all stdout sinks, so that lines of several graphs stay whole.
	Stdout *stdout.Output
	// MaxEventBytes bounds one event of a source.
	MaxEventBytes int
	// Guard dials for all that calls out; it is required where a source or sink does.
	Guard *outbound.Guard
	// Store looks at tables of the store's own database; nil where the store has none.
	Store Tables
	// Functions, Sources and Sinks are what the program has registered for the kind go, by name.
	Functions map[string]graph.Function
	Sources   map[string]func() accumulator.Source
	Sinks     map[string]func() sink.Sink
	// KafkaBrokers are the brokers of declarations that name none.
	KafkaBrokers []string
	// Plain compiles without what only makes graphs faster; see [compile.Options].
	Plain bool
	// Spoil overwrites memory as soon as it may be used again, for tests.
	Spoil bool
}

// Compile compiles a declaration and checks what its kinds have to say of it, so that a
// mistake in a source's configuration is a diagnostic and not a failure at run time.
func (k *Kinds) Compile(g *spec.Graph) (*compile.Unit, spec.Diagnostics) {
	u, diags := compile.Graph(g, compile.Options{MaxEventBytes: k.MaxEventBytes, Plain: k.Plain, Spoil: k.Spoil, Functions: k.Functions})
	diags = compile.Merge(diags, k.checkRegistered(g))
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if a.Source.Kind != "generator" {
			continue
		}
		vars, varsType := compile.Variables(g)
		_, ds := generator.New(generator.Config{GeneratorSource: a.Source.Generator, Vars: vars, VarsType: varsType})
		for n := range ds {
			ds[n].File = g.File
		}
		diags = compile.Merge(diags, ds)
	}
	_, varsType := compile.Variables(g)
	diags = compile.Merge(diags, checkKafkaKeys(g, varsType))
	if len(diags) > 0 {
		return nil, diags
	}
	return u, nil
}

// Source makes an accumulator's source, nil when its socket is all there is. Relative
// paths are relative to the declaration's file, or to the working directory without one.
func (k *Kinds) Source(u *compile.Unit, i int) (accumulator.Source, error) {
	a := &u.Spec.Accumulators[i]
	switch a.Source.Kind {
	case "websocket", "http":
		return nil, nil
	case "file":
		f := a.Source.File
		return file.New(file.Config{
			Path: Resolve(u.Spec.File, f.Path), Follow: f.Follow, OnTruncate: f.OnTruncate,
			ReaderConfig: file.ReaderConfig{Format: f.Format, MaxEventBytes: k.MaxEventBytes, Schema: a.Schema},
		})
	case "generator":
		s, diags := generator.New(generator.Config{GeneratorSource: a.Source.Generator, Vars: u.Vars, VarsType: u.VarsType})
		if err := diags.Err(); err != nil {
			return nil, err
		}
		return s, nil
	case "kafka":
		return k.kafkaSource(u, a)
	}
	if s, ok, err := k.remoteSource(a); ok {
		return s, err
	}
	return nil, fmt.Errorf("source kind %q is not built in", a.Source.Kind)
}

// Sink makes an output's sink, nil when its values are only counted and watched.
func (k *Kinds) Sink(u *compile.Unit, i int) (sink.Sink, error) {
	o := &u.Spec.Outputs[i]
	switch o.Sink.Kind {
	case "drop", "websocket", "graph":
		// Watchers see every output; the first two have nowhere else to go, and the engine
		// hands values from graph to graph.
		return nil, nil
	case "stdout":
		return k.Stdout.Sink(), nil
	case "file":
		return sinkfile.Open(Resolve(u.Spec.File, o.Sink.File.Path))
	case "kafka":
		return k.kafkaSink(u, o)
	}
	if o.Sink.Kind == "postgres" {
		return k.postgresSink(o)
	}
	if o.Sink.Kind == "go" {
		if make := k.Sinks[o.Sink.Go.Name]; make != nil {
			return make(), nil
		}
		return nil, fmt.Errorf("this program has registered no sink %q", o.Sink.Go.Name)
	}
	if o.Sink.Kind == "http" {
		h := o.Sink.HTTP
		return webhook.New(webhook.Config{URL: h.URL, Method: h.Method, Headers: headers(h.Headers), Timeout: o.Timeout, Guard: k.Guard})
	}
	return nil, fmt.Errorf("sink kind %q is not built in", o.Sink.Kind)
}

// checkRegistered checks that the sources and sinks of kind go are there.
func (k *Kinds) checkRegistered(g *spec.Graph) (diags spec.Diagnostics) {
	report := func(at spec.Pos, what, name string) {
		diags = append(diags, spec.Diagnostic{File: g.File, Line: at.Line, Column: at.Column, Path: at.Path, Code: graph.CodeNotRegistered,
			Text: fmt.Sprintf("this program has registered no %s %q; Go programs that embed the daemon register them", what, name)})
	}
	for i := range g.Accumulators {
		if s := &g.Accumulators[i].Source; s.Kind == "go" && s.Go.Name != "" && k.Sources[s.Go.Name] == nil {
			report(s.Pos, "source", s.Go.Name)
		}
	}
	for i := range g.Outputs {
		if s := &g.Outputs[i].Sink; s.Kind == "go" && s.Go.Name != "" && k.Sinks[s.Go.Name] == nil {
			report(s.Pos, "sink", s.Go.Name)
		}
	}
	return diags
}

// remoteSource makes a source at the other end of a connection; ok is false for any other.
func (k *Kinds) remoteSource(a *spec.Accumulator) (s accumulator.Source, ok bool, err error) {
	switch a.Source.Kind {
	case "go":
		make, there := k.Sources[a.Source.Go.Name]
		if !there {
			return nil, true, fmt.Errorf("this program has registered no source %q", a.Source.Go.Name)
		}
		return make(), true, nil
	case "poll":
		p := a.Source.Poll
		s, err = poll.New(poll.Config{URL: p.HTTP, Every: p.Every, Timeout: p.Timeout, Headers: headers(p.Headers), MaxBytes: k.MaxEventBytes, Guard: k.Guard})
	case "websocket_client":
		w := a.Source.WebSocket
		s, err = wsclient.New(wsclient.Config{URL: w.URL, Subscribe: w.Subscribe, Ping: w.Ping, Headers: headers(w.Headers), MaxBytes: k.MaxEventBytes, Guard: k.Guard})
	default:
		return nil, false, nil
	}
	return s, true, err
}

func headers(given []spec.Header) []outbound.Header {
	list := make([]outbound.Header, len(given))
	for i, h := range given {
		list[i] = outbound.Header(h)
	}
	return list
}

// Resolve makes a path of a declaration absolute: relative to the directory of its file.
func Resolve(declaration, path string) string {
	if filepath.IsAbs(path) || declaration == "" {
		return path
	}
	return filepath.Join(filepath.Dir(declaration), path)
}

// Environment resolves ${NAME} from the process's environment and ${file:PATH} from files.
func Environment(ref string) (value string, ok bool, err error) {
	const prefix = "file:"
	if len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
		data, err := os.ReadFile(ref[len(prefix):])
		if errors.Is(err, os.ErrNotExist) {
			return "", false, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("read the secret file: %w", err)
		}
		for len(data) > 0 && (data[len(data)-1] == '\n' || data[len(data)-1] == '\r') {
			data = data[:len(data)-1] // the newline that editors and echo leave
		}
		return string(data), true, nil
	}
	value, ok = os.LookupEnv(ref)
	return value, ok, nil
}

// maxSchemaBytes bounds a schema file.
const maxSchemaBytes = 1 << 20

// ReadSchemas loads the JSON Schema files that accumulators name into the declaration.
func ReadSchemas(g *spec.Graph) spec.Diagnostics {
	var diags spec.Diagnostics
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if a.SchemaFile == "" {
			continue
		}
		schema, err := readSchema(Resolve(g.File, a.SchemaFile))
		if err != nil {
			diags = append(diags, spec.Diagnostic{File: g.File, Line: a.SchemaPos.Line, Column: a.SchemaPos.Column, Path: a.SchemaPos.Path,
				Code: "schema_unreadable", Text: fmt.Sprintf("the schema file cannot be used: %v", err)})
			continue
		}
		a.Schema = schema
	}
	return diags
}

func readSchema(path string) (any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var schema any
	if err := json.NewDecoder(io.LimitReader(f, maxSchemaBytes)).Decode(&schema); err != nil {
		return nil, fmt.Errorf("read %s as JSON: %w", path, err)
	}
	return schema, nil
}

// Parse reads, resolves and compiles one declaration: everything that can be known of it
// without running it. The diagnostics are all there are.
func (k *Kinds) Parse(document []byte, name string) (*compile.Unit, spec.Diagnostics) {
	g, diags := spec.Parse(document, spec.Options{File: name, Resolve: Environment})
	if g == nil {
		return nil, diags
	}
	diags = append(diags, ReadSchemas(g)...)
	u, more := k.Compile(g)
	if diags = compile.Merge(diags, more); len(diags) > 0 {
		return nil, diags
	}
	return u, nil
}
