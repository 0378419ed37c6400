package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// values are the outputs of the newest firings, oldest first, with their causes.
func (b *bed) values(output string) string {
	b.t.Helper()
	page, err := b.e.Firings(b.t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.Query{})
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for i := range page.Items {
		f := &page.Items[len(page.Items)-1-i]
		got = append(got, f.Cause+":"+string(f.Outputs[output]))
	}
	return strings.Join(got, " ")
}

// M3: live, a batch that is flushed with epochs is handed over when an epoch was kept, by
// criteria or by command, and an empty one is not.
func TestM3BatchFlushedWithEpochsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply(`graph: g
accumulators:
  all: { batch: { flush: epoch } }
  go: { strategy: sequential }
nodes: { n: { expr: 'all ?? []', event: true } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, "g")
		b.push("g", "all", "1", "2")
		synctest.Wait()
		if got := b.values("o"); got != "" {
			t.Fatalf("fired before anything was handed over: %s", got)
		}
		b.push("g", "go", "1")
		synctest.Wait()
		b.push("g", "all", "3")
		if _, err := b.e.Fire(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.FireRequest{
			Mode: "force",
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// A node runs when something that it reads is new; a forced epoch shows what there is all the same.
		if got, want := b.values("o"), "criteria:[] criteria:[1,2] force:[1,2] criteria:[3]"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if c := b.summary("g").Counters; c.Queued != 0 || c.Consumed != 4 {
			t.Fatalf("%+v", c)
		}
	})
}

// M8: live, timers wake the reactor: the trailing fire of debounce, a cadence with and without
// anything new, the end of a wait.
func TestM8TimersLive(t *testing.T) {
	for criteria, want := range map[string]string{
		"when: any, debounce: 10s": "criteria:[2,null]",
		"when: all, max_wait: 10s": "max_wait:[2,null]",
		"when: any, every: 10s":    "criteria:[2,null] tick: tick:",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, memstore.New(), &scripted{})
			defer b.close()
			b.apply("graph: g\naccumulators: { a: {}, b: {} }\nreactor: { "+criteria+
				" }\nnodes: { n: { expr: '[a, b ?? nil]' } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
			b.push("g", "a", "1")
			time.Sleep(time.Second)
			b.push("g", "a", "2")
			synctest.Wait()
			if got := b.values("o"); got != "" {
				t.Errorf("%s: fired at once: %s", criteria, got)
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if got := b.values("o"); got != want {
				t.Errorf("%s: got %s, want %s", criteria, got, want)
			}
		})
	}
}
