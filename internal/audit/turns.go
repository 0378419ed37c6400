package audit

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/graphd/graphd/internal/api"
)

// maxWaiting bounds the changes of one chain that wait for their intents: more commands at one time are a flood.
const maxWaiting = 100

// turns have the entries of one chain written one after the other: the store would have them wait for each other
// with a connection each, and a tenant that gives hundreds of commands would take all of these. The zero value
// has nobody waiting.
type turns struct {
	mu      sync.Mutex
	of      map[string]*turn // those that anybody waits for
	refused atomic.Int64
}

type turn struct {
	writing chan struct{} // holds one who writes
	here    int           // who write or wait
}

// take waits for a tenant's turn, which the caller gives back. Where too many wait already it refuses whoever is
// bounded; the others are no more than what was let in before.
func (l *turns) take(ctx context.Context, tenant string, bounded bool) (back func(), err error) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*turn{}
	}
	t := l.of[tenant]
	if t == nil {
		t = &turn{writing: make(chan struct{}, 1)}
		l.of[tenant] = t
	}
	if bounded && t.here > maxWaiting {
		l.mu.Unlock()
		l.refused.Add(1)
		return nil, &api.Error{Status: http.StatusTooManyRequests, Code: api.CodeAuditBusy,
			Detail: "too many changes of this tenant wait to be written to the audit, and this one was not made; " +
				"try again, with fewer at a time"}
	}
	t.here++
	l.mu.Unlock()
	select {
	case t.writing <- struct{}{}:
		return func() { <-t.writing; l.leave(tenant, t) }, nil
	case <-ctx.Done():
		l.leave(tenant, t)
		return nil, ctx.Err()
	}
}

func (l *turns) leave(tenant string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.here--; t.here == 0 {
		delete(l.of, tenant)
	}
}
