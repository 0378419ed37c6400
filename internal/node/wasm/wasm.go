// Package wasm is the node that calls a function of a WebAssembly module on the values of its inputs: code in any
// language, which can reach nothing, keeps nothing, and is stopped when it takes too long.
//
// A function takes numbers, or values as JSON in the guest's memory; its signature says which, see [Kind]. How a guest
// is run, and within what bounds, is in package guest; how it can be stopped at all in package meter.
package wasm

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/wasm/guest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Modules are the modules that are known, and compiled. The zero Modules knows none.
type Modules = guest.Modules

const (
	defaultMemory = 16 << 20
	leastMemory   = guest.PageBytes
	mostMemory    = guest.MaxMemory

	defaultTimeout = 100 * time.Millisecond
	leastTimeout   = time.Millisecond
	mostTimeout    = 10 * time.Second // two seconds later the reactor would count as busy for long
)

// Kind describes the node; modules are those that others have compiled already, nil for none.
func Kind(modules *Modules) kind.Node {
	if modules == nil {
		modules = &Modules{}
	}
	about := decode.NewSchema("A function of a WebAssembly module.",
		decode.Define(definitions, decode.MappingOf("node_wasm", fields, nil)))
	defaults := func() Declared {
		return Declared{Memory: defaultMemory, Timeout: defaultTimeout, modules: modules}
	}
	declared := decode.NewKind("wasm", about, defaults, func(d *decode.Decoder, v decode.Value, c *Declared) {
		decode.Object(d, v, "node wasm", fields, c)
	})
	return kind.NewNode(declared, kind.Unchecked, remarks, result, compile)
}

// Declared is the node as a declaration describes it.
type Declared struct {
	// Module is the path of the module, as declared.
	Module    string
	ModulePos spec.Pos
	// Function is the name under which it exports the function.
	Function    string
	FunctionPos spec.Pos
	// Memory bounds the guest's memory, in bytes: 64 KiB to 256 MiB, by default 16 MiB.
	Memory int64
	// Timeout bounds one call: 1 ms to 10 s, by default 100 ms.
	Timeout time.Duration
	// Result is the type of what a function of values answers, as a JSON Schema of few words; nil when it is not said.
	Result    any
	ResultPos spec.Pos

	modules *Modules
	loaded  *loaded // nil until the module has been read
}

var (
	fields = []decode.Field[Declared]{
		{Name: "module", Alone: true, Also: []string{"path", "file"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.Module, _ = d.Text(v, "the path of a WebAssembly module")
				c.ModulePos = v.Here().Pos()
			}},
		{Name: "function", Also: []string{"export", "name", "func"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.Function, _ = d.Text(v, "the name of a function that the module exports")
				c.FunctionPos = v.Here().Pos()
			}},
		{Name: "memory", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Bytes(v, leastMemory, mostMemory, &c.Memory)
		}},
		{Name: "timeout", Read: readTimeout},
		{Name: "result", Also: []string{"returns", "type"}, Read: readResult},
	}

	//go:embed schema.json
	definitions string
)

func readTimeout(d *decode.Decoder, v decode.Value, c *Declared) {
	timeout := c.Timeout
	if d.Duration(v, leastTimeout, &timeout); timeout > mostTimeout {
		d.Report(v.Here(), decode.CodeOutOfRange, "", "%s is too long; give at most %s", v.Subject(), mostTimeout)
		return
	}
	c.Timeout = timeout
}

// readResult reads a JSON Schema of the words that are held: what is not looked at is not promised.
func readResult(d *decode.Decoder, v decode.Value, c *Declared) {
	c.ResultPos = v.Here().Pos()
	if !d.Mapping(v, "a JSON Schema, such as { type: object, properties: { score: { type: number } } }") {
		return
	}
	if schema, ok := d.Free(v); ok {
		if wrong := wrongSchema(schema, "result"); wrong != "" {
			d.Report(v.Whole(), decode.CodeBadSchema, "", "%s", wrong)
			return
		}
		c.Result = schema
	}
}

// wrongSchema says what is wrong with a schema of a result, "" for nothing.
func wrongSchema(schema any, at string) string {
	s, ok := schema.(map[string]any)
	if !ok {
		return at + " is no mapping; write it as { type: number }"
	}
	for word, value := range s {
		switch word {
		case "description":
		case "type":
			switch value {
			case "object", "array", "string", "number", "integer", "boolean", "null":
			default:
				return fmt.Sprintf("%s has the type %v; give one of object, array, string, number, integer, boolean, "+
					"null", at, value)
			}
		case "additionalProperties":
			if _, ok := value.(bool); !ok {
				return at + ".additionalProperties is neither true nor false"
			}
		case "items":
			if wrong := wrongSchema(value, at+".items"); wrong != "" {
				return wrong
			}
		case "properties":
			properties, ok := value.(map[string]any)
			if !ok {
				return at + ".properties is no mapping"
			}
			for name, property := range properties {
				if wrong := wrongSchema(property, at+".properties."+name); wrong != "" {
					return wrong
				}
			}
		default:
			return fmt.Sprintf("%s has %q, which is not looked at here; remove it: there are type, properties, "+
				"additionalProperties, items and description", at, word)
		}
	}
	return ""
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return []string{c.Module} }

// Bytes implements [kind.Holding].
func (c Declared) Bytes() int64 {
	if c.loaded == nil {
		return 0
	}
	return c.loaded.module.Bytes()
}

// Canonical implements [spec.NodeConfig]. Where the module has been read, what is in it counts.
func (c Declared) Canonical(t *meaning.Tree, name string) {
	b := t.Branch(name)
	b.Text("module", c.Module)
	b.Text("function", c.Function)
	b.Number("memory", c.Memory)
	b.Span("timeout", c.Timeout)
	if c.Result != nil {
		b.Free("result", c.Result)
	}
	if c.loaded != nil {
		b.Text("sha256", c.loaded.module.Sum())
	}
}

// Identity implements [spec.NodeConfig]: the code of the module, not where it stands.
func (c Declared) Identity() string {
	if c.loaded != nil {
		return c.loaded.module.Sum() + " " + c.Function
	}
	return c.Module + " " + c.Function
}

// Reads implements [spec.NodeConfig].
func (c Declared) Reads() spec.Reads { return spec.ByInputs() }

// Routes implements [spec.NodeConfig].
func (c Declared) Routes() []string { return nil }

// CodeFreshGuest is a function after each call of which its guest is thrown away.
const CodeFreshGuest = "wasm_fresh_guest"

// remarks tell of a function that costs a start each time.
func remarks(c Declared, at kind.Place) spec.Diagnostics {
	if c.loaded == nil || !c.loaded.function.Fresh {
		return nil
	}
	at.Pos = c.FunctionPos
	return at.Mistake(CodeFreshGuest, fmt.Sprintf("a call of %s may change a table or drop a segment, which cannot be "+
		"put back: its guest is started anew for each call; build the module without", decode.Quote(c.Function)))
}

// result is what a function of numbers gives, or what is declared of one of values.
func result(c Declared, _ []*expression.Program) expression.Type {
	switch {
	case c.loaded == nil:
		return expression.Any()
	case !c.loaded.function.Values:
		return numberType(c.loaded.function.Results[0])
	case c.Result == nil:
		return expression.Any()
	}
	return expression.FromSchema(c.Result)
}
