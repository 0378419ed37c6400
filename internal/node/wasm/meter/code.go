package meter

// The instructions that are known by name here.
const (
	opUnreachable    = 0x00
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opEnd            = 0x0B
	opBr             = 0x0C
	opBrIf           = 0x0D
	opBrTable        = 0x0E
	opCall           = 0x10
	opCallIndirect   = 0x11
	opSelectTyped    = 0x1C
	opLocalGet       = 0x20
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opTableGet       = 0x25
	opTableSet       = 0x26
	opLoad           = 0x28 // the first of them
	opStore          = 0x36 // the first of them
	opLastStore      = 0x3E
	opMemorySize     = 0x3F
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
	opI32Equal       = 0x46
	opI64LessThan    = 0x53
	opI64GreaterThan = 0x55
	opI64Add         = 0x7C
	opI64Subtract    = 0x7D
	opI64Shift       = 0x88 // to the right, without a sign
	opI64Extend      = 0xAD // of an i32 without a sign
	opLastPlain      = 0xC4
	opRefNull        = 0xD0
	opRefIsNull      = 0xD1
	opRefFunc        = 0xD2
	opBulk           = 0xFC
	opVector         = 0xFD

	noType = 0x40 // of a block
)

const (
	// maxLocals bounds the locals of a function, as engines do, and maxAllLocals those of a module: an engine keeps
	// eight bytes for each, and a few bytes of code make 50,000.
	maxLocals, maxAllLocals = 50_000, 1 << 20
	// maxBody bounds the code of a function, of which an engine makes some 250 times as many bytes at once.
	maxBody = 1 << 20
)

const (
	// maxDepth bounds how deep calls go, in words of the stack as they are estimated: 4 MiB. Without it an engine gives
	// each call a hundred of them.
	maxDepth = 1 << 19
	// frame is what each call takes of that, beside its locals and an eighth of its instructions.
	frame = 16
)

// function is one function on its way.
type function struct {
	w      *rewriter
	r      *reader
	out    []byte
	copied int // up to where the text has been copied
	body   body
	locals int  // with the parameters; the one that is put in comes behind them
	sized  bool // it needs a local for a number of bytes
	deep   bool // it needs one for how deep it is, for it calls others
	edits  []edit
	open   []int // by block that is open: the edit of a loop, -1 for others
	count  int64 // instructions so far
}

// edit is something that is put in at a place, in the place of what stands there up to another.
type edit struct {
	at, until int
	function  int   // its index is put in, unless cost or sized say something else
	cost      int64 // is charged
	sized     bool  // what is on top of the stack is charged
	grown     bool  // what memory.grow has answered is looked at
	returned  bool  // a call has come back: it is as deep again as it was
	entry     bool  // the function begins, and is deeper than who has called it
}

