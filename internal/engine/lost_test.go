package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M44: a position that is gone halts the graph; skip-lost lets it go on behind the gap.
func TestM44SkipLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := &scripted{source: func(name string) accumulator.Source {
			if name != "bad" {
				return nil
			}
			return sourceFunc(func(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
				if len(from) > 0 {
					return &accumulator.DataLost{Want: from[0].String(), Have: "100"}
				}
				out.Health(accumulator.Live, "")
				if err := out.Emit(ctx, []boundary.Event{
					{Raw: []byte("1"), Pos: boundary.Position{Offset: 7}},
				}); err != nil {
					return nil
				}
				<-ctx.Done()
				return nil
			})
		}}
		b := newBed(t, memstore.New(), kinds)
		defer b.close()
		b.apply(fmt.Sprintf(duo, ""), "duo")
		if _, err := b.e.SkipLost(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "bad", "ann"); err == nil {
			t.Fatal("there was nothing to skip")
		}
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "bad", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s := b.summary("duo")
		if s.Health != "halted" || s.HealthReason.Code != "source_data_lost" {
			t.Fatalf("%s %+v", s.Health, s.HealthReason)
		}
		skipped, err := b.e.SkipLost(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "bad", "ann")
		if err != nil {
			t.Fatal(err)
		}
		if g := skipped.Gaps; len(g) != 1 || g[0].From != "@7" || *g[0].To != "start" || g[0].Events != nil ||
			g[0].Reason != "replaced" {
			t.Fatalf("gaps %+v", g)
		}
		time.Sleep(time.Second)
		if s := b.summary("duo"); s.Health != "live" || s.Epoch != 2 {
			t.Fatalf("%s %+v epoch %d", s.Health, s.HealthReason, s.Epoch)
		}
	})
}

// repeat is n times the same event.
func repeat(event string, n int) []json.RawMessage {
	events := make([]json.RawMessage, n)
	for i := range events {
		events[i] = json.RawMessage(event)
	}
	return events
}
