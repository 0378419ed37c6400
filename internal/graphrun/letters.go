package graphrun

import (
	"context"
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
)

// FlushLetters has dead letters that are still in memory checkpointed.
func (g *Graph) FlushLetters(ctx context.Context) error {
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r == nil {
		return nil
	}
	if r.reactor.View().DeadLetters == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, busyAfter)
	defer cancel()
	_, err := r.reactor.Durable(ctx)
	if err != nil && !errors.Is(err, live.ErrStopped) {
		return g.notDurable(err)
	}
	return nil
}

// ErrBadCursor refuses a cursor that no list has given out.
func ErrBadCursor() error {
	return &api.Error{Status: http.StatusBadRequest, Code: "bad_cursor",
		Detail: "before is not a cursor of this list; leave it out to start at the newest"}
}
