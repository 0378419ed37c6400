package eval

import (
	"cmp"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// What one evaluation may make and do. The limits are far above what a node
// needs and far below what would hold up the other graphs.
const (
	MaxItems = 1 << 20 // elements of a list that an expression makes
	maxDepth = 1_000   // nesting of a value that an expression makes
	maxZones = 64      // time zones that an Env keeps: more than an expression names

	// Work is counted in elements visited, times the size of the predicate that
	// visits them: a whole evaluation takes well under a second.
	maxWork     = 1 << 24
	maxFoldWork = 1 << 16 // of it, what folding a constant at compile time may do
	bytesPerJob = 4       // bytes of a value that count as one unit of work
)

// Charge counts work; false when there is no more to spend.
func (e *Env) Charge(at Site, n int) bool {
	if e.work += n; e.work <= cmp.Or(e.Most, maxWork) {
		return true
	}
	e.Fail(at, rules.CodeLimitExceeded, "the expression does too much work for one evaluation: it may look at "+
		"16,777,216 elements, each counted once for every part of what looks at it; let it look at fewer, or share "+
		"them out over several nodes")
	return false
}

// Fits reports whether a string of n bytes may be made, and counts it.
func (e *Env) Fits(at Site, n int) bool {
	if n <= rules.MaxString {
		return e.Charge(at, n/64)
	}
	e.Fail(at, rules.CodeLimitExceeded, "the string would be longer than 8 MiB")
	return false
}

// Room reports whether a list of n elements may be made, and counts it.
func (e *Env) Room(at Site, n int) bool {
	if n <= MaxItems {
		return e.Charge(at, n)
	}
	e.Fail(at, rules.CodeLimitExceeded, "the list would have more than 1,048,576 elements")
	return false
}

// Weight is the work of looking at all of a value.
func Weight(v boundary.Value) int {
	if s, ok := v.AsString(); ok {
		return len(s) / 64
	}
	if v.Depth() > 0 {
		return v.Size() / bytesPerJob
	}
	return 0
}

// admit checks the parts of a list or object that is being made. Where a value
// can be used several times, its size is counted each time: a value that stands
// for very much more than it takes to make it would be too large for everyone after.
func (e *Env) admit(at Site, parts []boundary.Value, shared bool) bool {
	for _, p := range parts {
		depth := p.Depth()
		if depth >= maxDepth {
			e.Fail(at, rules.CodeLimitExceeded, "lists and objects are nested more than 1,000 deep")
			return false
		}
		if shared && (depth > 0 || p.Kind() == boundary.KindString) && !e.Charge(at, p.Size()/bytesPerJob) {
			return false
		}
	}
	return true
}

// List makes a list of items that came together in the evaluation. It takes
// ownership of items.
func (e *Env) List(at Site, items []boundary.Value) boundary.Value {
	if !e.admit(at, items, true) {
		return boundary.Value{}
	}
	return boundary.List(items)
}

// Object makes an object of the collected fields, and takes ownership of them.
func (e *Env) Object(at Site, f *Fields) boundary.Value {
	if !e.admit(at, f.values, true) {
		return boundary.Value{}
	}
	return boundary.Object(boundary.NewShape(f.names...), f.values)
}

// String makes a string that is not longer than it may be.
func (e *Env) String(at Site, s string) boundary.Value {
	if !e.Fits(at, len(s)) {
		return boundary.Value{}
	}
	return boundary.String(s)
}

// Fields collects the fields of an object; a name given twice has its last
// value. The zero Fields is empty.
type Fields struct {
	names  []string
	values []boundary.Value
	index  map[string]int
}

// at is the place of name's value, which is absent when the name is new.
func (f *Fields) at(name string) int {
	i, ok := f.index[name]
	if !ok {
		if f.index == nil {
			f.index = make(map[string]int)
		}
		i = len(f.names)
		f.index[name] = i
		f.names, f.values = append(f.names, name), append(f.values, boundary.Value{})
	}
	return i
}

// Set gives a field its value.
func (f *Fields) Set(name string, v boundary.Value) { f.values[f.at(name)] = v }
