package meter

const (
	// maxTables and maxTable bound the tables and the entries of each: an engine makes room for them, of a word each.
	maxTables = 16
	maxTable  = 1 << 17
)

// rewriteTables gives every table a bound.
func (w *rewriter) rewriteTables(r *reader) []byte {
	if !w.given[tableSection] {
		return nil
	}
	n := r.count()
	if n > maxTables {
		r.fail("there are more than %d tables", maxTables)
	}
	b := appendUnsigned(nil, uint64(n))
	for range n {
		b = append(b, byte(r.valueType()), 1)
		least, most := r.limits()
		if least > maxTable {
			r.fail("a table has more than %d entries", maxTable)
		}
		if r.err != nil {
			return nil
		}
		b = appendUnsigned(appendUnsigned(b, least), min(most, maxTable))
	}
	return b
}

func (w *rewriter) readCount(r *reader) []byte {
	if w.given[countSection] {
		r.u32()
	}
	return r.b
}

// readData looks whether there is as much as is said: engines make room for it.
func (w *rewriter) readData(r *reader) []byte {
	if !w.given[dataSection] {
		return nil
	}
	for range r.count() {
		form := r.u32()
		if form > 2 {
			r.fail("there is no form %d of it", form)
		}
		if form == 2 {
			r.u32() // the memory
		}
		if form != 1 {
			w.constant(nil, r)
		}
		if r.bytes(); r.err != nil {
			return nil
		}
	}
	return r.b
}

// rewriteElements copies what tables begin with.
func (w *rewriter) rewriteElements(r *reader) []byte {
	if !w.given[elementSection] {
		return nil
	}
	n := r.count()
	b := appendUnsigned(nil, uint64(n))
	for range n {
		form := r.u32()
		if form > 7 {
			r.fail("there is no form %d of them", form)
		}
		if r.err != nil {
			return nil
		}
		b = appendUnsigned(b, uint64(form))
		active, typed, expressions := form&1 == 0, form&3 != 0, form&4 != 0
		if form&3 == 2 {
			b = appendUnsigned(b, uint64(r.u32())) // the table
		}
		if active {
			b = w.constant(b, r)
		}
		if typed {
			b = append(b, r.byte()) // what they are
		}
		items := r.count()
		b = appendUnsigned(b, uint64(items))
		for range items {
			if expressions {
				b = w.constant(b, r)
			} else {
				b = appendUnsigned(b, w.moved(r.index("function", len(w.functions))))
			}
			if r.err != nil {
				return nil
			}
		}
	}
	return b
}

// constant copies an expression that is computed when the module is made.
func (w *rewriter) constant(b []byte, r *reader) []byte {
	for r.err == nil {
		from := r.at
		switch op := r.byte(); op {
		case opEnd:
			return append(b, opEnd)
		case opI32Const:
			r.signed(32)
		case opI64Const:
			r.signed(64)
		case opF32Const:
			r.skip(4)
		case opF64Const:
			r.skip(8)
		case opRefNull:
			r.valueType()
		case opGlobalGet:
			r.index("global", len(w.globals))
		case opVector:
			if r.u32() != 12 { // v128.const
				r.fail("an expression of a vector is none that is constant")
			}
			r.skip(16)
		case opRefFunc:
			b = append(b, opRefFunc)
			b = appendUnsigned(b, w.moved(r.index("function", len(w.functions))))
			from = r.at
		default:
			r.fail("the instruction %#x is none that is constant", op)
		}
		if r.err == nil {
			b = append(b, r.b[from:r.at]...)
		}
	}
	return b
}
