package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

const rateDoc = `graph: g
accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
lanes: { beat: { fixed_rate: { period: 10s, overrun_policy: catch_up_once } } }
nodes: { held: { expr: a, lane: beat }, each: { expr: b + 100 } }
outputs: { h: { from: held, sink: { drop: {} } }, e: { from: each, sink: { drop: {} } } }
`

// M23: a node of a lane with a cadence runs by the clock, at the ticks of the lane, with nothing new too. A restart
// goes on with them, and what it has missed is told; an update that takes the node out of the lane has it run.
func TestM23LaneByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, got := memstore.New(), &picky{}
		kinds := func() *scripted {
			return &scripted{sink: func(output string) sink.Sink {
				if output == "h" {
					return got
				}
				return &picky{}
			}}
		}
		b := newBed(t, store, kinds())
		b.apply(rateDoc, "g")
		ref := api.Ref{Tenant: "default", Name: "g"}
		push := func(input, value string) {
			t.Helper()
			if _, err := b.e.Push(t.Context(), ref, input, []json.RawMessage{json.RawMessage(value)}); err != nil {
				t.Fatal(err)
			}
		}
		wait := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			if synctest.Wait(); got.taken() != want {
				t.Fatalf("the sink has %s, want %s", got.taken(), want)
			}
		}
		push("a", "1")
		wait(3*time.Second, "[]")
		wait(8*time.Second, "[1]")
		push("a", "2")
		push("a", "3")
		wait(8*time.Second, "[1]")
		wait(2*time.Second, "[1 3]")
		wait(20*time.Second, "[1 3 3 3]")
		b.close()

		time.Sleep(34 * time.Second) // ticks at 50, 60 and 70 s
		b = newBed(t, store, kinds())
		defer func() { b.close() }()
		wait(time.Second, "[1 3 3 3 3 3]")
		wait(10*time.Second, "[1 3 3 3 3 3 3]")
		if r := b.e.Metrics(t.Context())[0].Rates["beat"]; r.Ticks != 3 || r.Overruns != 1 || r.Dropped != 1 {
			t.Errorf("%+v", r)
		}
		page, err := b.e.Firings(t.Context(), ref, api.Query{})
		if err != nil {
			t.Fatal(err)
		}
		dropped := int64(0)
		for i := range page.Items {
			f := &page.Items[i]
			if dropped += f.DroppedTicks; (f.Cause == "tick") != (strings.Join(f.Lanes, " ") == "beat") {
				t.Errorf("%+v", f)
			}
		}
		if dropped != 1 {
			t.Errorf("the records say that %d ticks were dropped", dropped)
		}
		push("a", "4")
		wait(time.Second, "[1 3 3 3 3 3 3]")
		b.apply(strings.Replace(rateDoc, ", lane: beat", "", 1), "g")
		push("b", "1")
		wait(time.Second, "[1 3 3 3 3 3 3 4]")
		wait(time.Minute, "[1 3 3 3 3 3 3 4]")
	})
}
