package wasm

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/wasm/guest"
	"github.com/graphd/graphd/internal/node/wasm/meter"
)

func compile(c Declared, parts kind.Parts) kind.Evaluator {
	base := call{loaded: c.loaded, inputs: parts.Inputs, within: c.Timeout}
	if c.loaded == nil || !c.loaded.function.Values {
		return &numbers{base}
	}
	v := &values{call: base, typ: expression.Any()}
	if c.Result != nil {
		v.typ = expression.FromSchema(c.Result)
	}
	v.decoders.New = func() any { return boundary.NewDecoder(nil, boundary.Limits{}) }
	return v
}

// call is what both forms have.
type call struct {
	loaded *loaded
	inputs []kind.Read
	within time.Duration
}

// Foreign implements [kind.Foreign].
func (*call) Foreign() {}

// errNotLoaded is a node of a declaration that was made without its module.
var errNotLoaded = &expression.EvalError{Code: CodeModuleUnreadable, Text: "the module has not been read"}

// again is how long a call may take at least that has ended in time before, as in a replay of the journal. Only one
// that an older release has stopped, and not noted as such, comes to its end.
const again = time.Minute

// in is the guest that the call is made in.
func (c *call) in(env *expression.Env) (guest.Guest, error) {
	if c.loaded == nil {
		return guest.Guest{}, errNotLoaded
	}
	within := c.within
	if env.Unbounded {
		within = max(100*within, again)
	}
	return c.loaded.function.Take(guest.Call{
		Now: env.Now, Seed: [2]uint64{c.loaded.graph, uint64(env.Epoch)}, Within: within,
	})
}

// failure makes an error of a guest the node's.
func failure(err error) error {
	if e, ok := errors.AsType[*guest.Error](err); ok {
		return &expression.EvalError{Code: e.Code, Text: e.Text, Timed: e.Code == guest.CodeTimeout}
	}
	return err
}

// numbers calls a function of numbers.
type numbers struct{ call }

// Eval implements [kind.Evaluator]. An input that is absent makes the node skipped, as a plain
// read in an expression does.
func (n *numbers) Eval(env *expression.Env) (boundary.Value, error) {
	if n.loaded == nil {
		return boundary.Value{}, errNotLoaded
	}
	f := n.loaded.function
	var args [maxNumbers]uint64
	for k, in := range n.inputs {
		v := env.Values[in.At]
		if v.IsAbsent() {
			return v, expression.ErrAbsent
		}
		arg, ok := number(v, f.Params[k])
		if !ok {
			return boundary.Value{}, unfit(in.Name, v, f.Params[k])
		}
		args[k] = arg
	}
	g, err := n.in(env)
	if err != nil {
		return boundary.Value{}, failure(err)
	}
	copy(g.Stack(), args[:len(n.inputs)])
	bits, err := g.Numbers()
	if err != nil {
		return boundary.Value{}, failure(err)
	}
	switch f.Results[0] {
	case meter.F64:
		x := math.Float64frombits(bits)
		if x-x != 0 {
			return boundary.Value{}, &expression.EvalError{Code: expression.CodeNotFinite,
				Text: fmt.Sprintf("the function has answered %v, which is no number", x)}
		}
		return boundary.Float(x), nil
	case meter.I64:
		return boundary.Int(int64(bits)), nil
	}
	return boundary.Bool(uint32(bits) != 0), nil
}

// number is a value as a parameter.
func number(v boundary.Value, t meter.Type) (bits uint64, ok bool) {
	switch t {
	case meter.F64:
		x, ok := v.AsFloat()
		return math.Float64bits(x), ok
	case meter.I32:
		b, ok := v.AsBool()
		if b {
			bits = 1
		}
		return bits, ok
	}
	if i, ok := v.AsInt(); ok {
		return uint64(i), true
	}
	if x, ok := v.AsFloat(); ok { // 1.0 is 1
		return uint64(int64(x)), x == math.Trunc(x) && x >= -1<<63 && x < 1<<63
	}
	if at, ok := v.AsTime(); ok {
		return uint64(at.UnixNano()), true // a value's time is within what that reaches
	}
	d, ok := v.AsDuration()
	return uint64(d), ok
}

func unfit(name string, v boundary.Value, t meter.Type) error {
	takes := map[meter.Type]string{meter.F64: "a number", meter.I32: "true or false",
		meter.I64: "a whole number, a time or a duration"}[t]
	return &expression.EvalError{Code: guest.CodeArgument,
		Text: fmt.Sprintf("%s is %s, and the function takes %s (%s)", name, v.Kind(), takes, t)}
}

// values calls a function of values.
type values struct {
	call
	typ      expression.Type
	decoders sync.Pool // of *boundary.Decoder
}

// Eval implements [kind.Evaluator]: as that of numbers. The guest is given an object with a field for each input.
func (c *values) Eval(env *expression.Env) (boundary.Value, error) {
	text := []byte{'{'}
	for k, in := range c.inputs {
		v := env.Values[in.At]
		if v.IsAbsent() {
			return v, expression.ErrAbsent
		}
		if k > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, '"'), in.Name...), '"', ':') // a name has nothing to escape
		text = v.AppendJSON(text)
	}
	g, err := c.in(env)
	if err != nil {
		return boundary.Value{}, failure(err)
	}
	answer, err := g.Value(append(text, '}'))
	if err != nil {
		return boundary.Value{}, failure(err)
	}
	d := c.decoders.Get().(*boundary.Decoder)
	defer c.decoders.Put(d)
	v, err := d.Decode(answer)
	if err != nil {
		err = fmt.Errorf("what the function has answered is no JSON: %w", err)
	} else if wrong := c.typ.Accepts(v); wrong != nil {
		err = fmt.Errorf("what the function has answered is not as result says: %w", wrong)
	}
	if err != nil {
		return boundary.Value{}, &expression.EvalError{Code: guest.CodeResult, Text: guest.Shortened(err.Error())}
	}
	return v, nil
}
