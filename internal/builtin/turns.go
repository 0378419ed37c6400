package builtin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
)

const (
	// waitTurn is how long a declaration waits until others are compiled, compileWithin how long it may take itself.
	waitTurn, compileWithin = 5 * time.Second, 10 * time.Second
)

// Turns bounds how many declarations are compiled at one time, and leaves room for those of other tenants. Safe for
// concurrent use.
type Turns struct {
	most int

	mu    sync.Mutex
	used  int
	each  map[string]int // by tenant
	freed chan struct{}  // closed when one has ended
}

// NewTurns has as many as there are processors, but two.
func NewTurns(processors int) *Turns {
	return &Turns{most: max(2, processors), each: map[string]int{}, freed: make(chan struct{})}
}

// take waits for a turn until ctx is done; free gives it back.
func (t *Turns) take(ctx context.Context, tenant string) (free func(), err error) {
	for {
		t.mu.Lock()
		if t.used < t.most && t.each[tenant] < t.most-1 {
			t.used++
			t.each[tenant]++
			t.mu.Unlock()
			return func() { t.free(tenant) }, nil
		}
		freed := t.freed
		t.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *Turns) free(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used--
	if t.each[tenant]--; t.each[tenant] == 0 {
		delete(t.each, tenant)
	}
	close(t.freed)
	t.freed = make(chan struct{})
}

// ParseFor is [Kinds.Parse] for who may go meanwhile, and then it ends. What is wrong with the declaration is an
// [api.Error].
func (k *Kinds) ParseFor(ctx context.Context, tenant string, document []byte, name string) (*compile.Unit, error) {
	if k.Turns != nil {
		waits, cancel := context.WithTimeout(ctx, waitTurn)
		free, err := k.Turns.take(waits, tenant)
		cancel()
		switch {
		case err == nil:
			defer free()
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeBusy,
				Detail: "other declarations are being compiled; try again"}
		}
	}
	within, cancel := context.WithTimeout(ctx, compileWithin)
	defer cancel()
	own := *k
	own.stop = func() bool { return within.Err() != nil }
	unit, diags := own.ParseOf(tenant, document, name)
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
