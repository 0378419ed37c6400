package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M10, M37: a graph that fails because its accumulators were not healthy in time takes no more
// events, leaves a recovery event, and goes on when an operator restarts it.
func TestM10ColdGraphFails(t *testing.T) {
	const doc = `graph: g
accumulators: { a: {}, b: { source: { generator: { every: 1s, expr: i } } } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
reactor: { warm_timeout: 5s, on_warm_timeout: fail }
`
	synctest.Test(t, func(t *testing.T) {
		reachable := false
		b := newBed(t, memstore.New(), &scripted{source: func(name string) accumulator.Source {
			if name == "a" {
				return nil
			}
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
				if reachable {
					out.Health(accumulator.Live, "")
				}
				<-ctx.Done()
				return nil
			})
		}})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply(doc, "g")
		b.push("g", "a", "1")
		time.Sleep(6 * time.Second)
		s := b.summary("g")
		if s.Health != "failed" || s.HealthReason.Code != "warm_timeout" ||
			!strings.Contains(s.HealthReason.Detail, "b are not healthy") {
			t.Fatalf("%s %+v", s.Health, s.HealthReason)
		}
		before := s.Counters
		_, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{json.RawMessage("2")})
		wantCode(t, err, http.StatusConflict, "graph_failed", "warm_timeout")
		if ev := b.recovery("g"); len(ev) != 1 || ev[0].Kind != "gave_up" ||
			!strings.Contains(ev[0].Reason, "warm_timeout") {
			t.Fatalf("recovery events %+v", ev)
		}
		reachable = true
		if _, err := b.e.Restart(t.Context(), g, "", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		// What was admitted before is fired now, what was refused is counted.
		s = b.summary("g")
		if s.Health != "live" || s.Epoch != 1 || s.Counters.Received != before.Received+1 || s.Counters.Rejected != 1 {
			t.Fatalf("%s %+v, epoch %d, %+v", s.Health, s.HealthReason, s.Epoch, s.Counters)
		}
		if kinds := b.kinds("g"); !slices.Contains(kinds, "operator_restart") {
			t.Errorf("recovery events %v", kinds)
		}
	})
}
