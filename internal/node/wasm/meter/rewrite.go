package meter

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// The sections of a module.
const (
	customSection = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	countSection
	sections
)

var names = [sections]string{"custom section", "types", "imports", "list of functions", "tables", "memory", "globals",
	"exports", "start function", "elements", "code", "data", "number of data segments"}

// written is the order in which sections stand.
var written = [...]int{typeSection, importSection, functionSection, tableSection, memorySection, globalSection,
	exportSection, startSection, elementSection, countSection, codeSection, dataSection}

// magic is what modules of this version begin with.
var magic = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// rewriter is one module on its way.
type rewriter struct {
	sections [sections][]byte
	given    [sections]bool
	out      Module

	types     []Signature
	imported  int   // functions that it imports: the place of the one that is put in
	functions []int // their types, those that are imported first
	globals   []global
	bodies    []body
}

// global is a global of the module.
type global struct {
	typ      Type
	changes  bool
	imported bool
}

// Rewrite puts a meter into a module.
func Rewrite(module []byte) (*Module, error) {
	w := &rewriter{}
	if err := w.split(module); err != nil {
		return nil, err
	}
	w.out.exports, w.out.all = map[string]int{}, w
	// In the order in which one speaks of the other, and not of the sections.
	for _, step := range []struct {
		section int
		rewrite func(r *reader) []byte
	}{
		{typeSection, w.rewriteTypes},
		{importSection, w.rewriteImports},
		{functionSection, w.readFunctions},
		{tableSection, w.rewriteTables},
		{memorySection, w.readMemories},
		{globalSection, w.rewriteGlobals},
		{startSection, w.rewriteStart},
		{elementSection, w.rewriteElements},
		{codeSection, w.rewriteCode},
		{exportSection, w.rewriteExports},
		{countSection, w.readCount},
		{dataSection, w.readData},
	} {
		r := &reader{b: w.sections[step.section], what: names[step.section]}
		text := step.rewrite(r)
		if r.err == nil && r.at < len(r.b) {
			r.fail("something follows")
		}
		if r.err != nil {
			return nil, r.err
		}
		w.sections[step.section] = text
	}
	w.out.Code = w.join()
	w.sections = [sections][]byte{} // what a function can change is known without them
	return &w.out, nil
}

// split finds the sections.
func (w *rewriter) split(module []byte) error {
	if !bytes.HasPrefix(module, magic) {
		return fmt.Errorf("%w: it does not begin as one of version 1", ErrModule)
	}
	r := &reader{b: module, at: len(magic), what: "module"}
	for !r.done() {
		id := r.byte()
		text := r.bytes()
		switch {
		case r.err != nil:
		case id >= sections:
			r.fail("there is no section %d", id)
		case id == customSection:
		case w.given[id] || len(text) == 0:
			r.fail("there are two sections %d, or it has nothing in it", id)
		default:
			w.sections[id], w.given[id] = text, true
		}
	}
	return r.err
}

func (w *rewriter) join() []byte {
	code := slices.Clone(magic)
	for _, id := range written {
		text := w.sections[id]
		if len(text) == 0 && !w.given[id] {
			continue
		}
		code = append(code, byte(id))
		code = appendUnsigned(code, uint64(len(text)))
		code = append(code, text...)
	}
	return code
}

func (w *rewriter) rewriteTypes(r *reader) []byte {
	n := 0
	if w.given[typeSection] {
		n = r.count()
	}
	from := r.at
	for range n {
		if r.byte() != 0x60 {
			r.fail("there are other types than those of functions")
		}
		w.types = append(w.types, Signature{r.types(), r.types()})
	}
	b := appendUnsigned(nil, uint64(n+1))
	b = append(b, r.b[from:r.at]...)
	return append(b, 0x60, 0, 1, byte(I64))
}

