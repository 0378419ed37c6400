package client

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
)

// TestShapesHaveNames: whatever a method takes or answers can be named by a program outside of the module.
func TestShapesHaveNames(t *testing.T) {
	t.Parallel()
	tree, err := parser.ParseFile(token.NewFileSet(), "shapes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Assign.IsValid() {
			of := spec.Type
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			from := of.(*ast.SelectorExpr)
			named[from.X.(*ast.Ident).Name+"."+from.Sel.Name] = true
		}
		return true
	})
	seen := map[reflect.Type]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[*Client](), reflect.TypeFor[*Watch](),
		reflect.TypeFor[*PushStream]()} {
		for i := range typ.NumMethod() {
			m := typ.Method(i).Type
			for j := range m.NumIn() {
				checkNamed(t, m.In(j), named, seen)
			}
			for j := range m.NumOut() {
				checkNamed(t, m.Out(j), named, seen)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func checkNamed(t *testing.T, typ reflect.Type, named map[string]bool, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[typ] {
		return
	}
	seen[typ] = true
	name, _, _ := strings.Cut(typ.Name(), "[")
	if from := typ.PkgPath(); strings.Contains(from, "graphd/internal/") {
		if name = from[strings.LastIndex(from, "/")+1:] + "." + name; !named[name] {
			t.Errorf("shapes.go gives no name to %s", name)
		}
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		checkNamed(t, typ.Elem(), named, seen)
	case reflect.Map:
		checkNamed(t, typ.Key(), named, seen)
		checkNamed(t, typ.Elem(), named, seen)
	case reflect.Func:
		for i := range typ.NumIn() {
			checkNamed(t, typ.In(i), named, seen)
		}
	case reflect.Struct:
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				checkNamed(t, f.Type, named, seen)
			}
		}
	}
}
