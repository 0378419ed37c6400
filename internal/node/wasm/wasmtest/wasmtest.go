// Package wasmtest writes small WebAssembly modules for tests, instruction by instruction.
package wasmtest

import (
	"strings"
)

// Import is a function that a module imports. Signatures are written as "id>l": i is i32, l is i64, f is f32 and d is
// f64.
type Import struct{ Module, Name, Signature string }

// Func is a function of a module.
type Func struct {
	Name      string // it is exported under; "" for none
	Signature string
	Locals    string // a letter each
	Code      []byte // without the end
}

// Program is what a module is made of.
type Program struct {
	Imports []Import
	// Pages and MostPages are of the memory; without pages there is none. MostPages 0 is no bound.
	Pages, MostPages int
	// Globals are numbers that change, i64 each, with their values at first.
	Globals []int64
	// Table is how many entries a table of functions has; Elements are the first of them.
	Table    int
	Elements []int
	// Data is what the memory begins with.
	Data  string
	Start int // the function that starts it, by its index; 0 for none
	Funcs []Func
}

var letters = map[rune]byte{'i': 0x7F, 'l': 0x7E, 'f': 0x7D, 'd': 0x7C}

// Bytes is the module.
func (m Program) Bytes() []byte {
	var types, imports, functions, exports, code [][]byte
	typ := func(signature string) []byte {
		params, results, _ := strings.Cut(signature, ">")
		types = append(types, append(append([]byte{0x60}, list(params)...), list(results)...))
		return Unsigned(len(types) - 1)
	}
	for _, i := range m.Imports {
		entry := append(append(text(i.Module), text(i.Name)...), 0)
		imports = append(imports, append(entry, typ(i.Signature)...))
	}
	for i, f := range m.Funcs {
		functions = append(functions, typ(f.Signature))
		if f.Name != "" {
			exports = append(exports, append(append(text(f.Name), 0), Unsigned(len(m.Imports)+i)...))
		}
		var locals [][]byte
		for _, l := range f.Locals {
			locals = append(locals, []byte{1, letters[l]})
		}
		body := append(append(vector(locals), f.Code...), 0x0B)
		code = append(code, append(Unsigned(len(body)), body...))
	}
	if m.Pages > 0 {
		exports = append(exports, append(text("memory"), 2, 0))
	}
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, body []byte) {
		out = append(append(append(out, id), Unsigned(len(body))...), body...)
	}
	section(1, vector(types))
	section(2, vector(imports))
	section(3, vector(functions))
	if m.Table > 0 {
		section(4, append([]byte{1, 0x70, 0}, Unsigned(m.Table)...))
	}
	if m.Pages > 0 {
		limits := append([]byte{1, 0}, Unsigned(m.Pages)...)
		if m.MostPages > 0 {
			limits = append(append([]byte{1, 1}, Unsigned(m.Pages)...), Unsigned(m.MostPages)...)
		}
		section(5, limits)
	}
	section(6, vector(m.globals()))
	section(7, vector(exports))
	if m.Start > 0 {
		section(8, Unsigned(m.Start))
	}
	if len(m.Elements) > 0 {
		elements := []byte{1, 0, 0x41, 0, 0x0B}
		elements = append(elements, Unsigned(len(m.Elements))...)
		for _, e := range m.Elements {
			elements = append(elements, Unsigned(e)...)
		}
		section(9, elements)
	}
	section(10, vector(code))
	if m.Data != "" {
		section(11, append([]byte{1, 0, 0x41, 0, 0x0B}, text(m.Data)...))
	}
	return out
}

func (m Program) globals() (list [][]byte) {
	for _, g := range m.Globals {
		list = append(list, append(append([]byte{0x7E, 1, 0x42}, Signed(g)...), 0x0B))
	}
	return list
}

func list(types string) []byte {
	b := Unsigned(len(types))
	for _, t := range types {
		b = append(b, letters[t])
	}
	return b
}

func vector(entries [][]byte) []byte {
	b := Unsigned(len(entries))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

func text(s string) []byte { return append(Unsigned(len(s)), s...) }

// Unsigned is a number without a sign, as modules write it.
func Unsigned(n int) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// Signed is a number with a sign.
func Signed(n int64) (b []byte) {
	for {
		c := byte(n & 0x7F)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Code joins instructions: bytes, ints (of a byte) and slices of bytes.
func Code(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// I32 and I64 push a number.
func I32(n int64) []byte { return append([]byte{0x41}, Signed(n)...) }

// I64 pushes a number.
func I64(n int64) []byte { return append([]byte{0x42}, Signed(n)...) }

// Functions that several tests call.

// Spin never ends.
func Spin(name string) Func {
	return Func{Name: name, Signature: "d>d", Code: Code(0x03, 0x40, 0x0C, 0, 0x0B, 0x00)}
}

// SumTo adds up the numbers from one to its argument, one after the other.
func SumTo(name string) Func {
	return Func{Name: name, Signature: "l>l", Locals: "l", Code: Code(
		0x02, 0x40, 0x03, 0x40, 0x20, 0, 0x50, 0x0D, 1, 0x20, 1, 0x20, 0, 0x7C, 0x21, 1, 0x20, 0, 0x42, 1, 0x7D,
		0x21, 0, 0x0C, 0, 0x0B, 0x0B, 0x20, 1)}
}

// Weigh is a*b + c*d.
func Weigh(name string) Func {
	return Func{Name: name, Signature: "dddd>d",
		Code: Code(0x20, 0, 0x20, 1, 0xA2, 0x20, 2, 0x20, 3, 0xA2, 0xA0)}
}

// Echo answers with the value that it is given; it needs a memory, and Alloc beside it.
func Echo(name string) Func {
	return Func{Name: name, Signature: "ii>l",
		Code: Code(0x20, 0, 0xAD, 0x42, 32, 0x86, 0x20, 1, 0xAD, 0x84)}
}

// Alloc gives room at a fixed place.
func Alloc(at int64) Func {
	return Func{Name: "alloc", Signature: "i>i", Code: I32(at)}
}

// Say answers with what is at a place in the memory, whatever it is given.
func Say(name string, at, n int64) Func {
	return Func{Name: name, Signature: "ii>l", Code: I64(at<<32 | n)}
}

// Count counts its calls in a global, the first, and answers with their number.
func Count(name string) Func {
	return Func{Name: name, Signature: "l>l", Code: Code(0x23, 0, 0x42, 1, 0x7C, 0x24, 0, 0x23, 0)}
}

// Tally counts its calls in the memory, at an address, and answers with what is there.
func Tally(name string, at int64) Func {
	read := Code(I32(at), 0x29, 3, 0)
	return Func{Name: name, Signature: "l>l", Code: Code(I32(at), read, 0x42, 1, 0x7C, 0x37, 3, 0, read)}
}

// Trap gives up.
func Trap(name string) Func { return Func{Name: name, Signature: "d>d", Code: Code(0x00)} }

// Grow asks for more and more memory, and gives up when there is none.
func Grow(name string) Func {
	return Func{Name: name, Signature: "d>d", Code: Code(
		0x03, 0x40, 0x41, 1, 0x40, 0, 0x41, 0x7F, 0x46, 0x04, 0x40, 0x00, 0x0B, 0x0C, 0, 0x0B, 0x00)}
}