func (w *rewriter) rewriteImports(r *reader) []byte {
	n := 0
	if w.given[importSection] {
		n = r.count()
	}
	from := r.at
	for range n {
		i := Import{Module: string(r.bytes()), Name: string(r.bytes()), Kind: Kind(r.byte())}
		switch i.Kind {
		case KindFunction:
			t := r.index("type", len(w.types))
			if r.err == nil {
				i.Signature = w.types[t]
			}
			w.functions = append(w.functions, t)
		case KindTable:
			r.valueType()
			r.limits()
		case KindMemory:
			r.limits()
		case KindGlobal:
			w.globals = append(w.globals, global{typ: r.valueType(), changes: r.byte() != 0, imported: true})
		default:
			r.fail("there is no kind of import %d", i.Kind)
		}
		w.out.Imports = append(w.out.Imports, i)
		if r.err != nil {
			return nil
		}
	}
	w.imported = len(w.functions)
	b := appendUnsigned(nil, uint64(n+1))
	b = append(b, r.b[from:r.at]...)
	b = appendText(appendText(b, ImportModule), ImportName)
	b = append(b, byte(KindFunction))
	return appendUnsigned(b, uint64(len(w.types)))
}

func (w *rewriter) readFunctions(r *reader) []byte {
	if w.given[functionSection] {
		for range r.count() {
			w.functions = append(w.functions, r.index("type", len(w.types)))
		}
	}
	return r.b
}

func (w *rewriter) readMemories(r *reader) []byte {
	if w.given[memorySection] {
		for range r.count() {
			w.out.Pages, _ = r.limits()
			w.out.Memory = true
		}
	}
	return r.b
}

// moved is a function's index with the function that is put in.
func (w *rewriter) moved(function int) uint64 {
	if function >= w.imported {
		function++
	}
	return uint64(function)
}

func (w *rewriter) rewriteGlobals(r *reader) []byte {
	n := 0
	if w.given[globalSection] {
		n = r.count()
	}
	var b []byte
	for range n {
		g := global{typ: r.valueType(), changes: r.byte() != 0}
		b = append(b, byte(g.typ), bit(g.changes))
		b = w.constant(b, r)
		w.globals = append(w.globals, g)
	}
	// How many instructions may follow, what it has found too little of, and how deep calls are; and the room around.
	const put = apart + 3 + apart
	b = append(appendUnsigned(nil, uint64(n+put)), b...)
	for range put {
		b = append(b, byte(I64), 1, opI64Const, 0, opEnd)
	}
	return b
}

// apart is how many globals nobody reads stand before and behind those that each turn of a loop writes. An engine keeps
// an instance's globals in one piece, next to what belongs to another instance: without room of a cache line and the
// one that is fetched with it, two instances on two processors take the line from each other at each turn, and go
// slower than one behind the other.
const apart = 8

// first is the index of the first global that the functions use of those that are put in.
func (w *rewriter) first() uint64 { return uint64(len(w.globals) + apart) }

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

func (w *rewriter) rewriteStart(r *reader) []byte {
	if !w.given[startSection] {
		return nil
	}
	return appendUnsigned(nil, w.moved(r.index("function", len(w.functions))))
}

func (w *rewriter) rewriteExports(r *reader) []byte {
	n := 0
	if w.given[exportSection] {
		n = r.count()
	}
	var b []byte
	for range n {
		name, kind := string(r.bytes()), Kind(r.byte())
		b = append(appendText(b, name), byte(kind))
		switch kind {
		case KindFunction:
			f := r.index("function", len(w.functions))
			b = appendUnsigned(b, w.moved(f))
			if r.err == nil {
				w.out.exports[name] = f
			}
		case KindGlobal:
			b = appendUnsigned(b, uint64(r.index("global", len(w.globals))))
		default:
			b = appendUnsigned(b, uint64(r.u32()))
		}
		if r.err != nil {
			return nil
		}
	}
	for i, g := range w.globals {
		if !g.changes || g.imported || !g.number() {
			continue
		}
		name := "graphd:global:" + strconv.Itoa(i)
		b = append(appendText(b, name), byte(KindGlobal))
		b = appendUnsigned(b, uint64(i))
		w.out.Globals = append(w.out.Globals, name)
	}
	for i, name := range []string{Full, Depth} {
		b = append(appendText(b, name), byte(KindGlobal))
		b = appendUnsigned(b, w.first()+1+uint64(i))
		w.out.Globals = append(w.out.Globals, name)
	}
	return append(appendUnsigned(nil, uint64(n+len(w.out.Globals))), b...)
}

// number reports whether the host can put the global back.
func (g global) number() bool { return g.typ >= F64 && g.typ <= I32 }
