package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// A11: at its quota of keys, and of what is stored, a tenant's graphs take no more and say what to do; it is logged
// once; nothing is dropped, another tenant and a graph that cannot grow by it are not held back; and all goes on when
// keys have gone.
func TestQuotaOfKeysAndBytes(t *testing.T) {
	for _, tt := range []struct {
		limits          quota.Limits
		says, do        string
		most, beside    int // keys, and what an unkeyed graph takes
		used, usedAfter int64
	}{
		{quota.Limits{Keys: 500}, "the tenant may have 500 keys, and its graphs have ", "larger max_keys",
			500 + 256, 1, 500, 1},
		{quota.Limits{StoredBytes: 300_000}, "the tenant may have 292 KiB in the store, and has ",
			"larger max_stored_bytes", 2000, 0, 300_000, 100_000},
	} {
		t.Run(tt.do, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				b := limitedBed(t, Config{Quotas: quota.NewBook(map[string]quota.Limits{"acme": tt.limits}),
					PushTimeout: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
				g, plain := api.Ref{Tenant: "acme", Name: "g"}, api.Ref{Tenant: "acme", Name: "plain"}
				other := api.Ref{Tenant: "beta", Name: "g"}
				for _, ref := range []api.Ref{g, plain, other} {
					key := "{ key: id, ttl: 5m }"
					if ref == plain {
						key = "{}"
					}
					doc := "graph: " + ref.Name + "\naccumulators: { a: { strategy: sequential } }\nreactor: " + key +
						"\nnodes: { n: { expr: a.id } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n" +
						"history: { keep: 1 }\n"
					if _, err := b.e.Apply(t.Context(), ref, []byte(doc), api.Change{}); err != nil {
						t.Fatal(err, err.(*api.Error).Diagnostics)
					}
				}
				n := 0
				why := grows(t, b.e, g, &n)
				if why == nil || why.Code != "quota_exceeded" || !strings.HasPrefix(why.Detail, tt.says) ||
					!strings.Contains(why.Detail, tt.do) || n > tt.most {
					t.Fatalf("%d keys: %+v", n, why)
				}
				for range 10 {
					_ = grows(t, b.e, g, &n)
				}
				if got := toldHealth(t, b.e, g); !strings.HasPrefix(got, "degraded quota_slowed: "+tt.says) ||
					!strings.Contains(got, "nothing is lost") || !strings.Contains(got, tt.do) {
					t.Error(got)
				}
				event := []json.RawMessage{[]byte(`{"id":1}`)}
				if res, err := b.e.Push(t.Context(), other, "a", event); err != nil || res.Accepted != 1 {
					t.Errorf("another tenant: %+v, %v", res, err)
				}
				bounded, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if res, err := b.e.Push(bounded, plain, "a", event); err != nil || res.Accepted != tt.beside {
					t.Errorf("a graph without keys: %+v, %v", res, err)
				}
				u := b.e.cfg.Quotas.Uses("acme")
				if len(u) != 1 || u[0].Used < tt.used || u[0].Refused < 10 {
					t.Errorf("told is %+v", u)
				}
				s, err := b.e.Graph(t.Context(), g)
				if err != nil || s.Keys.Count != n || s.Counters.Consumed != int64(n) || s.Counters.DeadLettered != 0 {
					t.Errorf("%d were taken, and there are %+v, %+v, %v", n, s.Keys, s.Counters, err)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if res, err := b.e.Push(t.Context(), g, "a", event); err != nil || res.Accepted != 1 {
					t.Errorf("when its keys have gone: %+v, %v", res, err)
				}
				if u := b.e.cfg.Quotas.Uses("acme"); u[0].Used > tt.usedAfter {
					t.Errorf("when its keys have gone %+v", u)
				}
				if got := toldHealth(t, b.e, g); got != "live" {
					t.Error(got)
				}
				b.close()
				for _, line := range []string{"a tenant has as much as its quota allows", tt.do,
					"a tenant's quota holds nothing back any more"} {
					if got := strings.Count(log.String(), line); got != 1 {
						t.Errorf("%q is logged %d times:\n%s", line, got, log.String())
					}
				}
			})
		})
	}
}
