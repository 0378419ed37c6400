package engine

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

const whyDoc = `graph: g
accumulators: { a: { strategy: sequential }, limit: { passive: true, default: 5 } }
reactor: { guard: a > limit }
nodes:
  sum: { expr: a + limit }
  size: { route: { large: sum > 100, small: true } }
  alarm: { after: size.large, expr: a }
outputs:
  sums: { from: sum, sink: { drop: {} } }
  alarms: { from: alarm, sink: { drop: {} } }
`

// ids is a sink that remembers firing ids.
type ids struct {
	picky
	at  sync.Mutex
	got []string
}

// TestWhy: why an epoch ran, what it read, why nodes came to nothing, and what became of what it gave.
func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sums := &ids{}
		sums.set(func(batch []sink.Message) error {
			for i := range batch {
				if n, _ := batch[i].Value.AsInt(); n == 99 {
					return &sink.PermanentError{Index: i, Code: "http_400", Err: errors.New("no such sum")}
				}
				sums.at.Lock()
				sums.got = append(sums.got, batch[i].FiringID())
				sums.at.Unlock()
			}
			return nil
		})
		b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"sums": sums})})
		defer b.close()
		doc := strings.Replace(whyDoc, "sums: { from: sum,", "sums: { from: sum, on_error: dead_letter,", 1)
		b.apply(doc, "g")
		why := func(q api.WhyQuery) api.Why {
			t.Helper()
			w, err := b.e.Why(t.Context(), api.Ref{Tenant: "default", Name: "g"}, q)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		b.push("g", "a", "7")
		time.Sleep(10 * time.Second)
		b.push("g", "limit", "6")
		b.push("g", "a", "9")
		b.push("g", "a", "93")
		time.Sleep(time.Second)

		w := why(api.WhyQuery{Epoch: new(int64(2))})
		if !strings.Contains(w.Sentence, "epoch 2 of g ran because a had something new, and the guard held; sums "+
			"went out; alarms gave nothing") || w.Revision == nil || w.Revision.Revision != 1 {
			t.Errorf("%q, revision %+v", w.Sentence, w.Revision)
		}
		if g := w.Guard; g == nil || string(g.Reads["a"]) != "9" || string(g.Reads["limit"]) != "6" {
			t.Errorf("the guard read %+v", g)
		}
		if a, limit := w.Inputs[0], w.Inputs[1]; a.State != "new" || a.Events != 1 || limit.State != "new" {
			t.Errorf("inputs %+v", w.Inputs)
		}
		alarm := w.Nodes[slices.IndexFunc(w.Nodes, func(n api.WhyNode) bool { return n.Name == "alarm" })]
		if alarm.Because == nil || alarm.Because.Code != "cut_off" && alarm.Because.Code != "route_not_taken" {
			t.Errorf("alarm: %+v", alarm.Because)
		}
		if o := w.Outputs[0]; o.Fate != "delivered" || !slices.Contains(sums.got, o.FiringID) {
			t.Errorf("sums: %+v, the sink has %v", o, sums.got)
		}
		if o := w.Outputs[1]; o.Fate != "silent" || o.Because == nil {
			t.Errorf("alarms: %+v", o)
		}
		if by := why(api.WhyQuery{FiringID: w.Outputs[0].FiringID}); by.Epoch != 2 {
			t.Errorf("by its firing id it is epoch %d", by.Epoch)
		}
		newest := why(api.WhyQuery{})
		if o := newest.Outputs[0]; newest.Epoch != 3 || o.Fate != "dead_letter" || !strings.Contains(o.Detail,
			"no such sum") {
			t.Errorf("epoch %d: %+v", newest.Epoch, o)
		}
		if in := newest.Inputs[1]; in.State != "cached" || in.SinceEpoch != 2 || in.AgeSeconds == nil {
			t.Errorf("limit: %+v", in)
		}
		if first := why(api.WhyQuery{Epoch: new(int64(1))}); first.Inputs[1].State != "default" {
			t.Errorf("limit: %+v", first.Inputs[1])
		}
		for _, q := range []api.WhyQuery{{Epoch: new(int64(99))}, {FiringID: "6ba7b810-9dad-51d1-80b4-00c04fd430c8"}} {
			if _, err := b.e.Why(t.Context(), api.Ref{Tenant: "default", Name: "g"}, q); err == nil {
				t.Errorf("%+v is answered", q)
			}
		}
	})
}

// TestWhyWaits: a value that waits for its sink is told as that, and one that waits for a commit.
func TestWhyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &picky{}
		b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"sums": down})})
		defer b.close()
		b.apply(whyDoc, "g")
		b.push("g", "a", "7")
		time.Sleep(time.Second)
		down.set(func([]sink.Message) error { return errors.New("connection refused") })
		b.push("g", "a", "8")
		time.Sleep(time.Second)
		for epoch, want := range map[int64]string{1: "delivered", 2: "pending"} {
			w, err := b.e.Why(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.WhyQuery{Epoch: &epoch})
			if err != nil {
				t.Fatal(err)
			}
			if o := w.Outputs[0]; o.Fate != want || want == "pending" && !strings.Contains(o.Detail, "connection "+
				"refused") {
				t.Errorf("epoch %d: %+v, want %s", epoch, o, want)
			}
		}
	})
}
