package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Looks has those who look at one table at one time share the answer: shards that a member takes come together, and
// each looks at the tables of its outputs. The zero value is ready. Safe for concurrent use.
type Looks struct {
	mu   sync.Mutex
	open map[string]*look
}

// look is one that is under way, until done is closed.
type look struct {
	done    chan struct{}
	columns []string
	err     error
}

// errNoAnswer is of a look of which nothing is known.
var errNoAnswer = errors.New("the table was not looked at")

// Columns is what ask answers, by which the server is asked for t, or what it has just answered somebody who was
// asking. Who has no answer, for the other one's call has failed, asks for itself.
func (l *Looks) Columns(ctx context.Context, t *checkpoint.Table,
	ask func(ctx context.Context) (columns []string, err error)) ([]string, error) {
	key := fmt.Sprintf("%q %t %q %t %q", t.Name, t.Columns == nil, t.Columns, t.Upsert, t.Conflict)
	l.mu.Lock()
	at, asked := l.open[key]
	if asked {
		l.mu.Unlock()
		select {
		case <-at.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if unfit := (*Error)(nil); at.err == nil || errors.As(at.err, &unfit) {
			return slices.Clone(at.columns), at.err
		}
		return ask(ctx)
	}
	if l.open == nil {
		l.open = map[string]*look{}
	}
	at = &look{done: make(chan struct{}), err: errNoAnswer}
	l.open[key] = at
	l.mu.Unlock()
	defer func() { // after a panic too
		l.mu.Lock()
		delete(l.open, key)
		l.mu.Unlock()
		close(at.done)
	}()
	at.columns, at.err = ask(ctx)
	return slices.Clone(at.columns), at.err
}
