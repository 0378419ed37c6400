package eval

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Source is a checked expression, ready to be compiled. Every name in Tree is
// one of Names or a variable; every function is one of Functions or [Loops].
type Source struct {
	Text string
	// Original is the place in the text as it was written of one in Text, in bytes: what errors of
	// an evaluation tell. nil: the same.
	Original func(offset int) int
	Tree     ast.Node
	// Names maps the names in scope to their index in Env.Values, which has Width of them.
	Names map[string]int
	Width int
	// Functions is the table of functions.
	Functions map[string]*Function
	// Optional are the method calls that follow ?. and so pass null on.
	Optional map[ast.Node]bool
	// Shares says that a value can be used more than once: there is a let or a loop.
	Shares bool
}

// Program is a compiled expression. It is immutable after [Program.Bind] and
// may be evaluated by many goroutines at once.
type Program struct {
	code   code
	reads  []*read
	width  int // how many values an Env must have
	locals int // how many slots an evaluation needs
	clock  bool
	asks   bool
	// memories are the functions with memory that are called, each with its own memory.
	memories []*Function
}

// Read is one place where an expression looks at a name.
type Read struct {
	Name int // index in the scope
	// Path is the constant path of fields that follows: bid in orderbook.bid.
	// Empty when the value as a whole is used.
	Path []string
	// Plain reads of an absent value end the evaluation with ErrAbsent. Reads by
	// ?., on the left of ?? and beside == nil are not plain: they read null.
	Plain bool
	// Fresh says that the value is not looked at, only whether it is fresh.
	Fresh bool
}

// Compile makes a program. The error is that of an expression that rests on
// nothing and cannot be evaluated, such as 1/0.
func Compile(s Source) (*Program, *Error) {
	c := &compiler{
		text: s.Text, original: s.Original, names: s.Names, optional: s.Optional, shares: s.Shares,
		functions: s.Functions,
	}
	code := c.compile(s.Tree)
	if !c.outside && code.literal.IsAbsent() && !c.noFold {
		if _, err := c.fold(code); err != nil && err.Code != rules.CodeLimitExceeded {
			return nil, err
		}
	}
	return &Program{
		code: code, reads: c.reads, width: s.Width, locals: c.slots, clock: c.clock, asks: c.asks, memories: c.memories,
	}, nil
}

// UsesClock reports whether the expression calls now() or epoch().
func (p *Program) UsesClock() bool { return p.clock }

// AsksEpoch reports whether the expression calls fresh() or cause(): it asks something of the
// epoch that no value tells.
func (p *Program) AsksEpoch() bool { return p.asks }

// Const is the value of an expression that rests on nothing; false for others.
func (p *Program) Const() (boundary.Value, bool) {
	return p.code.literal, !p.code.literal.IsAbsent()
}

// Reads are the places where the expression looks at names, each once, in the
// order of the text. What can never be reached is listed all the same.
func (p *Program) Reads() []Read {
	var reads []Read
	for _, r := range p.reads {
		path := make([]string, len(r.path))
		for i, f := range r.path {
			path[i] = f.name
		}
		if !slices.ContainsFunc(reads, func(o Read) bool {
			return o.Name == r.name && o.Plain == r.plain && o.Fresh == r.fresh && slices.Equal(o.Path, path)
		}) {
			reads = append(reads, Read{Name: r.name, Path: path, Plain: r.plain, Fresh: r.fresh})
		}
	}
	return reads
}

// Bind says that the values of a name mostly have the shape s, so that reads of
// its fields go through slots. Values of another shape are read all the same.
// It must be called before the first evaluation.
func (p *Program) Bind(name int, s *boundary.Shape) {
	for _, r := range p.reads {
		if r.name != name || len(r.path) == 0 {
			continue
		}
		if slot, ok := s.Slot(r.path[0].name); ok {
			r.shape, r.slot = s, slot
		}
	}
}

// Eval evaluates the program. The error is [ErrAbsent] or an [*Error].
func (p *Program) Eval(e *Env) (boundary.Value, error) {
	// Most of what is asked for by itself is one field.
	if r := p.code.read; r != nil && r.shape != nil && r.name < len(e.Values) {
		if at := e.Values[r.name].SlotAt(r.shape, r.slot); at != nil && !at.IsAbsent() {
			return *at, nil
		}
	}
	if len(e.Values) < p.width || len(e.vars) < p.locals {
		if err := p.prepare(e); err != nil {
			return boundary.Value{}, err
		}
	}
	e.work = 0
	v := p.code.val(e)
	if p.locals > 0 {
		clear(e.vars[:p.locals]) // the values of this evaluation are not held on to
	}
	if v.IsAbsent() {
		return v, e.Stop()
	}
	return v, nil
}

// EvalBool evaluates a condition. A result that is no bool is a type_error.
func (p *Program) EvalBool(e *Env) (bool, error) {
	if p.code.test == nil {
		v, err := p.Eval(e)
		if err != nil {
			return false, err
		}
		b, ok := v.AsBool()
		if !ok {
			return false, &Error{Code: rules.CodeTypeError, Text: "a condition must be bool, got " + v.Kind().String()}
		}
		return b, nil
	}
	if err := p.prepare(e); err != nil {
		return false, err
	}
	e.work = 0
	v := p.code.test(e)
	if p.locals > 0 {
		clear(e.vars[:p.locals])
	}
	if v == stopped {
		return false, e.Stop()
	}
	return v == yes, nil
}

// prepare makes e ready for this program.
func (p *Program) prepare(e *Env) error {
	if len(e.Values) < p.width {
		return &Error{Code: rules.CodeInvalidArgument, Text: "an evaluation has fewer values than the scope has names"}
	}
	if len(e.vars) < p.locals {
		e.vars = make([]boundary.Value, p.locals)
	}
	return nil
}
