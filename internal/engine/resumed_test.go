package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
)

// A watcher that comes back after a restart of its graph gets what it has missed from where it was; what is there no
// more is a gap from there, and not from the first frame that ever was.
func TestWatchGoesOnBehindARestart(t *testing.T) {
	for keep, want := range map[int]string{100: "3 4 5 ", 2: "gap 7-8 4 5 "} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, memstore.New(), &scripted{})
			defer b.close()
			g := api.Ref{Tenant: "default", Name: "g"}
			b.apply(fmt.Sprintf("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
				"outputs: { o: { from: n, sink: { websocket: {} } } }\nhistory: { keep: %d }\n", keep), "g")
			watch := func(since string) (got, last string) {
				sub, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"outputs", "firings"}, Since: since})
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				if since == "" {
					for n := range 3 { // one after the other, for the history is short
						b.push("g", "a", fmt.Sprint(n))
						synctest.Wait()
					}
				}
				for f := sub.TryNext(); f != nil; f = sub.TryNext() {
					last = fmt.Sprintf("%d:%d", f.Incarnation, f.Seq)
					switch f.Type {
					case "gap":
						got += fmt.Sprintf("gap %d-%d ", f.From, f.To)
					case "output":
						got += string(f.Value) + " "
					}
				}
				return got, last
			}
			got, last := watch("")
			if got != "0 1 2 " {
				t.Fatalf("%s, %s", got, last)
			}
			if _, err := b.e.Restart(t.Context(), g, "", "ann"); err != nil {
				t.Fatal(err)
			}
			b.until("g", reactor.HealthLive, time.Second)
			if got, _ := watch(last); got != "" {
				t.Errorf("nothing was missed, and it is told %s", got)
			}
			b.push("g", "a", "3", "4", "5")
			if got, _ := watch(last); got != want {
				t.Errorf("keeping %d: %s, want %s", keep, got, want)
			}
		})
	}
}
