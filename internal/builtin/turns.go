package builtin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin/turns"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

const (
	// waitTurn is how long a declaration waits until others are compiled, compileWithin how long it may take itself.
	waitTurn, compileWithin = 5 * time.Second, 10 * time.Second
)

// NewTurns are turns for so many processors.
func NewTurns(processors int) *turns.Turns { return turns.New(processors) }

// ParseFor is [Kinds.Parse] for who may go meanwhile, and then it ends. document gives the text when it is its turn,
// for that may take its time too; an error of it is the answer. What is wrong with the declaration is an [api.Error].
func (k *Kinds) ParseFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (
	*compile.Unit, error) {
	if k.Turns != nil {
		waits, cancel := context.WithTimeout(ctx, waitTurn)
		free, err := k.Turns.Take(waits, tenant)
		cancel()
		switch {
		case err == nil:
			defer free()
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, turns.ErrSpent):
			return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeBusy,
				Detail: "this tenant's declarations have taken more than a quarter of the processors' time to " +
					"compile; apply fewer, or try again later"}
		default:
			return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeBusy,
				Detail: "other declarations are being compiled; try again"}
		}
	}
	text, err := document()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, compileWithin)
	defer cancel()
	own := *k
	own.caller.Gone = func() bool { return within.Err() != nil }
	unit, diags := own.ParseOf(tenant, text, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeBusy,
			Detail: "the declaration was not compiled within 10 s: simplify it, its patterns first, or try again " +
				"when the daemon has less to do"}
	case len(diags) > 0:
		return nil, api.Invalid(diags)
	}
	return unit, nil
}

// ParseStored is [Kinds.ParseOf] for a declaration in the store, which was checked when it was applied.
func (k *Kinds) ParseStored(tenant string, document []byte, name string) (*compile.Unit, spec.Diagnostics) {
	own := *k
	own.stored = true
	return own.ParseOf(tenant, document, name)
}

// Ask compiles a declaration as [Kinds.ParseFor] does for who asks what can stand at the cursor; see
// [expression.Caller].
func (k *Kinds) Ask(ctx context.Context, tenant string, document []byte, name string, told func(expression.Found)) {
	own := *k
	own.caller.Asks = told
	text := func() ([]byte, error) { return document, nil }
	_, _ = own.ParseFor(ctx, tenant, text, name) // mistakes are to be expected
}

// ParseStoredFor is [Kinds.ParseFor] for a declaration in the store.
func (k *Kinds) ParseStoredFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (
	*compile.Unit, error) {
	own := *k
	own.stored = true
	return own.ParseFor(ctx, tenant, document, name)
}
