package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/expression/cursor"
)

// Cursor stands in an expression for the word that is being typed. Nobody writes it.
const Cursor = cursor.Word

// Caller is who has expressions compiled. One that is nil waits for them, and asks nothing.
type Caller struct {
	// Gone, where it is not nil, says whether nobody waits for the result any more: then nothing is compiled.
	Gone func() bool
	// Asks, where it is not nil, is told what can stand in the place of [Cursor], once for each scope that a text is
	// compiled in. The text need not be right.
	Asks func(Found)
}

// HasGone says that nobody waits any more.
func (c *Caller) HasGone() bool { return c != nil && c.Gone != nil && c.Gone() }

// Found is what can stand at the cursor: behind a dot the fields of Of, otherwise a name or function of the scope.
type Found struct {
	Dotted bool
	Of     Type
	Scope  Scope
}

// asks says that somebody wants to know what can stand in a text.
func (c *Caller) asks(text string) bool {
	return c != nil && c.Asks != nil && strings.Contains(text, Cursor)
}

// tell tells who asks what can stand at the cursor, whatever else is wrong with the text. What it answers is to be
// compiled: the text, or the part with the cursor that can be read, without the cursor, so that what reads it has a
// type.
func (c *Caller) tell(text string, scopes ...Scope) string {
	if !c.asks(text) {
		return text
	}
	pieces := slices.DeleteFunc(cursor.Pieces(text), func(piece string) bool {
		src := bracketObjects(piece)
		_, err := parse(src.text, newConfig(src.text, Scope{}))
		return err != nil
	})
	for _, s := range scopes {
		found := Found{Scope: s}
		for _, piece := range pieces {
			of, dotted := behind(piece, s)
			if found.Dotted = found.Dotted || dotted; dotted && !of.IsAny() {
				found.Of = of
				break
			}
		}
		c.Asks(found)
	}
	if len(pieces) == 0 {
		return text
	}
	return cursor.Without(pieces[0])
}

// behind is the type of what stands before the dot of the cursor in a text; dotted is false where there is none, or
// the text cannot be read.
func behind(text string, s Scope) (of Type, dotted bool) {
	defer func() {
		if recover() != nil { // see compile
			of, dotted = Any(), false
		}
	}()
	src := bracketObjects(text)
	tree, err := parse(src.text, newConfig(src.text, s))
	if err != nil || findTables(src.text, tree, s) != nil {
		return of, false
	}
	newValidator(src.text, s).visit(tree.Node) // for what it rewrites
	_ = check(src.text, tree, newConfig(src.text, s))
	if at := cursor.Find(&tree.Node); at != nil {
		of = typeOf(at.Node, nil)
		if t := told(at.Node, s.Names); t.Equal(of) {
			of = t
		}
		return of, true
	}
	return of, false
}

// told is the type of a name, or of a field of it, as it was given, with what the checker of types does not know of.
func told(n ast.Node, names []Name) Type {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return typeOf(n, names)
	case *ast.ChainNode:
		return told(n.Node, names)
	case *ast.MemberNode:
		if name, ok := n.Property.(*ast.StringNode); ok {
			t, _ := told(n.Node, names).Field(name.Value)
			return t
		}
	}
	return typeOf(n, nil)
}
