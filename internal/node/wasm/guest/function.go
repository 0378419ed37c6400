package guest

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/graphd/graphd/internal/node/wasm/meter"
)

// Function is an exported function that can be called.
type Function struct {
	meter.Signature
	// Values says that it takes values in its memory and gives one there, and not numbers.
	Values bool
	// Fresh says that each call needs a guest of its own, for what it changes cannot be put back.
	Fresh bool

	module        *Module
	name          string
	number, alloc int
	writes        bool
	slots         int // of its stack
}

// allocate is the function by which a guest gives room for a value.
const allocate = "alloc"

// What is wrong with a function.
var (
	ErrNoFunction = errors.New("it exports no such function")
	ErrSignature  = errors.New("the function has a signature that cannot be called")
)

// Function finds an exported function.
func (m *Module) Function(name string) (*Function, error) {
	f, ok := m.code.Function(name)
	if !ok {
		return nil, ErrNoFunction
	}
	out := &Function{Signature: f.Signature, module: m, name: name, writes: f.Writes, Fresh: f.Spoils,
		slots: max(len(f.Params), len(f.Results))}
	alloc, ok := m.code.Function(allocate)
	if out.Values = ok && like(f.Signature, meter.I64, meter.I32, meter.I32); out.Values {
		if !like(alloc.Signature, meter.I32, meter.I32) || !m.code.Memory {
			return nil, fmt.Errorf("%w: %s must take a size and give an address, (i32) -> i32", ErrSignature, allocate)
		}
		out.alloc = m.ready.number(allocate)
		out.writes, out.Fresh = true, out.Fresh || alloc.Spoils
	}
	out.number = m.ready.number(name)
	m.ready.enter()
	runtime.AddCleanup(out, (*pool).leave, &m.ready)
	return out, nil
}

// like reports whether a signature has this result and these parameters.
func like(s meter.Signature, result meter.Type, params ...meter.Type) bool {
	if len(s.Results) != 1 || s.Results[0] != result || len(s.Params) != len(params) {
		return false
	}
	for i, p := range params {
		if s.Params[i] != p {
			return false
		}
	}
	return true
}

// Guest is a guest that was taken for one call.
type Guest struct {
	f *Function
	g *instance
}

// Take takes a guest, and starts one where none stands ready. Who has taken one gives it back.
func (f *Function) Take(c Call) (Guest, error) {
	g := f.module.ready.take()
	if g == nil {
		var err error
		if g, err = f.module.start(min(startWithin, max(c.Within, againWithin))); err != nil {
			return Guest{}, err
		}
	}
	for len(g.stack) < f.slots {
		g.stack = append(g.stack, 0)
	}
	g.begin(c)
	return Guest{f, g}, nil
}

// Stack is where the parameters of a function of numbers are put, and its result is found.
func (t Guest) Stack() []uint64 { return t.g.stack }

// Numbers calls a function of numbers, and gives the guest back.
func (t Guest) Numbers() (uint64, error) {
	err := t.run(t.f.number, t.f.name)
	result := t.g.stack[0]
	t.give(err, t.f.writes)
	return result, err
}

func (t Guest) run(number int, name string) error {
	f, err := t.g.function(number, name)
	if err != nil {
		return err
	}
	t.g.depth.Set(0)
	if err := f.CallWithStack(t.g, t.g.stack); err != nil {
		return t.g.explain(err, name)
	}
	return nil
}

// give gives the guest back as it was when it had started, or throws it away.
func (t Guest) give(err error, written bool) {
	e, _ := errors.AsType[*Error](err)
	t.g.forget()
	keep := !t.f.Fresh && (e == nil || e.Code != CodeTimeout)
	if keep && (written || e != nil) {
		keep = t.g.putBack(&t.f.module.ready)
	}
	if !keep || !t.f.module.ready.give(t.g) {
		_ = t.g.close() // nothing is told by what has been thrown away
	}
	runtime.KeepAlive(t.f.module) // what closes the code waits for the end of the call
}

// Value calls a function of values: it is given the text of one, and its answer is another, which is the caller's. The
// guest is given back.
func (t Guest) Value(text []byte) (answer []byte, err error) {
	answer, err = t.value(text)
	t.give(err, true)
	return answer, err
}

func (t Guest) value(text []byte) ([]byte, error) {
	stack := t.g.stack
	stack[0] = uint64(uint32(len(text)))
	if err := t.run(t.f.alloc, allocate); err != nil {
		return nil, err
	}
	at := uint32(stack[0])
	if !t.g.memory.Write(at, text) {
		return nil, failed(CodeResult, "%s has given no room for %d bytes", allocate, len(text))
	}
	stack[0], stack[1] = uint64(at), uint64(uint32(len(text)))
	if err := t.run(t.f.number, t.f.name); err != nil {
		return nil, err
	}
	at, n := uint32(stack[0]>>32), uint32(stack[0])
	view, ok := t.g.memory.Read(at, n)
	if !ok {
		return nil, failed(CodeResult, "%s has answered with %d bytes at %d, which are not in its memory", t.f.name, n,
			at)
	}
	return append(make([]byte, 0, len(view)), view...), nil
}
