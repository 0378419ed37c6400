package expression

import (
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
)

// Accepts reports whether a value fits the type: nil, or an error that names the first
// place which does not. Null fits everywhere, as it does in expressions; an int fits a float.
func (t Type) Accepts(v boundary.Value) error { return t.accepts(v, "") }

func (t Type) accepts(v boundary.Value, path string) error {
	if t.IsAny() || v.IsNull() || v.IsAbsent() {
		return nil
	}
	kind := v.Kind()
	if t.Kind() == boundary.KindTable && kind == boundary.KindObject {
		for key, row := range v.Fields() {
			if err := t.Elem().accepts(row, fmt.Sprintf("%s[%q]", path, key)); err != nil {
				return err
			}
		}
		return nil
	}
	if kind != t.Kind() && !(kind == boundary.KindInt && t.Kind() == boundary.KindFloat) {
		if path == "" {
			path = "the value"
		}
		return fmt.Errorf("%s is %s where %s is expected", path, kind, t)
	}
	switch kind {
	case boundary.KindList:
		if t.Elem().IsAny() {
			return nil
		}
		i := 0
		for item := range v.Items() {
			if err := t.Elem().accepts(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
			i++
		}
	case boundary.KindObject:
		for name, field := range v.Fields() {
			ft, ok := t.Field(name)
			if !ok {
				return fmt.Errorf("%s is not a field of %s", join(path, name), t)
			}
			if err := ft.accepts(field, join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
