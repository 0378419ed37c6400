package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/graphd/graphd/internal/expression/rules"
)

// check finds type mistakes; it leaves the types it found on the nodes.
func check(text string, tree *parser.Tree, config *conf.Config) *Error {
	_, err := checker.Check(tree, config)
	if err == nil {
		return nil
	}
	fe, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &Error{Code: CodeTypeMismatch, Text: plainTypes(err.Error())}
	}
	e := &Error{Offset: rules.ByteOffset(text, fe.From), Code: CodeTypeMismatch, Text: plainTypes(fe.Message)}
	where := &finder{from: fe.From}
	ast.Walk(&tree.Node, where)
	switch {
	case strings.HasPrefix(fe.Message, "unknown field "):
		e.Code = CodeUnknownField
		if where.member != nil {
			e.unknownField(where.member)
		}
	case strings.HasPrefix(fe.Message, "unknown pointer "):
		e.Code, e.Text = CodeUnknownName, "unknown "+strings.TrimPrefix(fe.Message, "unknown pointer ")+
			": a predicate has #, map and reduce have #index, reduce has #acc"
	case strings.HasPrefix(fe.Message, "invalid operation: "):
		e.operation(where)
	}
	return e
}

// unknownField names the fields there are.
func (e *Error) unknownField(m *ast.MemberNode) {
	name := m.Property.(*ast.StringNode).Value
	fields := fromNature(*m.Node.Nature()).Fields()
	e.Text = fmt.Sprintf("unknown field %.64s", name)
	if len(fields) > 0 && len(fields) <= 12 {
		e.Text += "; there are " + strings.Join(fields, ", ")
	}
	e.Suggest = nearest(name, fields)
	if of, ok := m.Node.(*ast.IdentifierNode); ok && of.Value == constants && e.Suggest == "" {
		e.Text += fmt.Sprintf("; declare it at the top of the declaration: vars: { %.64s: … }", name)
	}
}

// constants is the name of the object of a graph's constants.
const constants = "vars"

// operation says which kinds an operator met.
func (e *Error) operation(where *finder) {
	switch {
	case where.binary != nil:
		b := where.binary
		l, r := fromNature(*b.Left.Nature()), fromNature(*b.Right.Nature())
		e.Text = fmt.Sprintf("cannot compute %s %s %s", shortType(l), b.Operator, shortType(r))
		if b.Operator == "%" && strings.Contains(e.Text, "float") {
			e.Text += "; make it an int with int(…)"
		}
	case where.unary != nil:
		e.Text = fmt.Sprintf("cannot compute %s%s", where.unary.Operator,
			shortType(fromNature(*where.unary.Node.Nature())))
	}
}

// shortType is a type without its details.
func shortType(t Type) string {
	if t.IsAny() {
		return "any"
	}
	return t.Kind().String()
}

// finder finds the nodes that an error of the checker is about, by their place.
type finder struct {
	from   int
	member *ast.MemberNode
	binary *ast.BinaryNode
	unary  *ast.UnaryNode
}

// Visit implements ast.Visitor.
func (f *finder) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.MemberNode:
		if _, ok := n.Property.(*ast.StringNode); ok && n.Property.Location().From == f.from {
			f.member = n
		}
	case *ast.BinaryNode:
		if n.Location().From == f.from {
			f.binary = n
		}
	case *ast.UnaryNode:
		if n.Location().From == f.from {
			f.unary = n
		}
	}
}

// goTypes are the checker's names of types, longest first, and ours.
var goTypes = strings.NewReplacer(
	"map[interface {}][]interface {}", "object", "map[string]interface {}", "object",
	"[]interface {}", "list", "[]int", "list", "interface {}", "any",
	"time.Time", "time", "time.Duration", "duration", "float64", "float", "unknown", "any",
)

var typeInBrackets = regexp.MustCompile(` \(type ([^()]*)\)`)

// plainTypes puts a message of the checker into our words.
func plainTypes(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	return strings.TrimSpace(typeInBrackets.ReplaceAllString(goTypes.Replace(message), " of type $1"))
}
