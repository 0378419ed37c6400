package refusals

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// The pauses between two tries: they double while nothing of what waits is taken.
const (
	firstPause = 5 * time.Second
	lastPause  = time.Minute
)

// Untaken is what other daemons have declared and this one has no room for yet. Its zero value is ready for use; one
// goroutine tries, and others may read.
type Untaken struct {
	mu    sync.Mutex
	found map[api.Ref]waiting // by the try under way
	waits map[api.Ref]waiting
	pause time.Duration
}

type waiting struct {
	revision int64
	code     string
}

// Later notes, of a declaration that was refused, that it is to be tried again, if another try may come to
// something; it is told when it is news.
func (l *Untaken) Later(log *slog.Logger, d *checkpoint.Declaration, err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || !slices.Contains([]string{"memory_full", "too_many_graphs", api.CodeBusy}, refused.Code) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil {
		l.found = map[api.Ref]waiting{}
	}
	g, w := api.Ref{Tenant: d.Tenant, Name: d.Graph}, waiting{d.Revision, refused.Code}
	if l.found[g] = w; l.waits[g] != w {
		log.Warn("another daemon has applied a declaration that this one has no room for; it is tried again", "graph",
			d.Graph, "tenant", d.Tenant, "revision", d.Revision, "err", err)
	}
	return true
}

// Tried ends a try of everything, and says when to make the next; 0 where nothing waits.
func (l *Untaken) Tried() (pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fewer := len(l.found) < len(l.waits)
	l.waits, l.found = l.found, nil
	switch {
	case len(l.waits) == 0:
		l.pause = 0
	case fewer || l.pause == 0:
		l.pause = firstPause
	default:
		l.pause = min(2*l.pause, lastPause)
	}
	return l.pause
}

// Any says that something waits.
func (l *Untaken) Any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waits) > 0
}

// Warnings tell that there is no room for something, and not for what: whoever asks for them may know of no graph.
func (l *Untaken) Warnings() []api.Warning {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waits) == 0 {
		return nil
	}
	codes := map[string]bool{}
	for _, w := range l.waits {
		codes[w.code] = true
	}
	return []api.Warning{{Code: api.WarnGraphsNotTaken, Detail: fmt.Sprintf("of what other daemons have declared, "+
		"%d graphs wait for room here (%s); they are tried again, and run at the others meanwhile", len(l.waits),
		strings.Join(slices.Sorted(maps.Keys(codes)), ", "))}}
}

// Mistakes are those of the declaration that an error is about, where it is.
func Mistakes(err error) error {
	if refused, ok := errors.AsType[*api.Error](err); ok && len(refused.Diagnostics) > 0 {
		return refused.Diagnostics.Err()
	}
	return err
}
