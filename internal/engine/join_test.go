package engine

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const joinDoc = `graph: g
accumulators:
  a: { time: event.at }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: k, within: 10s, type: left, max_rows: 2 } }
nodes: { n: { expr: '[j.k, j.left?.at, j.right?.at]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { mode: MODE }
`

// M5, M33, M42: what waits in a join of a daemon survives a restart, and an update that changes what it hands over and
// how much it keeps; it takes no pushes itself; and what it had no room for comes again into its side.
func TestM33AJoinOfADaemon(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { joinOfADaemon(t, strings.ReplaceAll(joinDoc, "MODE", mode)) })
		})
	}
}

func joinOfADaemon(t *testing.T, doc string) {
	store := lasting{memstore.New()}
	b := newBed(t, store, &scripted{})
	g := api.Ref{Tenant: "default", Name: "g"}
	b.apply(doc, "g")
	b.push("g", "a", `{"k":"x","at":1000}`, `{"k":"y","at":1001}`, `{"k":"z","at":1002}`)
	synctest.Wait()
	l := b.letters("g")
	if len(l) != 1 || l[0].Accumulator != "a" || l[0].Code != "join_full" || l[0].Stage != "join" {
		t.Fatalf("letters %+v", l)
	}
	if _, err := b.e.Checkpoint(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	in := b.summary("g").Accumulators
	if j := in[2]; j.Source != "join" || j.From != "a, b" || j.Health != "live" || j.Counters.Received != 2 ||
		j.Counters.Queued != 2 || j.Keys == nil || j.Keys.Count != 2 || j.Keys.Max != 2 {
		t.Fatalf("the join is %+v with %+v", j, j.Keys)
	}
	if a := in[0]; a.Triggers || a.Counters.Consumed != 2 || a.Counters.DeadLettered != 1 || a.Depth != 0 {
		t.Fatalf("its side is %+v", a)
	}
	_, err := b.e.Push(t.Context(), g, "j", nil)
	wantCode(t, err, http.StatusConflict, "fed_by_node", "a join of a and b")
	b.close()

	b = newBed(t, store, &scripted{})
	defer b.close()
	time.Sleep(time.Second)
	b.apply(strings.ReplaceAll(doc, "type: left, max_rows: 2", "type: full, max_rows: 9"), "g")
	time.Sleep(time.Second)
	if res, err := b.e.ReplayDeadLetter(t.Context(), g, l[0].ID); err != nil || res.Accepted != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	b.push("g", "b", `{"k":"x","at":1500}`, `{"k":"z","at":1600}`, `{"k":"w","at":1700}`)
	synctest.Wait()
	if st, err := b.e.State(t.Context(), g, ""); err != nil || string(st.Nodes["n"]) != `["z",1002,1600]` {
		t.Fatalf("%v %s", err, st.Nodes["n"])
	}
	b.push("g", "b", `{"k":"v","at":30000}`) // the time of all others is up
	synctest.Wait()
	for _, in := range b.summary("g").Accumulators {
		c := in.Counters
		if c.Received != c.Filtered+c.Conflated+c.Rejected+c.DeadLettered+c.Consumed+c.Queued {
			t.Errorf("%s: %+v", in.Name, c)
		}
		if in.Name == "j" && (c.Received != 7 || c.Consumed != 6 || c.Queued != 1 || b.summary("g").Epoch != 4) {
			t.Errorf("%+v after %d epochs", c, b.summary("g").Epoch)
		}
	}
}

// M33, M42: what waits of an input that becomes a side of a join by an update is told of and lost to nobody's books.
func TestM33AnInputBecomesASide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, lasting{memstore.New()}, &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply(`graph: g
accumulators: { a: { time: event.at, strategy: sequential }, b: { time: event.at, strategy: latest } }
nodes: { n: { expr: '[a.k, b?.k]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, "g")
		b.push("g", "a", `{"k":"x","at":1000}`)
		synctest.Wait()
		if _, err := b.e.Pause(t.Context(), g, "ann"); err != nil {
			t.Fatal(err)
		}
		b.push("g", "a", `{"k":"x","at":1001}`, `{"k":"y","at":1002}`)
		b.push("g", "b", `{"k":"y","at":1003}`)
		synctest.Wait()
		b.apply(strings.ReplaceAll(joinDoc, "MODE", "checkpoint"), "g")
		time.Sleep(time.Second)
		if _, err := b.e.Resume(t.Context(), g, "ann"); err != nil {
			t.Fatal(err)
		}
		b.push("g", "a", `{"k":"y","at":1004}`)
		synctest.Wait()
		for _, in := range b.summary("g").Accumulators {
			c := in.Counters
			t.Logf("%s: %+v, depth %d", in.Name, c, in.Depth)
			if c.Received != c.Filtered+c.Conflated+c.Rejected+c.DeadLettered+c.Consumed+c.Queued ||
				in.Name != "j" && (c.Queued > 0 || c.Conflated > 0) {
				t.Errorf("%s: %+v", in.Name, c)
			}
		}
	})
}

// M5: what a join refuses as late counts as that, also where it becomes a dead letter of its side.
func TestM5LateEventsOfAJoinAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, lasting{memstore.New()}, &scripted{})
		defer b.close()
		b.apply(strings.NewReplacer("MODE", "checkpoint", "max_rows: 2", "late: dead_letter").Replace(joinDoc), "g")
		b.push("g", "a", `{"k":"x","at":100000}`)
		for n := range int64(3) {
			b.push("g", "a", `{"k":"x","at":1000}`)
			if _, err := b.e.Checkpoint(t.Context(), api.Ref{Tenant: "default", Name: "g"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			in := b.summary("g").Accumulators
			if in[2].Late != n+1 || in[0].Counters.DeadLettered != n+1 || in[2].Counters.Received != 1 {
				t.Errorf("the join has %d late of %d, its side %+v", in[2].Late, n+1, in[0].Counters)
			}
		}
	})
}
