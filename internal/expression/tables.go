package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/library"
	"github.com/graphd/graphd/internal/expression/rules"
)

// TableOf is the type of tables whose rows are of a type, and whose keys have parts of these types.
func TableOf(row Type, keys ...Type) Type {
	return Type{kind: boundary.KindTable, elem: &row, keys: keys}
}

// tables finds the uses of tables in a syntax tree and puts them into words that the checker knows. It
// takes a table for the list of its rows: so x in merchants[x] and x in merchants is hidden from it,
// which is no index of a list, and keys() and values() get functions of their own.
type tables struct {
	text  string
	names map[string]Type
	// known are the mentions of tables that look up something: there are no others.
	known map[*ast.IdentifierNode]bool
	err   *Error
}

// findTables prepares a tree for the checker. It is called before names are resolved.
func findTables(text string, tree *parser.Tree, s Scope) *Error {
	t := &tables{text: text, names: map[string]Type{}, known: map[*ast.IdentifierNode]bool{}}
	for _, n := range slices.Backward(s.Names) {
		if n.Type.Kind() == boundary.KindTable {
			t.names[n.Name] = n.Type
		} else {
			delete(t.names, n.Name)
		}
	}
	if len(t.names) == 0 {
		return nil
	}
	ast.Walk(&tree.Node, t)
	if t.err == nil {
		ast.Walk(&tree.Node, strayTables{t})
	}
	return t.err
}

// Visit implements ast.Visitor.
func (t *tables) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode:
		if t.use(n.Node) {
			t.lookUp(n)
		}
	case *ast.BinaryNode:
		if n.Operator == "in" && t.use(n.Right) {
			t.checkKey(n.Right, n.Left)
			n.Left = hidden(n.Left)
		}
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		looks := []string{"len", "keys", "values", eval.Fresh}
		if !ok || len(n.Arguments) != 1 || !slices.Contains(looks, callee.Value) || !t.use(n.Arguments[0]) {
			return
		}
		switch callee.Value {
		case "keys":
			callee.Value = library.TableKeys
		case "values":
			callee.Value = library.TableValues
			n.SetNature(types.Array(t.names[n.Arguments[0].(*ast.IdentifierNode).Value].Elem().checked()).Nature())
		}
	}
}

// use notes that a node is looked up in, if it is a table.
func (t *tables) use(n ast.Node) bool {
	id, ok := n.(*ast.IdentifierNode)
	if !ok {
		return false
	}
	if _, ok = t.names[id.Value]; ok {
		t.known[id] = true
	}
	return ok
}

// lookUp is an access to a table: of a row, and not of a field.
func (t *tables) lookUp(m *ast.MemberNode) {
	table := m.Node.(*ast.IdentifierNode).Value
	if name, ok := m.Property.(*ast.StringNode); ok {
		at := rules.ByteOffset(t.text, name.Location().From)
		if at >= len(t.text) || !strings.ContainsRune("\"'`", rune(t.text[at])) {
			t.fail(at, "%[1]s is a table: %[1]s[…] is one of its rows, and %[1]s[…]?.%.64[2]s a field of that",
				table, name.Value)
			return
		}
	}
	t.checkKey(m.Node, m.Property)
	m.Property = hidden(m.Property)
}

// checkKey finds keys, as they stand there, that no row of the table can have: they would be asked for in vain
// for ever.
func (t *tables) checkKey(table, key ast.Node) {
	name := table.(*ast.IdentifierNode).Value
	keys := t.names[name].keys
	list, isList := key.(*ast.ArrayNode)
	if len(keys) > 1 {
		switch {
		case isList && len(list.Nodes) != len(keys), !isList && !literal(key).IsAny():
			t.fail(rules.ByteOffset(t.text, key.Location().From),
				"the key of %[1]s has %[2]d parts: look up a row with %[1]s[[…]], a list of %[2]d", name, len(keys))
		case isList:
			for i, part := range list.Nodes {
				t.checkPart(name, keys[i], part)
			}
		}
		return
	}
	if len(keys) == 1 && !isList {
		t.checkPart(name, keys[0], key)
	}
}

// checkPart finds a constant that is never a part of a key of this type.
func (t *tables) checkPart(table string, want Type, part ast.Node) {
	got := literal(part)
	number := got.Kind() == boundary.KindInt || got.Kind() == boundary.KindFloat
	switch want.Kind() {
	case boundary.KindString:
		if !number && got.Kind() != boundary.KindBool {
			return
		}
	case boundary.KindInt, boundary.KindFloat:
		if got.Kind() != boundary.KindString && got.Kind() != boundary.KindBool {
			return
		}
	default:
		return
	}
	t.fail(rules.ByteOffset(t.text, part.Location().From),
		"what %s is looked up by is %s, and this is %s: there is never such a row", table, want, got)
}

// literal is the type of a constant as it stands there; anything for all else.
func literal(n ast.Node) Type {
	switch n.(type) {
	case *ast.StringNode:
		return Of(boundary.KindString)
	case *ast.IntegerNode:
		return Of(boundary.KindInt)
	case *ast.FloatNode:
		return Of(boundary.KindFloat)
	case *ast.BoolNode:
		return Of(boundary.KindBool)
	}
	return Any()
}

// hidden is a node of which the checker does not know the type.
func hidden(n ast.Node) ast.Node {
	callee := &ast.IdentifierNode{Value: eval.RowKey}
	callee.SetLocation(n.Location())
	call := &ast.CallNode{Callee: callee, Arguments: []ast.Node{n}}
	call.SetLocation(n.Location())
	return call
}

func (t *tables) fail(at int, format string, args ...any) {
	if t.err == nil {
		t.err = &Error{Offset: at, Code: CodeTypeMismatch, Text: fmt.Sprintf(format, args...)}
	}
}

// strayTables finds mentions of tables that look up nothing.
type strayTables struct{ *tables }

// Visit implements ast.Visitor.
func (t strayTables) Visit(node *ast.Node) {
	id, ok := (*node).(*ast.IdentifierNode)
	if !ok || t.known[id] {
		return
	}
	if _, ok = t.names[id.Value]; ok {
		t.fail(rules.ByteOffset(t.text, id.Location().From),
			"%[1]s is a table and no value by itself: look up a row with %[1]s[…], ask for one with … in %[1]s, "+
				"or take len(%[1]s), keys(%[1]s) or values(%[1]s)", id.Value)
	}
}
