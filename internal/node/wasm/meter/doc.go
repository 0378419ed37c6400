// Package meter puts into a WebAssembly module what lets its host stop it: every function and every loop counts what
// it does, and from time to time asks whether it may go on.
//
// How deep its functions call each other is counted, too: an engine gives each call as much stack as it likes.
//
// An engine can stop compiled code by itself only at a price for each turn of a loop and each call. What is
// put in here costs a few instructions, and the host is asked once in [Quantum] of them: seldom enough to cost
// nothing, and often enough for who has to collect garbage or look at the time.
//
// [Rewrite] takes a module and answers with one that computes the same, and with what there is to know of it: what it
// imports and exports, and what a call of each function can change. It reads every instruction, and refuses what it
// does not know. That a module is valid is still for the engine to say: where a wrong module could become a right one
// by what is put in, it is refused here.
//
// # What is put in
//
//   - an import, [ImportModule] and [ImportName], behind those of the module, which answers how much more may be done.
//     All functions of the module have an index that is greater by one than before;
//   - a global with what is left of that, one that tells whether the memory could not grow or calls went too deep, and
//     one of how deep they are, behind those of the module, with room around them;
//   - at the beginning of each function and each turn of a loop, a charge for the instructions in it, and before each
//     instruction that works on many bytes, one for these;
//   - an export for each global that changes, so that the host can put it back.
//
// Custom sections, names among them, are left out: they speak of the indexes as they were.
package meter

import (
	"maps"
	"slices"
)

// Quantum is for how many instructions a guest goes on before it asks: about a thirtieth of a millisecond.
const Quantum = 50_000

// ImportModule and ImportName are the host's function that is asked. It has no parameters, and its result, an i64, is
// how many instructions may follow.
const (
	ImportModule = "graphd"
	ImportName   = "meter"
)

// Full is the name under which a global is exported, an i64, that is [FullMemory] after the memory could not grow, and
// [FullStack] after calls have gone too deep. Depth is that of another, of how deep calls are: who calls a function
// sets it to 0 before.
const (
	Full  = "graphd:full"
	Depth = "graphd:depth"

	FullMemory = 1
	FullStack  = 2
)

// growth is what a call of memory.grow is charged: it may clear and copy the whole memory.
const growth = Quantum / 4

// Module is a module with a meter.
type Module struct {
	// Code is the module.
	Code []byte
	// Imports are what the module itself imports, in its order.
	Imports []Import
	// Globals are the names under which globals that change are exported.
	Globals []string
	// Pages is how many pages of 64 KiB the memory has at first; Memory says that there is one.
	Pages  uint64
	Memory bool

	exports map[string]int
	all     *rewriter
}

// Import is something that a module needs of its host.
type Import struct {
	Module, Name string
	// Kind says what it is; only for a function there is a signature.
	Kind      Kind
	Signature Signature
}

// Kind says what an import or export is.
type Kind byte

// The kinds.
const (
	KindFunction Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case KindFunction:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	}
	return "global"
}

// Type is the type of a parameter or result, as modules write it.
type Type byte

// The types of numbers. There are others.
const (
	I32 Type = 0x7F
	I64 Type = 0x7E
	F32 Type = 0x7D
	F64 Type = 0x7C

	v128      Type = 0x7B
	funcref   Type = 0x70
	externref Type = 0x6F
)

// String names the type as texts of modules do.
func (t Type) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case v128:
		return "v128"
	case funcref:
		return "funcref"
	}
	return "externref"
}

func (t Type) known() bool {
	return t >= v128 && t <= I32 || t == funcref || t == externref
}

// Signature is what a function takes and gives.
type Signature struct{ Params, Results []Type }

// Function is an exported function; ok is false when there is none of that name.
func (m *Module) Function(name string) (f Function, ok bool) {
	i, ok := m.exports[name]
	if !ok {
		return Function{}, false
	}
	return m.all.describe(i), true
}

// Functions are the names of the exported functions, sorted.
func (m *Module) Functions() []string { return slices.Sorted(maps.Keys(m.exports)) }

// Function is what a function takes and gives, and what a call of it can come to.
type Function struct {
	Signature
	// Writes says that a call may change the memory or a global, or have the host do so.
	Writes bool
	// Spoils says that a call may change what the host cannot put back: a table, or segments that are dropped.
	Spoils bool
}
