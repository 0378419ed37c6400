package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// CodeContract is an input that follows an output whose values are not what it, or what comes of it, reads.
const CodeContract = "contract"

// Outlet is an output as graphs see it that follow it.
type Outlet struct {
	// Followed says that its values are kept for followers.
	Followed bool
	Type     expression.Type
}

// Outlet is the output of a name; ok is false when there is none.
func (u *Unit) Outlet(name string) (o Outlet, ok bool) {
	outputs := u.Plan.Outputs()
	i := slices.IndexFunc(u.Spec.Outputs, func(o spec.Output) bool { return o.Name == name })
	if i < 0 {
		return Outlet{}, false
	}
	o.Followed = u.Spec.Outputs[i].Sink.Target().Followers()
	switch at := &outputs[i]; {
	case at.Cut:
		o.Type = u.Plan.Cuts().Type()
	case at.Node >= 0:
		o.Type = u.Plan.Nodes()[at.Node].Type
	default:
		o.Type = u.InputType(at.Input)
	}
	return o, true
}

// Misfits say why an input cannot follow an output whose values are of a type: what its schema requires of them and
// they are not or, where it has none, what comes of it reads.
func (u *Unit) Misfits(input string, t expression.Type) spec.Diagnostics {
	a := u.accumulator(input)
	if a.Schema == nil {
		_, ds := staged(u.Spec, Options{Nodes: u.nodes, Events: map[string]expression.Type{input: t}})
		return Merge(ds)
	}
	lacks := lacking(a.Schema, t, input)
	if len(lacks) == 0 {
		return nil
	}
	return spec.Diagnostics{{File: u.Spec.File, Line: a.SchemaPos.Line, Column: a.SchemaPos.Column,
		Path: a.SchemaPos.Path, Code: CodeContract, Text: strings.Join(lacks, "; ")}}
}

// lacking are the differences between what a schema asks for and what values of a type are. What nobody knows fits.
func lacking(schema any, have expression.Type, path string) (list []string) {
	s, _ := schema.(map[string]any)
	want := expression.FromSchema(schema)
	switch {
	case want.IsAny() || have.IsAny():
	case !meets(want.Kind(), have.Kind()):
		list = append(list, fmt.Sprintf("%s is declared as %s and comes as %s", path, want.Kind(), have.Kind()))
	case s["items"] != nil:
		list = lacking(s["items"], have.Elem(), path+"[]")
	default:
		required, _ := s["required"].([]any)
		for _, r := range required {
			name, _ := r.(string)
			if _, there := have.Field(name); !there {
				list = append(list, fmt.Sprintf("%s.%s is required and does not come (%s)", path, name,
					strings.Join(have.Fields(), ", ")))
			}
		}
		fields, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if f, there := have.Field(name); there {
				list = append(list, lacking(fields[name], f, path+"."+name)...)
			}
		}
	}
	return list
}

// meets says whether values of a kind are what a schema asks for that means another: it has no times and durations,
// which are texts in JSON, and each integer is a number.
func meets(want, have boundary.Kind) bool {
	switch want {
	case boundary.KindString:
		return have == boundary.KindString || have == boundary.KindTime || have == boundary.KindDuration
	case boundary.KindFloat:
		return have == boundary.KindFloat || have == boundary.KindInt
	default:
		return want == have
	}
}
