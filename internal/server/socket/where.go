package socket

import (
	"encoding/json"
	"fmt"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

const (
	maxWhere = 4096 // bytes of an expression over frames
	// mostWork is what it may do for one frame, a millisecond or so: there may be thousands a second.
	mostWork = 1 << 16
)

func frameScope() expression.Scope {
	text, number := expression.Of(boundary.KindString), expression.Of(boundary.KindInt)
	return expression.Scope{Names: []expression.Name{
		{Name: "graph", Type: text}, {Name: "output", Type: text}, {Name: "value", Type: expression.Any()},
		{Name: "outputs", Type: expression.Any()}, {Name: "inputs", Type: expression.Any()},
		{Name: "key", Type: expression.Any()}, {Name: "epoch", Type: number}, {Name: "shard", Type: number},
		{Name: "cause", Type: text}, {Name: "ok", Type: expression.Of(boundary.KindBool)},
		{Name: "error", Type: text}, {Name: "duration_us", Type: number},
	}}
}

// where reads which outputs and firings are wanted, nil for all. What it gives belongs to one subscription.
func where(raw []byte) (func(*api.Frame) *api.Frame, *frameError) {
	if raw == nil {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" || len(text) > maxWhere {
		return nil, &frameError{api.CodeInvalidFrame,
			fmt.Sprintf("where must be an expression, a string of %d bytes at most", maxWhere)}
	}
	program, err := expression.CompileBool(text, frameScope())
	if err != nil {
		return nil, &frameError{api.CodeInvalidFrame, "where: " + err.Error()}
	}
	w := chosen{program: program, env: expression.Env{Most: mostWork}}
	return w.keep, nil
}

// chosen are the outputs and firings for which an expression is true; frames of other types are as they were.
type chosen struct {
	program *expression.Program
	env     expression.Env
}

func (w *chosen) keep(f *api.Frame) *api.Frame {
	switch f.Type {
	case "output", "firing":
	default:
		return f
	}
	cause, ok, why, took := "", true, "", int64(0)
	var outputs, inputs boundary.Value
	key := f.Key
	if x := f.Firing; x != nil {
		cause, ok, took, key = x.Cause, x.OK, x.DurationUS, x.Key
		if x.Error != nil {
			why = *x.Error
		}
		outputs, inputs = members(x.Outputs), members(x.Inputs)
	}
	w.env.Values = append(w.env.Values[:0], boundary.String(f.Graph), boundary.String(f.Output),
		expression.OfJSON(f.Value), outputs, inputs, expression.OfJSON(key), boundary.Int(f.Epoch),
		boundary.Int(int64(f.Shard)), boundary.String(cause), boundary.Bool(ok), boundary.String(why),
		boundary.Int(took))
	if is, err := w.program.EvalBool(&w.env); err != nil || !is {
		return nil
	}
	return f
}

// members are values by name, as expressions read them.
func members(of map[string]json.RawMessage) boundary.Value {
	raw, err := json.Marshal(of)
	if err != nil {
		return boundary.Null()
	}
	return expression.OfJSON(raw)
}
