package engine

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M5, M11, M42: an accumulator that a node feeds takes no pushes, is not stopped and not rewound; its
// dead letters come again into it; and a restart goes on with what it had folded.
func TestM5StagesOfADaemon(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stageOfADaemon(t, mode) })
		})
	}
}

func stageOfADaemon(t *testing.T, mode string) {
	store := lasting{memstore.New()}
	b := newBed(t, store, &scripted{})
	g := api.Ref{Tenant: "default", Name: "g"}
	b.apply("graph: g\naccumulators: { a: {}, by: { passive: true, default: 0 }, s: { from: n, emit: '6 / event', "+
		"batch: { size: 2 } } }\nreactor: { strategy: sequential }\n"+
		"nodes: { n: { expr: a - by }, m: { expr: sum(s) } }\n"+
		"outputs: { o: { from: m, sink: { drop: {} } } }\ndurability: { mode: "+mode+" }\n", "g")
	b.push("g", "a", "3", "0")
	synctest.Wait()
	l := b.letters("g")
	if len(l) != 1 || l[0].Accumulator != "s" || l[0].Epoch != 2 || string(l[0].Payload) != "0" {
		t.Fatalf("letters %+v", l)
	}
	if in := b.summary("g").Accumulators[2]; in.Source != "node" || in.From != "n" || in.Health != "live" ||
		in.Counters.Received != 2 || in.Counters.Queued != 1 || in.Counters.DeadLettered != 1 {
		t.Fatalf("the stage is %+v", in)
	}
	_, err := b.e.Push(t.Context(), g, "s", nil)
	wantCode(t, err, http.StatusConflict, "fed_by_node", "node n")
	_, err = b.e.StopPart(t.Context(), g, api.Part{Accumulator: "s"}, "ann")
	wantCode(t, err, http.StatusConflict, "fed_by_node", "pause")
	_, err = b.e.Rewind(t.Context(), g, "s", "start", "g", "ann")
	wantCode(t, err, http.StatusConflict, "fed_by_node", "rewind what feeds that")
	b.close()

	b = newBed(t, store, &scripted{})
	defer b.close()
	time.Sleep(time.Second)
	if res, err := b.e.ReplayDeadLetter(t.Context(), g, l[0].ID); err != nil || len(res.Rejected) != 1 {
		t.Fatalf("%+v %v", res, err) // it is still no event that can be used
	}
	b.push("g", "a", "1")
	synctest.Wait()
	// M38: the record of an epoch of the stage names the epoch that fed it last.
	last := b.summary("g").Epoch
	if f, err := b.e.Firing(t.Context(), g, 0, last); err != nil || !f.Cut["s"].Taken ||
		f.Cut["s"].Position != fmt.Sprintf("epoch@%d", last-1) {
		t.Errorf("%+v, %v", f, err)
	}
	st, err := b.e.State(t.Context(), g, "")
	if err != nil || string(st.Nodes["m"]) != "8" {
		t.Fatalf("%v %s", err, st.Nodes["m"])
	}
	if c := b.summary("g").Accumulators[2].Counters; c.Received != 4 || c.Consumed != 2 || c.DeadLettered != 1 ||
		c.Rejected != 1 || c.Queued != 0 {
		t.Fatalf("%+v", c)
	}
}
