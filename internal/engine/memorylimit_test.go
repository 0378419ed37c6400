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
	"github.com/graphd/graphd/internal/quota"
)

// grows pushes events with keys of their own until one push is not taken, and answers with its reason.
func grows(t *testing.T, e *Engine, g api.Ref, from *int) (why *api.Reason) {
	t.Helper()
	pad := strings.Repeat("x", 1000)
	for range 1000 {
		events := make([]json.RawMessage, 50)
		for i := range events {
			events[i] = json.RawMessage(fmt.Sprintf(`{"id":%d,"pad":%q}`, *from, pad))
			*from++
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		res, err := e.Push(ctx, g, "a", events)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if res.Full {
			*from -= len(events)
			return res.Why
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("it takes whatever comes")
	return nil
}

// A4: a graph that holds as much as its declaration allows takes no more and says what it is that has grown; nothing is
// dropped, another graph is not held back, and it goes on by itself when its keys have gone.
func TestLimitOfMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limitedBed(t, Config{Quotas: quota.NewBook(nil), PushTimeout: time.Second})
		defer b.close()
		g, other := api.Ref{Tenant: "default", Name: "g"}, api.Ref{Tenant: "default", Name: "other"}
		doc := "accumulators: { a: { strategy: sequential } }\nreactor: { key: id, ttl: 5m }\n" +
			"nodes: { n: { expr: a.id } }\noutputs: { o: { from: n, sink: { drop: {} } } }\nhistory: { keep: 10 }\n"
		for _, ref := range []api.Ref{g, other} {
			text := "graph: " + ref.Name + "\n" + doc
			if ref == g {
				text += "limits: { memory: 4MiB }\n"
			}
			if _, err := b.e.Apply(t.Context(), ref, []byte(text), api.Change{}); err != nil {
				t.Fatal(err, err.(*api.Error).Diagnostics)
			}
		}
		n := 0
		why := grows(t, b.e, g, &n)
		if why == nil || why.Code != "limit_exceeded" ||
			!strings.Contains(why.Detail, "limits.memory of the graph is 4 MiB") {
			t.Fatalf("%+v", why)
		}
		for range 10 {
			_ = grows(t, b.e, g, &n)
		}
		if got := toldHealth(t, b.e, g); !strings.HasPrefix(got, "degraded limit_slowed: limits.memory is 4 MiB") ||
			!strings.Contains(got, "of them keys") {
			t.Error(got)
		}
		s := b.summary("g")
		if a := s.Accumulators[0].Counters; s.Cost.MemoryBytes > 5<<20 || s.Cost.MemoryBytes < 3<<20 ||
			a.Consumed != int64(n) || s.Keys.Count != n || n < 1000 {
			t.Errorf("%d were taken, %+v, %+v, %+v", n, a, s.Keys, s.Cost)
		}
		event := []json.RawMessage{[]byte(`{"id":1}`)}
		if res, err := b.e.Push(t.Context(), other, "a", event); err != nil || res.Full {
			t.Errorf("another graph: %+v %v", res, err)
		}
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if got := toldHealth(t, b.e, g); got != "live" {
			t.Error(got)
		}
		if res, err := b.e.Push(t.Context(), g, "a", event); err != nil || res.Full {
			t.Errorf("after its keys have gone: %+v %v", res, err)
		}
	})
}

// A4: near the daemon's limit the graph that grows is held back and named, and the others go on.
func TestLittleMemoryHoldsWhoGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		b := limitedBed(t, Config{Quotas: quota.NewBook(nil), PushTimeout: time.Second,
			Memory: func() (int64, int64) { return used.Load(), 100 << 20 }})
		defer b.close()
		g, other := api.Ref{Tenant: "default", Name: "g"}, api.Ref{Tenant: "default", Name: "other"}
		doc := "accumulators: { a: { strategy: sequential } }\nreactor: { key: id }\n" +
			"nodes: { n: { expr: a.id } }\noutputs: { o: { from: n, sink: { drop: {} } } }\nhistory: { keep: 10 }\n"
		for _, ref := range []api.Ref{g, other} {
			if _, err := b.e.Apply(t.Context(), ref, []byte("graph: "+ref.Name+"\n"+doc), api.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		one := func(ref api.Ref) (full bool) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			res, err := b.e.Push(ctx, ref, "a", []json.RawMessage{[]byte(`{"id":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			return res.Full
		}
		if one(g) || one(other) {
			t.Fatal("they are full from the beginning")
		}
		time.Sleep(time.Second) // what it has now it has not grown by
		pad := strings.Repeat("x", 1000)
		for i := range 3000 {
			event := json.RawMessage(fmt.Sprintf(`{"id":%d,"pad":%q}`, i, pad))
			if _, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{event}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		used.Store(72 << 20)
		time.Sleep(time.Second)
		n := 0
		if why := grows(t, b.e, g, &n); why == nil || why.Code != "memory_slowed" {
			t.Fatalf("%+v", why)
		}
		for range 10 {
			_ = grows(t, b.e, g, &n)
			if one(other) {
				t.Fatal("another graph is held back")
			}
		}
		if got := toldHealth(t, b.e, g); !strings.HasPrefix(got, "degraded memory_slowed: ") {
			t.Error(got)
		}
		if got := toldHealth(t, b.e, other); got != "live" {
			t.Error(got)
		}
		used.Store(55 << 20)
		time.Sleep(time.Second)
		if !one(g) {
			t.Error("it is let go before there is enough")
		}
		used.Store(45 << 20)
		time.Sleep(5 * time.Second)
		if one(g) || toldHealth(t, b.e, g) != "live" {
			t.Error("it is held back still", toldHealth(t, b.e, g))
		}
	})
}
