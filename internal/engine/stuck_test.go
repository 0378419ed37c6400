package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
)

const stuckDoc = `graph: %s
accumulators: { a: {} }
nodes: { n: { go: { name: slow }, inputs: [a] } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// stuckBed has n graphs whose node does not return while hold is open, nor heeds its epoch's
// timeout. It answers with the graphs' names; what they put out goes to got.
func stuckBed(t *testing.T, n int, got *picky) (b *bed, hold chan struct{}, names []string) {
	t.Helper()
	hold = make(chan struct{})
	slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
		<-hold
		return args[0], nil
	}
	b = newBed(t, memstore.New(), &scripted{
		Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}},
		sink:  func(string) sink.Sink { return got },
	})
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
		b, hold, names := stuckBed(t, 50, &picky{})
		defer b.close()
		defer close(hold)
		time.Sleep(3 * time.Second)
		began := time.Now()
		all, err := b.e.Graphs(t.Context(), "default")
		list := all.Items
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
		if s := b.summary(names[3]); s.HealthReason.Code != "stuck_node" ||
			!strings.HasPrefix(s.HealthReason.Detail, "node n of an epoch after 0 ") {
			t.Errorf("after a minute: %+v", s.HealthReason)
		}
	})
}

// M25: a graph whose node does not come back is deleted within a bound all the same. What the
// node answers at last goes nowhere: to no sink, and not into the graph that has its name by now.
func TestM25StuckGraphIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{}
		b, hold, names := stuckBed(t, 2, got)
		defer b.close()
		time.Sleep(3 * time.Second)
		began := time.Now()
		ref := api.Ref{Tenant: "default", Name: names[0]}
		if err := b.e.Delete(t.Context(), ref, true); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > deleteTimeout {
			t.Errorf("the delete took %v", took)
		}
		b.apply(fmt.Sprintf(busyDoc, names[0]), names[0])
		b.push(names[0], "a", "7")
		close(hold)
		time.Sleep(time.Second)
		if s := b.summary(names[0]); s.Epoch != 1 || s.Health != "live" || got.taken() != "[7 1]" {
			t.Errorf("%s, epoch %d; the sink has %s", s.Health, s.Epoch, got.taken())
		}
		if s := b.summary(names[1]); s.Epoch != 1 || s.Health != "live" { // its neighbour, of which the 1 is
			t.Errorf("the other graph: %s %+v, epoch %d", s.Health, s.HealthReason, s.Epoch)
		}
	})
}

// hanging is a store that can stop answering: a call returns when its context is done.
type hanging struct {
	*memstore.Store
	hang atomic.Bool
}

func (h *hanging) reach(ctx context.Context) error {
	if !h.hang.Load() {
		return nil
	}
	<-ctx.Done()
	return checkpoint.ErrUnknownOutcome
}

func (h *hanging) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := h.reach(ctx); err != nil {
		return err
	}
	return h.Store.Commit(ctx, c)
}

func (h *hanging) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	if err := h.reach(ctx); err != nil {
		return err
	}
	return h.Store.Relinquish(ctx, id, fence)
}

func (h *hanging) Yield(ctx context.Context, id checkpoint.ID, fence int64) error {
	if err := h.reach(ctx); err != nil {
		return err
	}
	return h.Store.Yield(ctx, id, fence)
}

func (h *hanging) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	if err := h.reach(ctx); err != nil {
		return err
	}
	return h.Store.AddRecoveryEvent(ctx, id, ev)
}

// M38: the stop has one deadline for all of it, also where graphs feed each other, the store
// hangs and a node does not come back; what would not stop is named.
func TestM38OneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
			<-hold
			return args[0], nil
		}
		store := &hanging{Store: memstore.New()}
		b := newBed(t, store, &scripted{Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}}})
		const timeout = 8 * time.Second
		b.e.cfg.ShutdownTimeout, b.e.host.ShutdownTimeout = timeout, timeout
		for up, doc := range map[string]string{"up": "g1", "g1": "g2", "g2": "g3"} {
			b.apply(fmt.Sprintf("graph: %s\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\n"+
				"outputs: { o: { from: n, sink: { graph: { name: %s, accumulator: a } } } }\n", up, doc), up)
		}
		b.apply(fmt.Sprintf(busyDoc, "g3"), "g3")
		b.apply(fmt.Sprintf(stuckDoc, "stuck"), "stuck")
		b.push("up", "a", "1", "2", "3")
		if _, err := b.e.Push(t.Context(), api.Ref{Tenant: "default", Name: "stuck"}, "a", []json.RawMessage{
			json.RawMessage("1"),
		}); err != nil {
			t.Fatal(err)
		}
		store.hang.Store(true)
		b.push("up", "a", "4")
		began := time.Now()
		err := b.e.Close()
		if took := time.Since(began); took > timeout+time.Millisecond {
			t.Errorf("the stop took %v, and has %v", took, timeout)
		}
		if err == nil || !strings.Contains(err.Error(), "stuck/reactor") {
			t.Errorf("what would not stop is not named: %v", err)
		}
		close(hold)
		synctest.Wait()
	})
}
