package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// Config says what to generate.
type Config struct {
	Declared
	// Vars are the graph's constants, an object; the zero Value means none. VarsType is
	// their static type.
	Vars     boundary.Value
	VarsType expression.Type
	For      *expression.Caller // who has it compiled
}

// The names in scope, by their index.
const (
	nameI = iota
	nameVars
)

// Source generates events. It is an [accumulator.Source].
type Source struct {
	expr  *expression.Program
	vars  boundary.Value
	every time.Duration
	count int64
	seed  int64
}

var _ accumulator.Source = (*Source)(nil)

// New makes a Source. The mistakes are the expression's; their File is the caller's to fill in.
func New(cfg Config) (*Source, spec.Diagnostics) {
	if cfg.Vars.IsAbsent() {
		cfg.Vars = boundary.Object(boundary.NewShape(), nil)
		cfg.VarsType = expression.OfValue(cfg.Vars)
	}
	scope := expression.Scope{
		Names: []expression.Name{
			nameI:    {Name: "i", Type: expression.Of(boundary.KindInt)},
			nameVars: {Name: "vars", Type: cfg.VarsType},
		},
		Rand: true, For: cfg.For,
	}
	x, err := expression.Compile(cfg.Expr.Text, scope)
	if err != nil {
		return nil, spec.Diagnostics{diagnose(cfg.Expr, err)}
	}
	return &Source{expr: x, vars: cfg.Vars, every: cfg.Every, count: cfg.Count, seed: cfg.Seed}, nil
}

func diagnose(e spec.Expr, err error) spec.Diagnostic {
	d := spec.Diagnostic{
		Line: e.Pos.Line, Column: e.Pos.Column, Path: e.Pos.Path,
		Code: expression.CodeSyntax, Text: err.Error(),
	}
	if mistake := new(expression.Error); errors.As(err, &mistake) {
		d.Line, d.Column = e.At(mistake.Offset)
		d.Code, d.Text, d.Suggest = mistake.Code, mistake.Text, mistake.Suggest
	}
	return d
}

const (
	// batchEvents is how many events are made at once when there is no waiting between them.
	batchEvents = 256
	// maxBehind is how late the cadence may be before it is given up and taken up anew:
	// after a stall, events do not come in a flood.
	maxBehind = time.Second
)

// Run implements [accumulator.Source].
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	err := s.run(ctx, from, out)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *Source) run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	i := int64(0)
	for _, p := range from {
		if p.Stream == "" {
			i = p.Offset
		}
	}
	out.Health(accumulator.Live, "")
	m := &maker{s: s, env: expression.Env{Values: []boundary.Value{nameI: {}, nameVars: s.vars}}}
	m.env.Rand = m.rand
	timer := time.NewTimer(s.every)
	defer timer.Stop()
	due := time.Now().Add(s.every)
	for s.count == 0 || i < s.count {
		n := int64(batchEvents)
		if s.every > 0 {
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			now := time.Now()
			if now.Sub(due) > max(maxBehind, s.every) {
				due = now
			}
			n = min(n, int64(now.Sub(due)/s.every)+1)
			due = due.Add(time.Duration(n) * s.every)
			timer.Reset(time.Until(due))
		}
		if s.count > 0 {
			n = min(n, s.count-i)
		}
		if err := m.emit(ctx, i, n, out); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// maker makes events, one after the other.
type maker struct {
	s     *Source
	env   expression.Env
	state uint64 // of rand, for the event at hand
}

// emit hands over the events i to i+n-1. One whose expression fails is refused.
func (m *maker) emit(ctx context.Context, i, n int64, out accumulator.Out) error {
	now := time.Now()
	batch := accumulator.NewBatch(out, int(n))
	for ; n > 0; i, n = i+1, n-1 {
		ev := boundary.Event{Pos: boundary.Position{Offset: i + 1}, At: now}
		raw, bad := m.make(i)
		if ev.Raw = raw; bad == nil {
			batch = append(batch, ev)
			continue
		}
		if len(batch) > 0 {
			if err := out.Emit(ctx, batch); err != nil {
				return err
			}
			batch = accumulator.NewBatch(out, int(n))
		}
		if err := out.Refuse(ctx, ev, bad); err != nil {
			return err
		}
	}
	if len(batch) == 0 {
		return ctx.Err()
	}
	return out.Emit(ctx, batch)
}

// make makes event i: its JSON, so that it is what a pushed event of the same text would be.
func (m *maker) make(i int64) ([]byte, *accumulator.BadEvent) {
	m.state = mix(uint64(m.s.seed)) ^ uint64(i)
	m.env.Values[nameI] = boundary.Int(i)
	v, err := m.s.expr.Eval(&m.env)
	if err == nil {
		return v.AppendJSON(nil), nil
	}
	bad := &accumulator.BadEvent{Stage: "generate", Code: expression.CodeTypeError, Text: err.Error()}
	if fault := new(expression.EvalError); errors.As(err, &fault) {
		bad.Code = fault.Code
	}
	return fmt.Appendf(nil, `{"i":%d}`, i), bad
}

// rand is the next number in [0, 1) of the event at hand.
func (m *maker) rand() float64 {
	m.state += 0x9e3779b97f4a7c15
	return float64(mix(m.state)>>11) / (1 << 53)
}

// mix is the finalizer of SplitMix64: every bit of x moves every bit of the result.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
