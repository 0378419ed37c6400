package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/graphrun/told"
)

const busyDoc = `graph: %s
accumulators: { a: {} }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// stall is a source without events that can keep the reactors of its graphs from answering:
// what a reactor tells it after a checkpoint then does not return.
type stall struct {
	mu   sync.Mutex
	hold chan struct{}
}

func (s *stall) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	<-ctx.Done()
	return nil
}

func (s *stall) Mirrors() bool { return true }

func (s *stall) Durable(func() []boundary.Position) {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
}

// busy keeps the reactors of the named graphs from answering until free is called.
func (s *stall) busy(b *bed, graphs ...string) (free func()) {
	b.t.Helper()
	hold := make(chan struct{})
	s.mu.Lock()
	s.hold = hold
	s.mu.Unlock()
	for _, name := range graphs {
		b.push(name, "a", "1")
	}
	time.Sleep(2 * time.Second) // their checkpoints have been due
	synctest.Wait()
	return func() {
		s.mu.Lock()
		s.hold = nil
		s.mu.Unlock()
		close(hold)
	}
}

// stalled is a bed whose graphs g0, g1, … can be kept busy.
func stalled(t *testing.T, graphs int) (*bed, *stall, []string) {
	t.Helper()
	s := &stall{}
	b := newBed(t, memstore.New(), &scripted{source: func(string) accumulator.Source { return s }})
	var names []string
	for i := range graphs {
		names = append(names, fmt.Sprintf("g%d", i))
		b.apply(fmt.Sprintf(busyDoc, names[i]), names[i])
	}
	return b, s, names
}

// TestMetricsAreTheCallersOwn: figures that came too late for a scrape are not written into
// what the scrape was given, which somebody reads meanwhile.
func TestMetricsAreTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, names := stalled(t, 1)
		defer b.close()
		free := s.busy(b, names...)
		var given []told.Metrics
		var was []map[string]map[string]int64
		for range 10 {
			list := b.e.Metrics(t.Context())
			if len(list) != 1 {
				t.Fatalf("%d graphs", len(list))
			}
			given, was = append(given, list[0]), append(was, maps.Clone(list[0].Letters))
		}
		free()
		synctest.Wait()
		for i := range given {
			if len(given[i].Letters) != len(was[i]) {
				t.Errorf("scrape %d changed behind its reader: %v became %v", i, was[i], given[i].Letters)
			}
		}
	})
}

// TestMetricsKeepToTheDeadline: graphs that do not answer are waited for together no longer
// than the scrape allows.
func TestMetricsKeepToTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const graphs = 10
		b, s, names := stalled(t, graphs)
		defer b.close()
		defer s.busy(b, names...)()
		const allowed = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), allowed)
		defer cancel()
		began := time.Now()
		list := b.e.Metrics(ctx)
		if took := time.Since(began); took > allowed || len(list) != graphs {
			t.Errorf("%d graphs in %v, want %d in %v at most", len(list), took, graphs, allowed)
		}
	})
}
