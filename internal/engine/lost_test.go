package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
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
		restarted := make(restarts, 1)
		b := newBedWith(t, &skipping{Store: memstore.New(), t: t, restarted: restarted}, kinds, slog.New(restarted))
		defer b.close()
		b.apply(fmt.Sprintf(duo, ""), "duo")
		if _, err := b.e.SkipLost(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "bad", "ann"); err == nil {
			t.Fatal("there was nothing to skip")
		}
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "bad", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		<-restarted // by ann
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
		events := b.recovery("duo")
		if len(events) < 2 || events[1].Kind != "gap_skipped" || events[0].Kind != "operator_restart" {
			t.Errorf("recorded %+v, want the restart behind what it is for", events)
		}
	})
}

// restarts is a log that tells of restarts which somebody has asked for.
type restarts chan struct{}

func (r restarts) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key == "kind" && a.Value.String() == "operator_restart" {
			r <- struct{}{}
		}
		return true
	})
	return nil
}

func (restarts) Enabled(context.Context, slog.Level) bool { return true }
func (r restarts) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r restarts) WithGroup(string) slog.Handler          { return r }

// skipping is a store that takes its time to note that a gap was skipped: nothing is restarted meanwhile.
type skipping struct {
	checkpoint.Store
	t         *testing.T
	restarted restarts
}

func (s *skipping) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	if ev.Kind == "gap_skipped" {
		select {
		case <-s.restarted:
			s.t.Error("restarted before it is noted why")
		case <-time.After(time.Second):
		}
	}
	return s.Store.AddRecoveryEvent(ctx, id, ev)
}

// repeat is n times the same event.
func repeat(event string, n int) []json.RawMessage {
	events := make([]json.RawMessage, n)
	for i := range events {
		events[i] = json.RawMessage(event)
	}
	return events
}
