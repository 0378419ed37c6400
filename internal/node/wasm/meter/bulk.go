package meter

// bulk passes over the rest of an instruction that may work on many bytes.
func (f *function) bulk(at int) {
	r := f.r
	switch op := r.u32(); op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // conversions
		return
	case 8, 10: // memory.init, memory.copy
		r.u32()
		r.byte()
		f.body.writes = true
	case 11: // memory.fill
		r.byte()
		f.body.writes = true
	case 9, 13: // data.drop, elem.drop
		r.u32()
		f.body.spoils = true
		return
	case 12, 14: // table.init, table.copy
		r.u32()
		r.u32()
		f.body.spoils = true
	case 15, 17: // table.grow, table.fill
		r.u32()
		f.body.spoils = true
	case 16: // table.size
		r.u32()
		return
	default:
		r.fail("the instruction %#x %d is not supported", opBulk, op)
	}
	f.sized = true
	f.edits = append(f.edits, edit{at: at, until: at, sized: true})
}

// vector passes over the rest of an instruction about vectors.
func (f *function) vector() {
	r := f.r
	// The engine reads one byte, and takes the second one of the later instructions, a 1, for one that does nothing.
	op := r.byte()
	if op >= 0x80 && r.byte() != 1 {
		r.fail("the instruction %#x %#x is not supported", opVector, op)
	}
	switch {
	case op <= 11 || op == 92 || op == 93: // loads, and a store
		f.address()
		f.body.writes = f.body.writes || op == 11
	case op == 12 || op == 13: // a constant, a shuffle
		r.skip(16)
	case op >= 21 && op <= 34: // of a lane
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of a lane
		f.address()
		r.byte()
		f.body.writes = f.body.writes || op >= 88
	}
}
