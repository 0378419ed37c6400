package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M4: the seconds until a queue is full follow from how fast it fills, by boundaries or by bytes,
// whichever is sooner, and not from who has looked at it when.
func TestM4SecondsToFull(t *testing.T) {
	const doc = `graph: g
accumulators: { a: { strategy: sequential, capacity: %d, capacity_bytes: %d } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
	event := `"` + strings.Repeat("x", 1000) + `"`
	for name, tc := range map[string]struct {
		capacity int
		bytes    int
		looks    int // readers between two events
		least    float64
		most     float64
	}{
		"boundaries":          {1000, 8 << 20, 0, 93, 96},
		"boundaries, watched": {1000, 8 << 20, 7, 93, 96},
		"bytes":               {1000, 200 << 10, 0, 2, 6},
		"bytes, watched":      {1000, 200 << 10, 7, 2, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, memstore.New(), &scripted{})
				defer b.close()
				b.apply(fmt.Sprintf(doc, tc.capacity, tc.bytes), "g")
				if _, err := b.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "ann"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond) // not in step with the samples
				for range 50 {                    // ten a second
					time.Sleep(100 * time.Millisecond)
					b.push("g", "a", event)
					for range tc.looks {
						b.summary("g")
					}
				}
				time.Sleep(20 * time.Millisecond)
				got := b.summary("g").Accumulators[0].SecondsToFull
				if got == nil {
					got = new(math.NaN())
				}
				if !(*got >= tc.least && *got <= tc.most) {
					t.Errorf("%v seconds to full, want between %v and %v", *got, tc.least, tc.most)
				}
				time.Sleep(3 * time.Second)
				if still := b.summary("g").Accumulators[0].SecondsToFull; still != nil {
					t.Errorf("a queue that fills no more is full in %v seconds", *still)
				}
			})
		})
	}
}
