package engine

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
)

// M53: a push that waits for room when its graph goes to another daemon is told so then, and not when its time is
// over; what was taken before has gone with the graph.
func TestM53PushMeetsAHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"] = 1 // b stands by
		a, b := newBed(t, s.view("a"), &scripted{}), newBed(t, s.view("b"), &scripted{})
		g := api.Ref{Tenant: "default", Name: "g"}
		a.apply("graph: g\nreactor: { when: all }\n"+
			"accumulators: { a: { strategy: sequential, capacity: 2 }, b: { strategy: latest } }\n"+
			"nodes: { n: { expr: a + b } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		a.until("g", reactor.HealthLive, time.Second)
		b.until("g", reactor.HealthStandby, 2*time.Second)
		type answer struct {
			res api.PushResult
			err error
		}
		got := make(chan answer, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			res, err := a.e.Push(ctx, g, "a", []json.RawMessage{[]byte("1"), []byte("2"), []byte("3")})
			got <- answer{res, err}
		}()
		time.Sleep(time.Second)
		s.drain("a", true)
		began := time.Now()
		moved := <-got
		if took := time.Since(began); moved.err != nil || !moved.res.Full || moved.res.Accepted != 2 ||
			moved.res.Why == nil || moved.res.Why.Code != api.CodeOwnerMoved || took > 2*time.Second {
			t.Errorf("after %v: %+v, %v", took, moved.res, moved.err)
		}
		b.until("g", reactor.HealthLive, 20*time.Second)
		if n := b.summary("g").Accumulators[0].Counters.Queued; n != 2 {
			t.Errorf("%d events went with the graph", n)
		}
		s.drain("a", false)
		a.until("g", reactor.HealthLive, time.Minute)
		if res, err := a.e.Push(t.Context(), g, "b", []json.RawMessage{[]byte("1")}); err != nil || res.Full {
			t.Errorf("where the graph is back: %+v, %v", res, err)
		}
		b.close()
		a.close()
	})
}

// M38: a push that waits for room when the daemon ends is told so then, and what was taken before is kept.
func TestM38PushMeetsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newBed(t, store, &scripted{})
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\nreactor: { when: all }\n"+
			"accumulators: { a: { strategy: sequential, capacity: 2 }, b: { strategy: latest } }\n"+
			"nodes: { n: { expr: a + b } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		got := make(chan api.PushResult, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			res, err := b.e.Push(ctx, g, "a", []json.RawMessage{[]byte("1"), []byte("2"), []byte("3")})
			if err != nil {
				t.Error(err)
			}
			got <- res
		}()
		time.Sleep(time.Second)
		began := time.Now()
		b.close()
		res := <-got
		if took := time.Since(began); !res.Full || res.Accepted != 2 || res.Why == nil ||
			res.Why.Code != api.CodeGraphStopping || took > time.Second {
			t.Errorf("after %v: %+v", took, res)
		}
		again := newBed(t, store, &scripted{})
		again.until("g", reactor.HealthLive, time.Minute)
		if n := again.summary("g").Accumulators[0].Counters.Queued; n != 2 {
			t.Errorf("%d events were kept", n)
		}
		again.close()
	})
}
