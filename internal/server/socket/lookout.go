package socket

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
)

const (
	// lookEvery is the time between two looks. Behind one that takes long it rests lookShare times as long, so that
	// looking costs about a thirtieth of a core, but no longer than restMost: who watches is told something before they
	// take the stream for dead.
	lookEvery = time.Second
	lookShare = 30
	restMost  = 5 * time.Second
)

// Surveyor knows how graphs stand.
type Surveyor interface {
	Graphs(ctx context.Context, tenant string) (api.GraphList, error)
	Graph(ctx context.Context, g api.Ref) (api.GraphSummary, error)
}

// lookout looks at graphs for all who watch how they stand: however many watch a graph, or all graphs of a tenant,
// there is one look at a time. Safe for concurrent use.
type lookout struct {
	ctl Surveyor
	log *slog.Logger

	mu     sync.Mutex
	of     map[api.Ref]*looking // those that are looked at; all graphs of a tenant where Name is ""
	closed bool
	each   sync.WaitGroup
}

func newLookout(ctl Surveyor, log *slog.Logger) *lookout {
	return &lookout{ctl: ctl, log: log, of: map[api.Ref]*looking{}}
}

// looking is what is looked at, again and again, while somebody watches it.
type looking struct {
	stop     context.CancelFunc
	watchers int // lookout.mu

	mu      sync.Mutex
	latest  *look                          // the last, nil before the first
	waiting map[*survey]context.CancelFunc // who is to be woken by the next
}

// join is for one who begins to watch, and is to leave. The first of them begins the looks, on a goroutine that
// [lookout.close] joins; ctx is of whom they are on behalf of, and does not end them.
func (o *lookout) join(ctx context.Context, ref api.Ref) *looking {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.of[ref]
	if l == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		l = &looking{stop: stop, waiting: map[*survey]context.CancelFunc{}}
		if o.closed {
			stop()
			return l
		}
		o.of[ref] = l
		o.each.Go(func() { o.run(ctx, ref, l) })
	}
	l.watchers++
	return l
}

// leave is for one who does not watch any more. The looks end when the next is due and nobody is there: who comes and
// goes all the time has no more of them than who stays.
func (o *lookout) leave(l *looking) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.watchers--
}

// close ends all looks, and waits for those that have begun.
func (o *lookout) close() {
	o.mu.Lock()
	o.closed = true
	for _, l := range o.of {
		l.stop()
	}
	o.mu.Unlock()
	o.each.Wait()
}

// wanted says whether somebody watches still; if not, the looks have ended.
func (o *lookout) wanted(ref api.Ref, l *looking) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.watchers > 0 && !o.closed {
		return true
	}
	delete(o.of, ref)
	return false
}

func (o *lookout) run(ctx context.Context, ref api.Ref, l *looking) {
	defer l.stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		if !o.wanted(ref, l) {
			return
		}
		began := time.Now()
		if found, err := o.look(ctx, ref, l.last()); err == nil {
			l.publish(found)
		}
		took := time.Since(began)
		rest.Reset(max(lookEvery-took, min(lookShare*took, restMost)))
	}
}

// look finds how the graphs stand. What cannot be found out is not told this time: that a graph has gone is for the
// subscription to say, and what else is wrong the next look may find mended.
func (o *lookout) look(ctx context.Context, ref api.Ref, before *look) (found *look, err error) {
	defer func() {
		if v := recover(); v != nil {
			o.log.Error("looking at graphs panicked", slog.String("tenant", ref.Tenant), slog.String("graph", ref.Name),
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("look at graphs: panic: %v", v)
		}
	}()
	if ref.Name == "" {
		list, err := o.ctl.Graphs(ctx, ref.Tenant)
		if err != nil {
			return nil, fmt.Errorf("look at all graphs: %w", err)
		}
		return lookOf(&list, before, time.Now().UTC())
	}
	sum, err := o.ctl.Graph(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look at a graph: %w", err)
	}
	return &look{at: time.Now().UTC(), graph: &sum}, nil
}

func (l *looking) last() *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// publish has those who wait see what was found.
func (l *looking) publish(found *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = found
	for s, wake := range l.waiting {
		delete(l.waiting, s)
		wake()
	}
}

// await has a later look than seen wake s; false says that there is one.
func (l *looking) await(s *survey, seen *look, wake context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest != seen {
		return false
	}
	l.waiting[s] = wake
	return true
}

func (l *looking) forget(s *survey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, s)
}
