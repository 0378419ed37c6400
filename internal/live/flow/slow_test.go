package flow_test

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/live/flow"
)

// M27: a turn ends when its epochs have taken so long, and the next goes on where it has ended.
func TestM27ATurnOfSlowEpochsEnds(t *testing.T) {
	t.Parallel()
	for step, want := range map[time.Duration]int{0: 5, flow.TurnWithin: 1} {
		var now int64
		r := newRigOf(t, oneInput, 100, func() int64 { now += int64(step); return now }, nil)
		r.line.CaughtUp("", true)
		for n := range int64(5) {
			r.give("0", n+1, 10*(n+1))
		}
		r.line.CaughtUp("0", true)
		all, most := 0, 0
		for done := true; done; {
			came, fired := r.flow.Admit(), 0
			done, fired, _ = r.flow.Turn(time.Unix(1000, 0))
			done, all, most = done || came, all+fired, max(most, fired)
		}
		if all != 5 || most != want {
			t.Errorf("looks of %v: %d epochs, %d in a turn, want %d", step, all, most, want)
		}
	}
}
