package meter

// body is what a function of the module does.
type body struct {
	writes, spoils bool
	calls          []int // the functions that it calls by their indexes
	indirect       bool  // it calls what a table says
}

// describe says what a call of a function can come to, by all that it can call.
func (w *rewriter) describe(function int) Function {
	f := Function{Signature: w.types[w.functions[function]]}
	seen := make([]bool, len(w.functions))
	next := []int{function}
	seen[function] = true
	visit := func(i int) {
		if !seen[i] {
			seen[i] = true
			next = append(next, i)
		}
	}
	all := false
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if i < w.imported { // the host may write into the memory
			f.Writes = true
			continue
		}
		b := &w.bodies[i-w.imported]
		f.Writes, f.Spoils = f.Writes || b.writes, f.Spoils || b.spoils
		for _, called := range b.calls {
			visit(called)
		}
		if b.indirect && !all {
			all = true
			for any := range w.functions {
				visit(any)
			}
		}
	}
	return f
}
