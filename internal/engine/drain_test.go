package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// M11: a drain fires what can be fired now and says when the rest is due; what keeps it from
// coming to its end is named.
func TestM11DrainDoesNotWaitForTimers(t *testing.T) {
	for _, tc := range []struct {
		reactor string
		now     string // what a drain lets out of four events
		due     time.Duration
	}{
		{"{ strategy: sequential }", "criteria:1 criteria:2 criteria:3 criteria:4", 0},
		{"{ debounce: 1h }", "", time.Hour},
		{"{ debounce: 1h, key: 'string(k ?? 1)' }", "", time.Hour},
		{"{ strategy: sequential, when: all, max_wait: 1h }", "", time.Hour},
		{"{ strategy: sequential, rate_limit: 1h }", "criteria:1", time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, memstore.New(), &scripted{})
			defer b.close()
			b.apply("graph: g\naccumulators: { a: { emit: event.n }, b: {} }\nreactor: "+tc.reactor+
				"\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
			began := time.Now()
			b.push("g", "a", `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`)
			s, err := b.e.Drain(t.Context(), api.Ref{Tenant: "default", Name: "g"})
			if err != nil || b.values("o") != tc.now {
				t.Fatalf("%s: %v, %s", tc.reactor, err, b.values("o"))
			}
			if time.Since(began) >= time.Second {
				t.Errorf("%s: the drain took %s", tc.reactor, time.Since(began))
			}
			switch {
			case tc.due == 0 && s.DueAt != nil:
				t.Errorf("%s: due at %s", tc.reactor, s.DueAt)
			case tc.due > 0 && (s.DueAt == nil || !s.DueAt.Equal(began.Add(tc.due))):
				t.Errorf("%s: due at %v", tc.reactor, s.DueAt)
			}
		})
	}
}

// M11: a drain that finds a stopped output in its way says so.
func TestM11DrainNamesTheStoppedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t)
		defer s.close()
		s.apply(fmt.Sprintf(siblings, "", "checkpoint"), "g")
		s.stop(api.Part{Output: "ob"})
		s.push("g", "b", "1", "2")
		_, err := s.e.Drain(t.Context(), s.ref())
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Code != "drain_timeout" ||
			!strings.Contains(refused.Detail, "output ob is stopped by ann, and 2 of its values wait") {
			t.Fatalf("got %v", err)
		}
	})
}

// Pushes that are acknowledged one after the other are taken in in that order, to whatever inputs they
// went, under either clock.
func TestPushesKeepTheirOrderAcrossInputs(t *testing.T) {
	for _, timed := range []string{"", "time: event.n, "} {
		synctest.Test(t, func(t *testing.T) {
			p := &picky{}
			b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"o": p})})
			defer b.close()
			b.apply("graph: g\naccumulators: { a: { "+timed+"emit: event.n }, b: { "+timed+"emit: event.n } }\n"+
				"reactor: { strategy: sequential }\nnodes: { n: { expr: 'fresh(a) ? a : b' } }\n"+
				"outputs: { o: { from: n, sink: { stdout: {} } } }\n", "g")
			g := api.Ref{Tenant: "default", Name: "g"}
			const pushes = 1000
			for i := range pushes {
				to := []string{"a", "b", "b"}[i%3]
				if _, err := b.e.Push(t.Context(), g, to, []json.RawMessage{
					json.RawMessage(fmt.Sprintf(`{"n":%d}`, i+1)),
				}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.e.Drain(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint(numbers(1, pushes, 1, 0)); p.taken() != want {
				t.Errorf("%q: took %s", timed, p.taken())
			}
		})
	}
}
