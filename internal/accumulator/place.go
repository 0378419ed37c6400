package accumulator

import (
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// place finds the time and the key of the event in the environment, as it came.
func (in *intake) place() *BadEvent {
	if in.dated.Timed {
		in.facts.At = in.dated.At
	} else if in.p.timed { // its turn came at another time than its own
		at, bad := in.when()
		if bad != nil {
			return bad
		}
		in.facts.At = at
	}
	return in.group()
}

// group finds the key of the event in the environment, as it came.
func (in *intake) group() *BadEvent {
	w := in.p.folds
	switch len(w.Keys) {
	case 0:
		return nil
	case 1:
		v, bad := in.keyPart(w.Keys[0])
		in.facts.Key = v
		return bad
	}
	parts := make([]boundary.Value, len(w.Keys))
	for i, x := range w.Keys {
		v, bad := in.keyPart(x)
		if bad != nil {
			return bad
		}
		if v.Kind() == boundary.KindList {
			return &BadEvent{Stage: "key", Code: "bad_key", Text: "a key cannot have a list within a list"}
		}
		parts[i] = v
	}
	in.facts.Key = boundary.List(parts)
	return nil
}

// deletes finds whether the event in the environment, as it came, takes away what its key has.
func (in *intake) deletes(v boundary.Value) *BadEvent {
	in.facts.Deletes = v.IsNull()
	x := in.p.folds.Deletes
	if x == nil || in.facts.Deletes {
		return nil
	}
	var err error
	if in.facts.Deletes, err = x.EvalBool(&in.env); err != nil {
		return evalFault("delete_when", err)
	}
	return nil
}

func (in *intake) keyPart(x *expression.Program) (boundary.Value, *BadEvent) {
	v, err := x.Eval(&in.env)
	if err != nil {
		return v, evalFault("key", err)
	}
	v = fold.Whole(v)
	return v, fold.CheckKey(v, x.Text())
}

// measure finds what else the fold looks at, over the shaped event v.
func (in *intake) measure(v boundary.Value) *BadEvent {
	w := in.p.folds
	in.env.Values[fold.NameEvent] = v
	for i, x := range w.Args {
		var err error
		if in.facts.Args[i], err = x.Eval(&in.env); err != nil {
			return evalFault(w.Stage, err)
		}
	}
	return nil
}
