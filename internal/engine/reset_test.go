package engine

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M29: a graph that was reset goes on behind the journal that it had, as often as it is reset and after a crash;
// nothing of what it had before comes back, and no number of an epoch is used twice.
func TestM29ResetGraphGoesOn(t *testing.T) {
	for _, mode := range []string{"journal", "checkpoint"} {
		synctest.Test(t, func(t *testing.T) {
			ref, store := api.Ref{Tenant: "default", Name: "g"}, lasting{memstore.New()}
			first := newBed(t, store, &scripted{})
			first.apply(strings.Replace(journaled, "mode: journal", "mode: "+mode, 1), "g")
			for round := range int64(3) {
				first.push("g", "a", "1", "2", "3")
				if _, err := first.e.Reset(t.Context(), ref, "g", "test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if s := first.summary("g"); s.Health != "live" || s.Counters.Received != 0 || s.Epoch != 5*round+3 {
					t.Fatalf("%s, reset %d: %s %+v, epoch %d", mode, round, s.Health, s.HealthReason, s.Epoch)
				}
				first.push("g", "a", "4", "5")
				if s := first.summary("g"); s.Counters.Consumed != 2 || s.Epoch != 5*round+5 {
					t.Errorf("%s, reset %d: %+v, epoch %d", mode, round, s.Counters, s.Epoch)
				}
			}
			second := newBed(t, store, &scripted{}) // the first is fenced from here on, as if it had died
			defer second.close()
			synctest.Wait()
			s, kept := second.summary("g"), int64(2)
			if mode == "checkpoint" { // which is an hour away
				kept = 0
			}
			if s.Health != "live" || s.Counters.Consumed != kept || s.Epoch != 13+kept {
				t.Errorf("%s, after a crash: %s %+v %+v, epoch %d", mode, s.Health, s.HealthReason, s.Counters, s.Epoch)
			}
			_ = first.e.Close() // it finds that it is fenced
		})
	}
}

// M26, M29: the time of events begins anew with a reset, for its sources are read from the start: what is of before the
// last event that there was is in no join and no timer too late.
func TestM26TimeBeginsAnewWithAReset(t *testing.T) {
	for _, mode := range []string{"journal", "checkpoint"} {
		synctest.Test(t, func(t *testing.T) {
			ref := api.Ref{Tenant: "default", Name: "g"}
			b := newBed(t, lasting{memstore.New()}, &scripted{})
			defer b.close()
			b.apply(strings.Replace(strings.Replace(joinDoc, "MODE", mode, 1), "type: left", "type: inner", 1), "g")
			b.push("g", "a", `{"k":"x","at":90000000}`)
			synctest.Wait()
			if _, err := b.e.Reset(t.Context(), ref, "g", "test"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			b.push("g", "a", `{"k":"y","at":1000}`)
			b.push("g", "b", `{"k":"y","at":2000}`)
			synctest.Wait()
			s := b.summary("g")
			if s.Health != "live" || s.Accumulators[2].Counters.Consumed != 2 || s.EngineTime == nil ||
				s.EngineTime.UnixMilli() != 2000 {
				t.Errorf("%s: %s, the time is %v, and the join has %+v", mode, s.Health, s.EngineTime,
					s.Accumulators[2].Counters)
			}
		})
	}
}
