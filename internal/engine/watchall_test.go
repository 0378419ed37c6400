package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// W22: whoever watches all graphs is let in after one wait, however many of them are stuck, and is
// attached to each. A graph that answers takes it in between two epochs, although it is the last.
func TestW22StuckGraphsHoldAWatcherUpOnce(t *testing.T) {
	for name, stuckFor := range map[string]time.Duration{"known to be busy": 10 * time.Second, "just now": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 100
				if stuckFor == 0 {
					n = 5 // the places for those that are asked at one time are not all taken
				}
				b, hold, names := stuckBed(t, n, &picky{})
				defer b.close()
				b.apply(fmt.Sprintf(busyDoc, "quick"), "quick")
				b.push("quick", "a", "1")
				time.Sleep(stuckFor)
				began := time.Now()
				sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default"}, api.Wanted{Topics: []string{"outputs"}})
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("the watcher was let in after %v", took)
				}
				b.push("quick", "a", "2")
				if f := sub.TryNext(); f == nil || f.Graph != "quick" || string(f.Value) != "2" {
					t.Errorf("the first frame is %+v, want what was put out after the watcher came", f)
				}
				close(hold)
				synctest.Wait()
				seen := map[string]int{}
				for f := sub.TryNext(); f != nil; f = sub.TryNext() {
					seen[f.Graph]++
				}
				for _, name := range names {
					if seen[name] != 1 {
						t.Errorf("%d frames of %s", seen[name], name)
					}
				}
			})
		})
	}
}
