package engine

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
)

const busyDoc = `graph: %s
accumulators: { a: {} }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// busy keeps the graph's reactor from answering, until what it returns is called.
func (b *bed) busy(graph string) (free func()) {
	b.t.Helper()
	m, err := b.e.graph(Ref{Tenant: "default", Name: graph})
	if err != nil {
		b.t.Fatal(err)
	}
	hold := make(chan struct{})
	go func() { _ = m.run.reactor.Do(context.Background(), func(*reactor.Core, time.Time) { <-hold }) }()
	synctest.Wait()
	return func() { close(hold) }
}

// TestMetricsAreTheCallersOwn: figures that came too late for a scrape are not written into
// what the scrape was given, which somebody reads meanwhile.
func TestMetricsAreTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply(fmt.Sprintf(busyDoc, "g"), "g")
		b.push("g", "a", "1")
		b.summary("g")
		free := b.busy("g")
		var given []Metrics
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
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		const graphs = 10
		for i := range graphs {
			name := fmt.Sprintf("g%d", i)
			b.apply(fmt.Sprintf(busyDoc, name), name)
			defer b.busy(name)()
		}
		const allowed = 2 * metricsTimeout
		ctx, cancel := context.WithTimeout(t.Context(), allowed)
		defer cancel()
		began := time.Now()
		list := b.e.Metrics(ctx)
		if took := time.Since(began); took > allowed || len(list) != graphs {
			t.Errorf("%d graphs in %v, want %d in %v at most", len(list), took, graphs, allowed)
		}
	})
}
