package told

import (
	"fmt"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// InTrouble says that an accumulator has failed by itself. One that is connecting has not: it is
// no reason to let an update take it away.
func InTrouble(a *api.AccumulatorSummary) bool {
	switch accumulator.Health(a.Health) {
	case accumulator.Restarting, accumulator.Halted, accumulator.Failed:
		return true
	}
	return false
}

// Troubles are the inputs that have failed by themselves, or else why the graph has not come up, such as an
// output that cannot be opened.
func Troubles(s *api.GraphSummary) (list []string) {
	for i := range s.Accumulators {
		if a := &s.Accumulators[i]; InTrouble(a) {
			list = append(list, "accumulator "+a.Name+": "+CauseOf(a))
		}
	}
	if len(list) == 0 && DidNotStart(s) {
		list = append(list, Cause(s.HealthReason, s.Health))
	}
	return list
}

// DidNotStart says that a graph has failed to start; one that is starting with a reason has, and tries again later.
func DidNotStart(s *api.GraphSummary) bool {
	return s.Health == string(reactor.HealthFailed) ||
		s.Health == string(reactor.HealthStarting) && s.HealthReason != nil
}

// HoldsUp is why nothing fires while an output has as much waiting as it may.
func HoldsUp(o *api.OutputSummary) *api.Reason {
	code, why := api.CodeQueueFull, "is behind"
	switch {
	case o.Stopped != nil:
		code, why = "part_stopped", "was stopped by "+o.Stopped.By
	case o.FailingSince != nil:
		code, why = "output_failing", o.Trouble()
	}
	return &api.Reason{Code: code, Detail: "nothing fires, for output " + o.Name +
		" has as much waiting as it may, and " + why}
}

// failing names an output whose deliveries fail, or have ended in dead letters, beside a health that has no
// reason of its own: the graph fires, and that an output is away is no fault of its.
func failing(s *api.GraphSummary) {
	for i := range s.Outputs {
		o := &s.Outputs[i]
		if s.HealthReason != nil || o.FailingSince == nil {
			continue
		}
		code := "output_failing"
		if o.GaveUp() {
			code = "output_refused"
		}
		s.HealthReason = api.ReasonOf(code, "output "+o.Name+" "+o.Trouble())
	}
}

// misplacedMost is how many events of an input may be in a partition of another shard than their key's before health
// tells, where they are more than half of what came.
const misplacedMost = 20

// misplaced degrades a graph whose topic is dealt otherwise than its declaration says: most of its events are dead
// letters.
func (k *Known) misplaced(s *api.GraphSummary, v *live.View) {
	for i := range s.Accumulators {
		a, by := &s.Accumulators[i], k.Spec.Accumulators[i].Partitioned
		n := v.Inputs[i].Reasons["key_misplaced"]
		if by == "" || n < misplacedMost || 2*n <= a.Counters.Received || s.Health != string(reactor.HealthLive) {
			continue
		}
		s.Health = string(reactor.HealthDegraded)
		s.HealthReason = api.ReasonOf("keys_misplaced", fmt.Sprintf("%d of %d events of %s are in partitions of other "+
			"shards than their keys', by %s, and are dead letters: see by which function and by which key the topic's "+
			"producer deals them, and apply the graph under another name with that", n, a.Counters.Received, a.Name,
			by))
	}
}

// awaited says why a graph waits for its inputs, where one of them knows.
func awaited(s *api.GraphSummary) {
	if s.HealthReason == nil || s.HealthReason.Code != "waiting_for_accumulators" {
		return
	}
	for i := range s.Accumulators {
		if a := &s.Accumulators[i]; a.HealthReason != nil {
			s.HealthReason.Detail = a.Name + ": " + CauseOf(a)
			return
		}
	}
}
