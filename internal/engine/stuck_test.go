package engine

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/graph"
)

const stuckDoc = `graph: %s
accumulators: { a: {} }
nodes: { n: { go: { name: slow }, inputs: [a] } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// stuckBed has n graphs whose node does not return while hold is open, nor heeds its epoch's
// timeout. It answers with the graphs' names.
func stuckBed(t *testing.T, n int) (b *bed, hold chan struct{}, names []string) {
	t.Helper()
	hold = make(chan struct{})
	slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
		<-hold
		return args[0], nil
	}
	b = newBed(t, memstore.New(), &scripted{Kinds: builtin.Kinds{Functions: map[string]graph.Function{"slow": slow}}})
	for i := range n {
		names = append(names, fmt.Sprintf("g%d", i))
		b.apply(fmt.Sprintf(stuckDoc, names[i]), names[i])
		ref := api.Ref{Tenant: "default", Name: names[i]}
		if _, err := b.e.Push(t.Context(), ref, "a", []json.RawMessage{json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
	}
	return b, hold, names
}

// W22: however many graphs are stuck in an epoch, the list of graphs, one graph and a scrape
// answer at once, with what the graphs have last said; each says that it is busy.
func TestW22BusyGraphsHoldNoReaderUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, hold, names := stuckBed(t, 50)
		defer b.close()
		defer close(hold)
		time.Sleep(3 * time.Second)
		began := time.Now()
		list, err := b.e.Graphs(t.Context(), "default")
		if err != nil || len(list) != len(names) {
			t.Fatalf("%d graphs, %v", len(list), err)
		}
		for i := range list {
			if g := &list[i]; g.Health != "degraded" || g.HealthReason.Code != "reactor_busy" || g.Epoch != 0 {
				t.Fatalf("%s: %s %+v, epoch %d", g.Graph, g.Health, g.HealthReason, g.Epoch)
			}
		}
		b.e.Metrics(t.Context())
		b.summary(names[7])
		b.e.Tree(t.Context())
		b.e.Limits(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("readers were held up for %v", took)
		}
		time.Sleep(time.Minute) // epoch_timeout is 30s
		if s := b.summary(names[3]); s.HealthReason.Code != "stuck_node" {
			t.Errorf("after a minute: %+v", s.HealthReason)
		}
	})
}
