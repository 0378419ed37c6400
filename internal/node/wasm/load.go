package wasm

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/wasm/guest"
	"github.com/graphd/graphd/internal/node/wasm/meter"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Codes of what is wrong with a module.
const (
	CodeModuleUnreadable = "module_unreadable" // its file cannot be read
	CodeModuleInvalid    = "module_invalid"    // it is none, or none that can be used
	CodeModuleImports    = "module_imports"    // it needs what is not provided
	CodeUnknownExport    = "unknown_export"    // it exports no such function
	CodeWrongSignature   = "wrong_signature"   // the function cannot be called on these inputs
)

const (
	// maxModule bounds the file of a module: a runtime of Go is in it several times, and compiling takes seconds.
	maxModule = 8 << 20
	// maxNumbers bounds the parameters of a function of numbers.
	maxNumbers = 32
)

// loaded is a module that has been read, with the function in it.
type loaded struct {
	module   *guest.Module
	function *guest.Function
	graph    uint64 // of the graph's name, for chance
}

// Load implements [kind.Loading].
func (c Declared) Load(at kind.Place, inputs int) (spec.NodeConfig, spec.Diagnostics) {
	if c.Module == "" || c.Function == "" || c.modules == nil { // the decoder has said so
		return c, nil
	}
	report := func(pos spec.Pos, code, format string, args ...any) (spec.NodeConfig, spec.Diagnostics) {
		at.Pos = pos
		return c, at.Mistake(code, fmt.Sprintf(format, args...))
	}
	code, err := at.Access.Read(at.Path(c.Module), maxModule)
	if _, denied := errors.AsType[*policy.DeniedError](err); denied {
		return c, nil // it is told of all files alike
	}
	if err != nil {
		begins := "correct the path, which begins beside the declaration"
		if at.File == "" {
			begins = "the declaration came without its files: put the module into " + at.Folder + " where the daemon " +
				"runs, in which its path begins"
		}
		return report(c.ModulePos, CodeModuleUnreadable, "the module cannot be read: %v; %s", err, begins)
	}
	module, err := c.modules.Module(code, uint32(c.Memory/guest.PageBytes))
	if missing, ok := errors.AsType[*guest.MissingError](err); ok {
		return report(c.ModulePos, CodeModuleImports, "the module cannot be used: %v; build it without them: a "+
			"guest has neither files nor network", missing)
	}
	if err != nil {
		return report(c.ModulePos, CodeModuleInvalid, "the module cannot be used: %s", guest.Shortened(err.Error()))
	}
	function, err := module.Function(c.Function)
	if errors.Is(err, guest.ErrNoFunction) {
		return report(c.FunctionPos, CodeUnknownExport, "the module exports no function %s; it exports %s",
			decode.Quote(c.Function), guest.Listed(module.Functions()))
	}
	if err == nil && inputs > 0 { // else the decoder has said that it needs some
		err = c.fits(function, inputs)
	}
	if err != nil {
		return report(c.FunctionPos, CodeWrongSignature, "the function %s cannot be called here: %v",
			decode.Quote(c.Function), err)
	}
	if err := begin(module, &at); err != nil { // with a function, so that nothing of it is kept when this is all
		return report(c.ModulePos, CodeModuleInvalid, "the module cannot be used: %v", err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(at.Graph)) // never fails
	c.loaded = &loaded{module: module, function: function, graph: h.Sum64()}
	return c, nil
}

// begin has a guest of the module stand ready. A declaration waits once for one that does not come to the end of its
// start. One that was checked before is not refused for that: a call starts a guest then, and may come to its end.
func begin(m *guest.Module, at *kind.Place) error {
	if at.Late != nil && *at.Late || at.Stored && m.Late() {
		return nil
	}
	err := m.Begin()
	if e, ok := errors.AsType[*guest.Error](err); !ok || e.Code != guest.CodeTimeout {
		return err
	}
	if at.Late != nil {
		*at.Late = true
	}
	if at.Stored {
		return nil
	}
	return err
}

// fits says why a function cannot be called on so many values, nil when it can.
func (c Declared) fits(f *guest.Function, inputs int) error {
	if f.Values {
		return nil
	}
	const forms = "give it f64, i64 or i32 (true or false) for each input and one of them as its result, or values: " +
		"(i32 address, i32 bytes) -> i64, beside an exported alloc"
	number := func(t meter.Type) bool { return t == meter.F64 || t == meter.I64 || t == meter.I32 }
	switch {
	case len(f.Results) != 1 || !number(f.Results[0]) || slices.ContainsFunc(f.Params, func(t meter.Type) bool {
		return !number(t)
	}):
		return fmt.Errorf("it is %s -> %s; %s", types(f.Params), types(f.Results), forms)
	case len(f.Params) > maxNumbers:
		return fmt.Errorf("it has %d parameters, and at most %d can be given; take values in place of numbers",
			len(f.Params), maxNumbers)
	case len(f.Params) != inputs:
		return fmt.Errorf("it has %d parameters, and the node %d inputs; %s", len(f.Params), inputs, forms)
	case c.Result != nil:
		return errors.New("it gives a number, of which its signature says the type; remove result")
	}
	return nil
}

// types are those of a signature, as people are told.
func types(list []meter.Type) string {
	if len(list) > maxNumbers {
		return fmt.Sprintf("%v and %d others", list[:maxNumbers], len(list)-maxNumbers)
	}
	return fmt.Sprint(list)
}

// numberType is the type of a number in expressions.
func numberType(t meter.Type) expression.Type {
	switch t {
	case meter.F64:
		return expression.Of(boundary.KindFloat)
	case meter.I64:
		return expression.Of(boundary.KindInt)
	}
	return expression.Of(boundary.KindBool)
}
