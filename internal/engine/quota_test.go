package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// TestQuotaSlowsSources: what two sources of a tenant read comes in at the rate of its quota, under both clocks, all of
// it and none of it late; who is of another tenant is not held back (A11).
func TestQuotaSlowsSources(t *testing.T) {
	for _, clock := range []string{"arrival", "event"} {
		t.Run(clock, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in.ndjson")
			var lines strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&lines, "{\"t\":%d}\n", 1_000_000+i)
			}
			if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			doc := "graph: g\nclock: " + clock + "\naccumulators: { a: { time: event.t, source: { file: { path: " +
				path + " } } }, b: { time: event.t, source: { file: { path: " + path + " } } } }\n" +
				"reactor: { strategy: sequential }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"
			synctest.Test(t, func(t *testing.T) {
				b := limitedBed(t, Config{Quotas: quota.NewBook(map[string]quota.Limits{
					"slow": {EventsPerSecond: 100}})})
				defer b.close()
				for _, tenant := range []string{"slow", "free"} {
					if _, err := b.e.Apply(t.Context(), api.Ref{Tenant: tenant, Name: "g"}, []byte(doc),
						api.Change{}); err != nil {
						t.Fatal(err)
					}
				}
				received := func(tenant string) (n, lost int64) {
					s, err := b.e.Graph(context.Background(), api.Ref{Tenant: tenant, Name: "g"})
					if err != nil {
						t.Fatal(err)
					}
					return s.Counters.Received, s.Counters.Rejected + s.Counters.DeadLettered + s.Counters.Filtered
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n, _ := received("slow"); n < 900 || n > 1150 {
					t.Errorf("after 10 s at 100 a second %d came in", n)
				}
				if n, _ := received("free"); n != 2000 {
					t.Errorf("of another tenant %d came in", n)
				}
				told := func(tenant string) string {
					s, err := b.e.Graph(context.Background(), api.Ref{Tenant: tenant, Name: "g"})
					if err != nil || s.HealthReason == nil {
						return fmt.Sprint(s.Health, err)
					}
					return s.Health + " " + s.HealthReason.Code + ": " + s.HealthReason.Detail
				}
				if got := told("slow"); !strings.HasPrefix(got, "degraded quota_slowed: the tenant may take 100 ") {
					t.Error(got)
				}
				if got := told("free"); strings.Contains(got, "slowed") {
					t.Error(got)
				}
				time.Sleep(12 * time.Second)
				synctest.Wait()
				if n, lost := received("slow"); n != 2000 || lost != 0 {
					t.Errorf("at the end %d came in, and %d are lost", n, lost)
				}
				if got := told("slow"); strings.Contains(got, "slowed") {
					t.Error(got)
				}
			})
		})
	}
}
