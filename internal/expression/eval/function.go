package eval

import (
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Function is a function that expressions can call. A name that begins with a
// dot is a method, whose receiver is its first argument.
type Function struct {
	Name string
	// Params are the kinds each argument may have; the last one goes for all that follow.
	Params []Kinds
	// Min and Max are how many arguments there are. When both are 0, there
	// are as many as Params.
	Min, Max int
	// Mistake, when set, finds in the kinds of the arguments, KindAbsent where one is not known, what
	// no single one of them shows; "" for nothing.
	Mistake func(kinds []boundary.Kind) string
	// Result is the kind of every result but null; KindAbsent when it varies.
	// Same says that it is the kind of the first argument.
	Result boundary.Kind
	Same   bool
	// Call computes the result. The arguments have passed the check of their
	// number and kinds; the slice is valid during the call only. On failure it
	// returns what [Env.Fail] returns.
	Call func(e *Env, at Site, args []boundary.Value) boundary.Value
	// Prepare, when set, makes the Call of one place of an expression, for the arguments that are
	// constants there; the others are absent.
	Prepare func(constants []boundary.Value) func(e *Env, at Site, args []boundary.Value) boundary.Value
	// OnFloat and OnInt, when set, are short ways for a single number. OnFloat
	// goes for ints too when there is no OnInt. Where they give no finite float
	// or false, Call finds out why.
	OnFloat func(float64) float64
	OnInt   func(int64) (int64, bool)
	// Clock and Rand say what the scope has to allow.
	Clock, Rand bool
	// OfEpoch says that only an epoch knows the answer: fresh and cause.
	OfEpoch bool
	OfLoop  bool // only an iteration of a loop knows the answer
	// Remember makes the memory of one call, and Step, in the place of Call, computes the
	// result with it. Both are nil for functions that look at their arguments alone.
	Remember func() Memory
	Step     func(e *Env, at Site, m Memory, args []boundary.Value) boundary.Value
}

// Many is a Max for any number of arguments.
const Many = 1 << 30

// Kinds is a set of kinds.
type Kinds uint16

// The sets that functions take.
const (
	Null     Kinds = 1 << boundary.KindNull
	Bool     Kinds = 1 << boundary.KindBool
	Int      Kinds = 1 << boundary.KindInt
	Number   Kinds = Int | 1<<boundary.KindFloat
	Text     Kinds = 1 << boundary.KindString
	Time     Kinds = 1 << boundary.KindTime
	Duration Kinds = 1 << boundary.KindDuration
	List     Kinds = 1 << boundary.KindList
	Object   Kinds = 1 << boundary.KindObject
	Anything Kinds = 1<<(boundary.KindObject+1) - 1
	Table    Kinds = 1 << boundary.KindTable // no argument takes it but those of what looks into it
)

// Has reports whether the set has a kind.
func (k Kinds) Has(kind boundary.Kind) bool { return k&(1<<kind) != 0 }

// String is the set in words: "number", "string or list".
func (k Kinds) String() string {
	var words []string
	if k&Number == Number {
		words = append(words, "number")
		k &^= Number
	}
	k &^= Table // which nobody need be told of
	for kind := boundary.KindNull; kind <= boundary.KindObject; kind++ {
		if k.Has(kind) {
			words = append(words, kind.String())
		}
	}
	return strings.Join(words, " or ")
}

// Param is what the i-th argument may be.
func (f *Function) Param(i int) Kinds { return f.Params[min(i, len(f.Params)-1)] }

// Arguments is how many arguments f takes, a method's receiver among them.
func (f *Function) Arguments() (least, most int) {
	if f.Max == 0 {
		return len(f.Params), len(f.Params)
	}
	return f.Min, f.Max
}

// Title is the function's name in messages.
func (f *Function) Title() string { return strings.TrimPrefix(f.Name, ".") }

// apply evaluates args behind the ones already in their slots, checks and calls.
// In a loop it counts the work.
func (f *Function) apply(e *Env, at Site, slots, filled int, args []code, loop bool) boundary.Value {
	vals, ok := f.arguments(e, at, slots, filled, args, loop)
	if !ok {
		return boundary.Value{}
	}
	return f.Call(e, at, vals)
}

// arguments evaluates and checks what a call is given.
func (f *Function) arguments(e *Env, at Site, slots, filled int, args []code, loop bool) ([]boundary.Value, bool) {
	for i := range args {
		v := args[i].val(e)
		if v.IsAbsent() {
			return nil, false
		}
		e.vars[slots+filled+i] = v
	}
	vals := e.vars[slots : slots+filled+len(args)]
	for i, v := range vals {
		if !f.Param(i).Has(v.Kind()) {
			e.Fail(at, rules.CodeTypeError, "%s needs %s, got %s", f.Title(), f.Param(i), v.Kind())
			return nil, false
		}
		if loop && !e.Charge(at, Weight(v)) {
			return nil, false
		}
	}
	return vals, true
}

// call compiles a call of a function of the table.
func (c *compiler) call(n ast.Node, name string, args []ast.Node) code {
	f, at, loop := c.functions[name], c.site(n), len(c.loops) > 0
	c.outside = c.outside || f.Clock || f.Rand || f.OfEpoch || f.OfLoop
	c.clock = c.clock || f.Clock
	c.asks = c.asks || f.OfEpoch
	switch name {
	case Fresh:
		return c.fresh(args[0].(*ast.IdentifierNode))
	case RowKey:
		return c.compile(args[0])
	}
	slots := c.takeSlots(len(args))
	vals := make([]code, len(args))
	for i, a := range args {
		vals[i] = c.compile(a)
	}
	if f.Prepare != nil {
		literals := make([]boundary.Value, len(vals))
		for i := range vals {
			literals[i] = vals[i].literal
		}
		prepared := *f
		prepared.Call, f = f.Prepare(literals), &prepared
	}
	if f.Remember != nil {
		return c.remember(f, at, slots, vals)
	}
	if f.OnFloat != nil && len(args) == 1 {
		return numberCode(applyNumber(f, vals[0].number(), func(e *Env, v boundary.Value) boundary.Value {
			e.vars[slots] = v
			return f.apply(e, at, slots, 1, nil, loop)
		}))
	}
	return valueCode(func(e *Env) boundary.Value { return f.apply(e, at, slots, 0, vals, loop) })
}

// Fresh is the name of the function that looks at a name and not at its value.
const Fresh = "fresh"

// fresh compiles a call of it.
func (c *compiler) fresh(id *ast.IdentifierNode) code {
	r := &read{name: c.names[id.Value], fresh: true}
	c.reads = append(c.reads, r)
	return truthCode(func(e *Env) verdict {
		return verdictOf(r.name < len(e.Fresh) && e.Fresh[r.name])
	})
}

// IsMethodCall tells the calls that have been rewritten from methods to functions.
func IsMethodCall(n *ast.CallNode) bool {
	id, ok := n.Callee.(*ast.IdentifierNode)
	return ok && strings.HasPrefix(id.Value, ".")
}
