package graphd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/accumulator/gofold"
	"github.com/graphd/graphd/internal/boundary"
)

// Accumulator is a fold written in Go. A declaration names it as
// `go: { name: NAME, options: { … }, key: … }`, with a state for each key. The states are in
// the checkpoints, and a restart goes on with them.
type Accumulator struct {
	// Version is that of the form of its states, from 1; 0 is 1. Raise it when a state means
	// something else than before, or events are folded otherwise.
	Version int
	// New makes the fold of what is declared. It is called whenever a declaration is read, and
	// what it makes is used for several runs, also at once: there is nothing to share but what
	// never changes. An error is a mistake of the declaration, bad_options.
	New func(options Options) (FoldFunc, error)
	// Migrate makes a state of this version of one of an older one. Without it, or when it
	// fails, an accumulator whose checkpoint has older states does not start, and its health
	// says why; its states stay in the checkpoint.
	Migrate func(version int, state any) (any, error)
}

// Options are what a declaration says to a registered accumulator.
type Options struct {
	read  *bool
	given map[string]any
}

// Decode reads the options into a struct, as encoding/json would, and refuses one that the
// struct has no field for. Options that are given and never decoded are a mistake too.
func (o Options) Decode(into any) error {
	*o.read = true
	given := o.given
	if given == nil {
		given = map[string]any{}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// FoldFunc folds one event into the state of its key, which is nil before the first event.
// It is pure: the same for the same state and event, with no clock, no randomness, no I/O and
// nothing remembered outside of the state, for after a crash events are folded again. What it
// is given is its own to change; what it answers with it is not to touch afterwards.
//
// An error or a panic makes the event a dead letter (or tells its sender), and leaves the
// state as it was.
type FoldFunc func(state, event any) (Folded, error)

// Folded is what a [FoldFunc] has made of an event.
type Folded struct {
	// State is the next state; nil forgets the key. It comes back as plain Go values, whatever
	// it was: a struct as a map[string]any.
	State any
	// Value is handed to the graph if Emit is set. With a key it stands in the field value,
	// beside the key. Events that are not handed over are accounted for by the next value.
	Value any
	Emit  bool
}

// registered is the accumulator as declarations know it.
func (a *Accumulator) registered() *gofold.Registered {
	r := &gofold.Registered{Version: max(a.Version, 1), New: a.open}
	if a.Migrate != nil {
		r.Migrate = func(version int, state boundary.Value) (boundary.Value, error) {
			made, err := a.Migrate(version, state.Any())
			if err != nil {
				return boundary.Value{}, err
			}
			return toValue(made)
		}
	}
	return r
}

// open makes the step of a declaration's options.
func (a *Accumulator) open(given map[string]any) (
	step func(state, event boundary.Value) (folding.Stepped, error), err error,
) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("New has panicked: %v", r)
		}
	}()
	if a.New == nil {
		return nil, errors.New("the program has registered no New")
	}
	read := false
	f, err := a.New(Options{read: &read, given: given})
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, errors.New("New has made no fold")
	case len(given) > 0 && !read:
		return nil, errors.New("it has none; remove them")
	}
	return func(state, event boundary.Value) (s folding.Stepped, err error) {
		made, err := f(state.Any(), event.Any())
		if err != nil {
			return s, err
		}
		if s.State, err = toValue(made.State); err != nil {
			return s, fmt.Errorf("the state: %w", err)
		}
		if s.Emits = made.Emit; s.Emits {
			if s.Value, err = toValue(made.Value); err != nil {
				return s, fmt.Errorf("the value: %w", err)
			}
		}
		return s, nil
	}, nil
}