// rewriteCode puts the meter into all functions.
func (w *rewriter) rewriteCode(r *reader) []byte {
	n := 0
	if w.given[codeSection] {
		n = r.count()
	}
	if own := len(w.functions) - w.imported; r.err == nil && n != own {
		r.fail("there are %d functions, and code for %d", own, n)
	}
	if r.err != nil {
		return nil
	}
	out := appendUnsigned(make([]byte, 0, 2*len(r.b)), uint64(n))
	w.bodies = make([]body, n)
	var text []byte
	locals := 0
	for i := range n {
		f := &function{w: w, r: &reader{b: r.bytes(), what: r.what}, out: text[:0]}
		f.locals = len(w.types[w.functions[w.imported+i]].Params)
		if len(f.r.b) > maxBody {
			f.r.fail("a function has %d bytes of code, and may have %d", len(f.r.b), maxBody)
		} else if f.rewrite(); f.r.err == nil {
			if locals += f.locals; locals > maxAllLocals {
				f.r.fail("the functions have more than %d locals", maxAllLocals)
			}
		}
		if r.err == nil {
			r.err = f.r.err
		}
		if r.err != nil {
			return nil
		}
		w.bodies[i], text = f.body, f.out
		out = appendUnsigned(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out
}

func (f *function) rewrite() {
	r := f.r
	groups := r.count()
	from := r.at
	for range groups {
		n := r.u32()
		if r.valueType(); n > maxLocals || f.locals+int(n) > maxLocals {
			r.fail("a function has more than %d locals", maxLocals)
		}
		if f.locals += int(n); r.err != nil {
			return
		}
	}
	locals, begin := r.b[from:r.at], r.at
	f.edits = append(f.edits, edit{at: begin, until: begin, entry: true})
	f.open = append(f.open, 0) // the function itself counts as a loop does
	for len(f.open) > 0 && r.err == nil {
		f.instruction()
	}
	if r.at < len(r.b) {
		r.fail("something follows a function")
	}
	if r.err != nil {
		return
	}
	more := 0
	for _, own := range []bool{f.deep, f.sized} {
		if own {
			more++
		}
	}
	f.out = append(appendUnsigned(f.out, uint64(groups+more)), locals...)
	if f.deep {
		f.out = append(f.out, 1, byte(I64))
	}
	if f.sized {
		f.out = append(f.out, 1, byte(I32))
	}
	f.copied = begin
	for _, e := range f.edits {
		f.out = append(f.out, r.b[f.copied:e.at]...)
		f.put(e)
		f.copied = e.until
	}
	f.out = append(f.out, r.b[f.copied:]...)
}

// put writes what is put in.
func (f *function) put(e edit) {
	left := f.w.first() // of the globals that are put in
	get := func() { f.out = appendUnsigned(append(f.out, opGlobalGet), left) }
	set := func() { f.out = appendUnsigned(append(f.out, opGlobalSet), left) }
	bytes, depth := f.place(f.deep), uint64(f.locals)
	switch {
	case e.returned:
		if f.deep {
			f.out = appendUnsigned(append(f.out, opLocalGet), depth)
			f.out = appendUnsigned(append(f.out, opGlobalSet), left+2)
		}
		return
	case e.grown: // what it has answered stays where it is, and full = 1 when that is -1
		f.out = appendUnsigned(append(f.out, opLocalTee), bytes)
		f.out = append(f.out, opI32Const, 0x7F, opI32Equal, opIf, noType, opI64Const, 1)
		f.out = append(appendUnsigned(append(f.out, opGlobalSet), left+1), opEnd)
		f.out = appendUnsigned(append(f.out, opLocalGet), bytes)
		return
	case e.sized: // n stays where it is, and left -= n/16
		f.out = appendUnsigned(append(f.out, opLocalTee), bytes)
		get()
		f.out = appendUnsigned(append(f.out, opLocalGet), bytes)
		f.out = append(f.out, opI64Extend, opI64Const, 4, opI64Shift, opI64Subtract)
	case e.cost > 0:
		get()
		f.out = append(appendSigned(append(f.out, opI64Const), e.cost), opI64Subtract)
	default:
		f.out = appendUnsigned(f.out, f.w.moved(e.function))
		return
	}
	set()
	get()
	f.out = append(f.out, opI64Const, 0, opI64LessThan, opIf, noType, opCall)
	f.out = appendUnsigned(f.out, uint64(f.w.imported))
	set()
	if f.out = append(f.out, opEnd); e.entry && f.deep {
		f.enter()
	}
}

// enter has a function be deeper than who has called it, by about what it takes of the stack: depth is a local and a
// global, and full = 2 before it gives up.
func (f *function) enter() {
	first, local := f.w.first(), uint64(f.locals)
	f.out = appendUnsigned(append(f.out, opGlobalGet), first+2)
	f.out = append(appendSigned(append(f.out, opI64Const), frame+int64(f.locals)+f.count/8), opI64Add)
	f.out = appendUnsigned(append(f.out, opLocalTee), local)
	f.out = appendUnsigned(append(f.out, opGlobalSet), first+2)
	f.out = appendUnsigned(append(f.out, opLocalGet), local)
	f.out = append(appendSigned(append(f.out, opI64Const), maxDepth), opI64GreaterThan, opIf, noType, opI64Const, 2)
	f.out = append(appendUnsigned(append(f.out, opGlobalSet), first+1), opUnreachable, opEnd)
}

// place is that of the local for a number of bytes.
func (f *function) place(behind bool) uint64 {
	if behind {
		return uint64(f.locals) + 1
	}
	return uint64(f.locals)
}

// instruction passes over one instruction, and notes what it needs.
func (f *function) instruction() {
	r, at := f.r, f.r.at
	f.count++
	switch op := r.byte(); {
	case op == opBlock || op == opIf || op == opLoop:
		f.blockType()
		if op != opLoop {
			f.open = append(f.open, -1)
			return
		}
		f.open = append(f.open, len(f.edits))
		f.edits = append(f.edits, edit{at: r.at, until: r.at, cost: f.count})
	case op == opEnd:
		if e := f.open[len(f.open)-1]; e >= 0 {
			f.edits[e].cost = f.count - f.edits[e].cost
		}
		f.open = f.open[:len(f.open)-1]
	case op <= 0x05 || op == 0x0F || op == 0x1A || op == 0x1B: // without anything behind them
	case op == opBr || op == opBrIf:
		r.u32()
	case op == opBrTable:
		for range r.count() + 1 {
			r.u32()
		}
	case op == opCall || op == opRefFunc:
		f.names(op == opCall)
	case op == opCallIndirect:
		r.index("type", len(f.w.types))
		r.u32()
		f.body.indirect = true
		f.called()
	case op == opSelectTyped:
		r.types()
	case op >= opLocalGet && op <= opLocalTee:
		r.index("local", f.locals)
	case op == opGlobalGet || op == opGlobalSet:
		i := r.index("global", len(f.w.globals))
		f.body.writes = f.body.writes || op == opGlobalSet
		if op == opGlobalSet && r.err == nil && !f.w.globals[i].number() {
			f.body.spoils = true // it cannot be put back
		}
	case op == opTableGet || op == opTableSet:
		r.u32()
		f.body.spoils = f.body.spoils || op == opTableSet
	case op >= opLoad && op <= opLastStore:
		f.address()
		f.body.writes = f.body.writes || op >= opStore
	case op == opMemorySize || op == opMemoryGrow:
		r.byte()
		if op == opMemoryGrow {
			f.edits = append(f.edits, edit{at: at, until: at, cost: growth}, edit{at: r.at, until: r.at, grown: true})
			f.sized, f.body.writes = true, true
		}
	case op == opI32Const:
		r.signed(32)
	case op == opI64Const:
		r.signed(64)
	case op == opF32Const:
		r.skip(4)
	case op == opF64Const:
		r.skip(8)
	case op > opF64Const && op <= opLastPlain || op == opRefIsNull:
	case op == opRefNull:
		r.valueType()
	case op == opBulk:
		f.bulk(at)
	case op == opVector:
		f.vector()
	default:
		r.fail("the instruction %#x is not supported", op)
	}
}

// names passes over the index of a function, which is called or referred to.
func (f *function) names(calls bool) {
	from := f.r.at
	named := f.r.index("function", len(f.w.functions))
	f.edits = append(f.edits, edit{at: from, until: f.r.at, function: named})
	if calls {
		f.body.calls = append(f.body.calls, named)
		f.called()
	}
}

// called notes that a call ends here.
func (f *function) called() {
	f.edits, f.deep = append(f.edits, edit{at: f.r.at, until: f.r.at, returned: true}), true
}

func (f *function) blockType() {
	r := f.r
	if r.at < len(r.b) {
		if c := r.b[r.at]; c == noType || Type(c).known() {
			r.at++
			return
		}
	}
	from := r.at
	r.index("type", len(f.w.types))
	// It is written with a sign. What has one is a type that an engine may know, and go on reading otherwise than here.
	if r.err == nil && r.b[r.at-1]&0x40 != 0 {
		r.fail("the type %#x of a block is not supported", r.b[from:r.at])
	}
}

func (f *function) address() {
	f.r.u32()
	f.r.u32()
}
