package told

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
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

// Judge adds to the health of a graph, or of some of its shards, what none of them knows: why its keys are dealt
// otherwise than is declared, "" where they are not, and of the whole which outputs are stale.
func Judge(s *api.GraphSummary, otherwise string, whole bool) {
	if otherwise != "" && api.Severity(s.Health) <= api.Severity(string(reactor.HealthDegraded)) &&
		s.HealthReason == nil {
		s.Health, s.HealthReason = string(reactor.HealthDegraded), api.ReasonOf("dealt_otherwise", otherwise)
	}
	if whole {
		stale(s)
	}
}

// stale says which outputs have given nothing for longer than they are to, and names one beside a health that has no
// reason of its own. It is for a graph as a whole, all of which runs: a part of it may have nothing to give.
func stale(s *api.GraphSummary) {
	if s.Keys != nil && s.Keys.AsOne == "" && s.Keys.ShardsRunning < s.Keys.Shards {
		return
	}
	for i := range s.Outputs {
		o := &s.Outputs[i]
		if o.Stale = o.FreshSeconds > 0 && o.AgeSeconds != nil && *o.AgeSeconds > o.FreshSeconds; !o.Stale {
			continue
		}
		if s.HealthReason == nil && Loaded(s) {
			since := time.Now().Add(-time.Duration(*o.AgeSeconds * float64(time.Second))).UTC().Format(time.RFC3339)
			s.HealthReason = api.ReasonOf("stale", fmt.Sprintf("output %s has given nothing since %s, and is to give "+
				"something within %s: graphd why-not %s --output-name %s says why", o.Name, since,
				time.Duration(o.FreshSeconds*float64(time.Second)), s.Graph, o.Name))
		}
	}
}

// awaited says why a graph waits for its inputs, where one of them knows: with its code, where it has one of its own.
func awaited(s *api.GraphSummary) {
	if s.HealthReason == nil || s.HealthReason.Code != "waiting_for_accumulators" {
		return
	}
	for i := range s.Accumulators {
		if a := &s.Accumulators[i]; a.HealthReason != nil {
			s.HealthReason.Detail = a.Name + ": " + CauseOf(a)
			if code := a.HealthReason.Code; code != "" && !strings.HasPrefix(code, "accumulator_") {
				s.HealthReason.Code = code
			}
			return
		}
	}
}
