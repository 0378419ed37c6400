package fold

import (
	"fmt"
	"math"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// CompileKeys compiles the parts of a key that groups events, and adds what is wrong with them to ds.
func CompileKeys(keys []spec.Expr, scope expression.Scope, ds spec.Diagnostics) (
	parts []*expression.Program, _ spec.Diagnostics,
) {
	for _, k := range keys {
		var x *expression.Program
		if x, ds = CompileExpr(k, scope, expression.Compile, ds); x == nil {
			continue
		}
		switch x.Type().Kind() {
		case boundary.KindObject, boundary.KindDuration, boundary.KindNull:
			ds = append(ds, Diagnostic(k.Pos, expression.CodeTypeMismatch, keyKinds+x.Type().String()))
		}
		parts = append(parts, x)
	}
	return parts, ds
}

// KeyType is the type of [Facts.Key].
func KeyType(parts []*expression.Program) expression.Type {
	if len(parts) == 1 {
		return parts[0].Type()
	}
	return expression.Of(boundary.KindList)
}

// KeyFields are the fields of a boundary that say which group it is of: the key, and under their own
// names the parts of it that are plain fields of the event. Without a key there are none.
type KeyFields struct {
	Names []string
	Types []expression.Type // along Names
	parts int
	plain []int // the parts that Names has behind "key", by their index
}

// NewKeyFields finds the fields of a key. A part whose name is taken stands in the key alone.
func NewKeyFields(parts []*expression.Program, taken ...string) KeyFields {
	k := KeyFields{parts: len(parts)}
	if len(parts) == 0 {
		return k
	}
	k.Names, k.Types = []string{"key"}, []expression.Type{KeyType(parts)}
	for i, x := range parts {
		reads := x.Reads()
		if len(reads) != 1 || reads[0].Name != NameEvent || len(reads[0].Path) != 1 ||
			x.Text() != "event."+reads[0].Path[0] {
			continue
		}
		name := reads[0].Path[0]
		if slices.Contains(taken, name) || slices.Contains(k.Names, name) {
			continue
		}
		k.plain = append(k.plain, i)
		k.Names, k.Types = append(k.Names, name), append(k.Types, x.Type())
	}
	return k
}

// Append appends the values of the fields, along Names.
func (k *KeyFields) Append(slots []boundary.Value, key boundary.Value) []boundary.Value {
	if k.parts == 0 {
		return slots
	}
	slots = append(slots, key)
	for _, part := range k.plain {
		if k.parts == 1 {
			slots = append(slots, key)
		} else {
			slots = append(slots, key.Index(part))
		}
	}
	return slots
}

// Whole is v as a whole number, where it is a float that is one: 1.0 and 1 are one key. A whole number stays itself:
// beyond 2^53 a float cannot tell it from its neighbours.
func Whole(v boundary.Value) boundary.Value {
	if v.Kind() == boundary.KindFloat {
		if f, _ := v.AsFloat(); f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return boundary.Int(int64(f))
		}
	}
	return v
}

// CheckKey says what is wrong with a key, nil when nothing is.
func CheckKey(v boundary.Value, text string) *BadEvent {
	switch v.Kind() {
	case boundary.KindInt, boundary.KindBool, boundary.KindTime:
		return nil
	case boundary.KindString:
		if v.Len() > boundary.MaxKeyBytes {
			return keyFault("bad_key", fmt.Sprintf("a key of more than %d bytes is too long", boundary.MaxKeyBytes))
		}
		return nil
	case boundary.KindNull, boundary.KindAbsent:
		return keyFault("key_missing", decode.OneLine("the event has no key: "+text+" is null"))
	case boundary.KindList:
		if v.Len() == 0 {
			return keyFault("key_missing", decode.OneLine("the event has no key: "+text+" is empty"))
		}
		for part := range v.Items() {
			if part.Kind() == boundary.KindList {
				return &BadEvent{Stage: "key", Code: "bad_key", Text: "a key cannot have a list within a list"}
			}
			if bad := CheckKey(part, text); bad != nil {
				return bad
			}
		}
		return nil
	}
	return keyFault("bad_key", keyKinds+v.Kind().String())
}

// keyKinds begins what is said of a key that is none.
const keyKinds = "a key is a text, a whole number, a boolean or a time, or a list of these, and this is "

func keyFault(code, text string) *BadEvent {
	return &BadEvent{Stage: "key", Code: code, Text: text}
}
