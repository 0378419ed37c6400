package expression

import (
	"github.com/expr-lang/expr/parser"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/library"
	"slices"
)

// Name is one name that an expression can read.
type Name struct {
	Name string
	Type Type
}

// Scope is what an expression can use: the names, in the order of Env.Values,
// and which functions beside the pure ones.
type Scope struct {
	Names []Name
	Clock bool // now() and epoch() are allowed
	Rand  bool // rand() is allowed
	// Epoch allows cause(), and fresh() of the names that arrive, by their index.
	Epoch   bool
	Arrives func(name int) bool
	// Iteration allows iteration().
	Iteration bool
	// For is who has it compiled.
	For *Caller
	// Memory allows functions that remember what they were given before: ema, lag, dedupe …
	Memory bool
}

// Env is what an evaluation works on: the values of the scope's names, and what
// now(), epoch() and rand() are. Each goroutine has its own and uses it again.
type Env = eval.Env

// Look is a row that was looked up in a table.
type Look = eval.Look

// Looks notes the rows that are looked up in tables.
type Looks = eval.Looks

// Memory is what one call of a function with memory keeps from evaluation to evaluation.
type Memory = eval.Memory

// Read is one place where an expression looks at a name.
type Read = eval.Read

// Program is a compiled expression. It is immutable after Bind and may be
// evaluated by many goroutines at once.
type Program struct {
	*eval.Program
	text string
	typ  Type
	// reckoned is what makes the result, where that is never bool; "" where it may be.
	reckoned string
	// iterates and branches are what [Program.Iterates] and [Program.Branches] say.
	iterates, branches bool
}

// Compile reads, checks and compiles the text of an expression. The error is
// an [*Error], the first mistake found.
func Compile(text string, s Scope) (*Program, error) {
	p, err := compile(text, s)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// CompileBool is [Compile] for a condition: the result must be bool, as far as
// its type is known. Evaluate it with EvalBool.
func CompileBool(text string, s Scope) (*Program, error) {
	p, err := compile(text, s)
	if err != nil {
		return nil, err
	}
	if k := p.typ.Kind(); k != boundary.KindBool && k != boundary.KindAbsent && !s.For.asks(text) {
		return nil, &Error{Code: CodeTypeMismatch, Text: "a condition must be bool, and this is " + k.String()}
	}
	if p.reckoned != "" {
		return nil, &Error{Code: CodeTypeMismatch, Text: "a condition must be bool, and " + p.reckoned +
			" never comes to one: compare what it comes to, as in … < 0.001"}
	}
	return p, nil
}

// errStopped is for nobody: who has gone does not look at it.
var errStopped = &Error{Code: CodeSyntax, Text: "it was not compiled, for nobody waits for it"}

func compile(text string, s Scope) (p *Program, err *Error) {
	// The parser and the checker are not ours: a panic of theirs must not take
	// the daemon down with it.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, &Error{Code: CodeSyntax, Text: "the expression cannot be compiled; write it in a simpler way"}
		}
	}()
	if s.For.HasGone() {
		return nil, errStopped
	}
	text = s.For.tell(text, s)
	src := bracketObjects(text)
	tree, err := parse(src.text, newConfig(src.text, s))
	if err != nil {
		return nil, src.moveBack(err)
	}
	return compileTree(&src, text, tree, s)
}

// compileTree checks and compiles a tree, or a part of one, that was read from src; text is what
// the tree stands for.
func compileTree(src *bracketed, text string, tree *parser.Tree, s Scope) (*Program, *Error) {
	all := src.text
	if err := findTables(all, tree, s); err != nil {
		return nil, src.moveBack(err)
	}
	v := newValidator(all, s)
	if err := v.validate(tree.Node); err != nil {
		return nil, src.moveBack(err)
	}
	if err := check(all, tree, newConfig(all, s)); err != nil {
		return nil, src.moveBack(err)
	}
	code, failure := eval.Compile(eval.Source{
		Text: all, Original: src.original, Tree: tree.Node, Names: v.names, Width: len(s.Names),
		Functions: library.Table(), Optional: v.optional, Shares: v.shares,
	})
	if failure != nil {
		return nil, &Error{Offset: failure.Offset, Code: failure.Code, Text: failure.Text}
	}
	return &Program{
		Program: code, text: text, typ: typeOf(tree.Node, nil), reckoned: reckoned(tree.Node),
		iterates: v.iterates, branches: v.branches,
	}, nil
}

// Text is the expression as it was written.
func (p *Program) Text() string { return p.text }

// Type is what is known of the result.
func (p *Program) Type() Type { return p.typ }

// Iterates says that the expression calls iteration().
func (p *Program) Iterates() bool { return p.iterates }

// Branches says that there is a part of the expression that is evaluated or not, as
// values have it: behind && and ||, ?? and ?., ? and :, and of the elements of a list.
// Without one, each evaluation that does not fail reads everything.
func (p *Program) Branches() bool { return p.branches }

// Functions are the names of everything an expression can call, sorted: plain
// functions, those with a predicate, and methods, which begin with a dot.
func Functions() []string {
	return sortedNames(library.Names(), eval.Loops)
}

// Usage is how a call of one of [Functions] is written, such as split(text, separator[, most]); "" of another name.
func Usage(name string) string {
	if f := library.Table()[name]; f != nil {
		return library.Usage(f)
	}
	switch {
	case !slices.Contains(eval.Loops, name):
		return ""
	case name == "reduce":
		return "reduce(list, expression[, start])"
	case name == "count" || name == "sum":
		return name + "(list[, predicate])"
	case name == "sortBy":
		return `sortBy(list, key[, "desc"])`
	}
	return name + "(list, predicate)"
}
