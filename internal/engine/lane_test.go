package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
)

const laneDoc = `graph: lanes
accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
reactor: { epoch_timeout: 5s }
lanes: { slow: { pool: {} } }
nodes:
  n: { go: { name: slow }, inputs: [a], lane: slow, on_error: skip }
  m: { expr: b + 100 }
outputs: { o: { from: n, sink: { drop: {} } }, p: { from: m, sink: { drop: {} } } }
`

// M25: a node of a lane that does not come back is named within a second. Its epoch fails when its time is up, and the
// graph goes on without the node, degraded, until it is back; what it then comes to is dropped.
func TestM25NodeOfALaneIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, got := make(chan struct{}), &picky{}
		slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
			if n, _ := args[0].AsInt(); n == 1 {
				<-hold
			}
			return args[0], nil
		}
		b := newBed(t, memstore.New(), &scripted{
			Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}},
			sink:  func(string) sink.Sink { return got },
		})
		defer b.close()
		b.apply(laneDoc, "lanes")
		push := func(input, value string) {
			t.Helper()
			ref := api.Ref{Tenant: "default", Name: "lanes"}
			if _, err := b.e.Push(t.Context(), ref, input, []json.RawMessage{json.RawMessage(value)}); err != nil {
				t.Fatal(err)
			}
		}
		says := func(when, code, detail string) {
			t.Helper()
			s := b.summary("lanes")
			why := s.HealthReason
			if why == nil || why.Code != code || !strings.Contains(why.Detail, detail) {
				t.Errorf("%s: %s %+v, want %s, %s", when, s.Health, why, code, detail)
			}
		}
		push("a", "1")
		time.Sleep(time.Second)
		says("while its epoch waits", "reactor_busy", "node n has run for 1s")
		time.Sleep(5 * time.Second)
		says("when that was given up", "stuck_node", "node n has run for 6s")
		push("b", "2")
		push("a", "3")
		time.Sleep(time.Second)
		if s := b.summary("lanes"); s.Epoch != 3 || s.Health != "degraded" || got.taken() != "[102]" {
			t.Errorf("without the node: %s, epoch %d, the sink has %s", s.Health, s.Epoch, got.taken())
		}
		close(hold)
		push("a", "4")
		time.Sleep(time.Second)
		if s := b.summary("lanes"); s.Health != "live" || got.taken() != "[102 4]" {
			t.Errorf("afterwards: %s %+v, the sink has %s", s.Health, s.HealthReason, got.taken())
		}
		if letters := b.letters("lanes"); len(letters) != 1 || letters[0].Code != "epoch_timeout" ||
			!strings.Contains(letters[0].Reason, "node n: ") {
			t.Errorf("letters: %+v", letters)
		}
		metrics := b.e.Metrics(t.Context())
		if l := metrics[0].Lanes["slow"]; l.Runs != 2 || l.Late != 1 || l.Lost != 0 {
			t.Errorf("metrics: %+v", l)
		}
	})
}
