package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/quota"
)

// limited is a bed with limits of its own.
func limitedBed(t *testing.T, cfg Config) *bed {
	t.Helper()
	kinds := newBed(t, memstore.New(), &scripted{})
	cfg.Store, cfg.Kinds, cfg.Log = memstore.New(), kinds.e.cfg.Kinds, cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	kinds.close()
	e := New(cfg)
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &bed{t, e, cfg.Store}
}

// Near the limit of memory pushes and new graphs are refused at once, counted and visible;
// they are taken again when there is room. Graphs that are there can still be changed.
func TestMemoryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		b := limitedBed(t, Config{Memory: func() (int64, int64) { return used.Load(), 1000 << 20 }})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		doc := "graph: %s\naccumulators: { a: {} }\nnodes: { n: { expr: a + %d } }\noutputs: { o: { from: n, sink: " +
			"{ drop: {} } } }\n"
		b.apply(fmt.Sprintf(doc, "g", 1), "g")
		b.push("g", "a", "1")
		used.Store(860 << 20)
		time.Sleep(time.Second)
		synctest.Wait()
		_, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{[]byte("2"), []byte("3")})
		wantCode(t, err, http.StatusServiceUnavailable, "memory_full", "860 MiB")
		_, err = b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: "h"}, fmt.Appendf(nil, doc, "h", 1),
			api.Change{})
		wantCode(t, err, http.StatusServiceUnavailable, "memory_full")
		b.apply(fmt.Sprintf(doc, "g", 2), "g")
		if n := b.e.Refusals()["memory_full"]; n != 2 {
			t.Errorf("%d refusals counted", n)
		}
		for _, l := range b.e.Limits(t.Context()) {
			if l.Name == "memory" && (l.Limit != 1000<<20 || *l.Used != 860<<20) {
				t.Errorf("%+v", l)
			}
		}
		used.Store(100 << 20)
		time.Sleep(2 * time.Second) // the refusals are handed over with the next mark
		b.push("g", "a", "4")
		if c := b.summary("g").Counters; c.Received != 4 || c.Rejected != 2 || c.Consumed != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// A4, A11: where little memory is left the graph that has grown is refused, and a graph of another tenant that has not
// is not, until all is used up; when there is room both are taken.
func TestMemoryIsShortForWhoHasGrown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		b := limitedBed(t, Config{Memory: func() (int64, int64) { return used.Load(), 1000 << 20 },
			Quotas: quota.NewBook(nil), PushTimeout: time.Second})
		defer b.close()
		grows, calm := api.Ref{Tenant: "loud", Name: "g"}, api.Ref{Tenant: "calm", Name: "g"}
		for _, g := range []api.Ref{grows, calm} {
			doc := "graph: g\naccumulators: { a: { strategy: sequential } }\nreactor: { key: id }\n" +
				"nodes: { n: { expr: a.id } }\noutputs: { o: { from: n, sink: { drop: {} } } }\nhistory: { keep: 10 }\n"
			if _, err := b.e.Apply(t.Context(), g, []byte(doc), api.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		push := func(g api.Ref, n int) error {
			t.Helper()
			events := make([]json.RawMessage, n)
			for i := range events {
				events[i] = json.RawMessage(fmt.Sprintf(`{"id":%d,"pad":%q}`, i, strings.Repeat("x", 1000)))
			}
			_, err := b.e.Push(t.Context(), g, "a", events)
			time.Sleep(time.Second)
			return err
		}
		if err := errors.Join(push(calm, 1), push(grows, 1)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := push(grows, 2000); err != nil {
				t.Fatal(err)
			}
		}
		used.Store(860 << 20)
		time.Sleep(time.Second)
		wantCode(t, push(grows, 1), http.StatusServiceUnavailable, "memory_full", "860 MiB")
		if err := push(calm, 1); err != nil {
			t.Errorf("one that has not grown: %v", err)
		}
		used.Store(960 << 20)
		time.Sleep(time.Second)
		wantCode(t, push(calm, 1), http.StatusServiceUnavailable, "memory_full", "960 MiB")
		used.Store(100 << 20)
		time.Sleep(time.Second)
		if err := errors.Join(push(calm, 1), push(grows, 1)); err != nil {
			t.Error(err)
		}
	})
}

// More graphs than the limit are refused, and one that goes makes room.
func TestGraphLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limitedBed(t, Config{MaxGraphs: 1})
		defer b.close()
		doc := "graph: %s\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { " +
			"drop: {} } } }\n"
		b.apply(fmt.Sprintf(doc, "g"), "g")
		_, err := b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: "h"}, fmt.Appendf(nil, doc, "h"),
			api.Change{})
		wantCode(t, err, http.StatusTooManyRequests, "too_many_graphs")
		if b.e.Refusals()["too_many_graphs"] != 1 {
			t.Errorf("%v", b.e.Refusals())
		}
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "g"}, true); err != nil {
			t.Fatal(err)
		}
		b.apply(fmt.Sprintf(doc, "h"), "h")
	})
}

// Many graphs that may fire only one at a time all come to their end: who waits for a place
// is woken.
func TestConcurrentEpochsLimit(t *testing.T) {
	b := limitedBed(t, Config{MaxEpochs: 1})
	defer b.close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const graphs, events = 8, 300
	var wg sync.WaitGroup
	for i := range graphs {
		g := api.Ref{Tenant: "default", Name: fmt.Sprintf("g%d", i)}
		doc := fmt.Sprintf("graph: %s\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: 'sum([a, "+
			"a + 1])' } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", g.Name)
		if _, err := b.e.Apply(ctx, g, []byte(doc), api.Change{}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for k := range events {
				if _, err := b.e.Push(ctx, g, "a", []json.RawMessage{json.RawMessage(fmt.Sprint(k))}); err != nil {
					t.Error(err)
				}
			}
			if s, err := b.e.Drain(ctx, g); err != nil || s.Epoch != events {
				t.Errorf("%s: %v, epoch %d", g.Name, err, s.Epoch)
			}
		})
	}
	wg.Wait()
	if used, most, _ := b.e.epochs.Use(); used != 0 || most != 1 {
		t.Errorf("%d of %d places are still taken", used, most)
	}
}
