package accumulator

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/window"
)

// M3: with late: update an event that is in time for the last of its hopping windows is folded into those too that have
// closed, and is not late.
func TestM3HoppingWindowsAreUpdatedInTime(t *testing.T) {
	t.Parallel()
	a := tumbling(20 * time.Second)
	change(&a, func(w *window.Declared) { w.Every, w.Late, w.Retain = 10*time.Second, "update", time.Minute })
	c := newCore(t, a)
	out, _ := feedAll(t, c, reading(11, "", 1), reading(25, "", 1), reading(12, "", 1))
	want(t, "handed over", out, `[0,20) n=1 update=false +0`, `[0,20) n=2 update=true +0`)
	if n := c.Counters(); n.Open != 3 || n.Filtered != 0 {
		t.Errorf("counters %+v", n)
	}
}
