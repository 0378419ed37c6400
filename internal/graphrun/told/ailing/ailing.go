// Package ailing names what fails in a graph that goes on, beside a health that has no reason of its own.
package ailing

import (
	"fmt"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Outputs names an output whose deliveries fail, or have ended in dead letters: the graph fires, and that an output is
// away is no fault of its, and keeps none from starting.
func Outputs(s *api.GraphSummary) {
	for i := range s.Outputs {
		o := &s.Outputs[i]
		if s.HealthReason != nil || o.FailingSince == nil || s.Health == string(reactor.HealthStarting) {
			continue
		}
		code := "output_failing"
		if o.GaveUp() {
			code = "output_refused"
		}
		s.HealthReason = api.ReasonOf(code, "output "+o.Name+" "+o.Trouble())
	}
}

// failedInRow is how many epochs fail one after the other until health says so: one event may be wrong.
const failedInRow = 3

// Epochs names what epochs fail of, one after the other: the graph goes on, and all that comes is lost to it.
func Epochs(s *api.GraphSummary, v *live.View) {
	if n := v.Stats(); s.HealthReason == nil && n.InRow >= failedInRow {
		s.HealthReason = api.ReasonOf("epochs_failing", fmt.Sprintf(
			"the last %d epochs have failed, the last one with %s: %s", n.InRow, n.FailureCode, n.Failure))
	}
}
