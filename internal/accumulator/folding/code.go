package folding

import (
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Code is a fold whose step is not expressions but a function of the embedding program.
type Code struct {
	// Version is that of the states it makes, from 1. It stands before them in a checkpoint.
	Version int
	// Step folds an event into a state, null before the first one and once it was forgotten. It is pure, keeps
	// and changes nothing that it is given, and may be called by many folds at once.
	Step func(state, event boundary.Value) (Stepped, error)
	// Migrate makes a state of this version of one of an older version; nil: there is no way.
	Migrate func(version int, state boundary.Value) (boundary.Value, error)

	// Key, MaxKeys and MaxBytes are as in [Declared].
	Key      []spec.Expr
	MaxKeys  int
	MaxBytes int64
}

// Stepped is what a step has made.
type Stepped struct {
	State boundary.Value // the next one; null forgets it
	Value boundary.Value // what is handed over
	Emits bool           // that it is
}

// Compile makes the code ready to run at a site.
func (c *Code) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	p := &program{
		code: c, init: boundary.Null(), keys: len(c.Key), givesKey: at.GivesKey,
		maxKeys: max(c.MaxKeys, 1), maxBytes: max(c.MaxBytes, 1), stateMost: min(max(c.MaxBytes, 1), at.MaxBytes),
	}
	parts, ds := fold.CompileKeys(c.Key, at.Scope, nil)
	if len(ds) > 0 {
		return nil, ds
	}
	if ds = p.compileShape(&Declared{}, parts); len(ds) > 0 {
		return nil, ds
	}
	return &fold.Program{
		New: func() fold.Fold { return newFolding(p) }, Type: p.typ, Shape: p.shape, Keys: parts,
		Groups: p.keyFields,
	}, nil
}

// version is that of the states; 0 where expressions make them.
func (p *program) version() int {
	if p.code == nil {
		return 0
	}
	return p.code.Version
}

// call is a step by code. Its errors and panics are the event's.
func (f *Folding) call(was *cell, event boundary.Value) (
	state boundary.Value, bytes int64, v boundary.Value, emits bool, bad *fold.BadEvent,
) {
	state = f.p.init
	if was != nil && !was.state.IsNull() {
		state = was.state
	}
	var made Stepped
	err := guarded(func() (err error) {
		made, err = f.p.code.Step(state, event)
		return err
	})
	if err != nil {
		return state, 0, v, false, codeFault(err)
	}
	if made.State.Depth() >= maxDepth || made.Value.Depth() >= maxDepth {
		return state, 0, v, false, tooDeep()
	}
	f.encoded = made.State.AppendBinary(f.encoded[:0])
	if bad = f.p.tooLarge(int64(len(f.encoded))); bad != nil {
		bad.Text = "step" + bad.Text
		return state, 0, v, false, bad
	}
	return made.State.Compact(), int64(len(f.encoded)), made.Value, made.Emits, nil
}

// panicked is the panic of a program's function.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

// guarded calls a function of the embedding program.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{r}
		}
	}()
	return call()
}

// codeFault says why code could not fold an event.
func codeFault(err error) *fold.BadEvent {
	bad := &fold.BadEvent{Stage: stage, Code: "error", Text: decode.OneLine(err.Error())}
	switch {
	case errors.As(err, new(*panicked)):
		bad.Code = "panic"
	case errors.Is(err, boundary.ErrNotFinite):
		bad.Code = expression.CodeNotFinite
	}
	return bad
}

// migration makes a state what it is in the present version.
type migration func(state *boundary.Value) error

// migration reads the version of states and answers with what has to be done to them; nil for nothing.
func (p *program) migration(r *fold.Reader) migration {
	if p.code == nil {
		return nil
	}
	of := int(min(r.Uvarint(), 1<<31-1))
	now, migrate := p.code.Version, p.code.Migrate
	switch {
	case of == now || r.Err() != nil:
		return nil
	case of > now:
		r.Fail(fmt.Errorf("the kept state is of version %d, and this program knows versions up to %d: run the program "+
			"that wrote it, or a newer one", of, now))
	case migrate == nil || of == 0:
		r.Fail(fmt.Errorf("the kept state is of version %d, and this program makes version %d: give the accumulator "+
			"a Migrate, run the program that wrote the state, or reset the graph", of, now))
	}
	return func(state *boundary.Value) error {
		var made boundary.Value
		err := guarded(func() (err error) {
			made, err = migrate(of, *state)
			return err
		})
		if err == nil && (made.IsAbsent() || made.IsNull()) {
			err = errors.New("Migrate has made nothing of it")
		}
		if err != nil {
			return fmt.Errorf("migrate the kept state from version %d to %d: %w", of, now, err)
		}
		*state = made.Compact()
		return nil
	}
}
