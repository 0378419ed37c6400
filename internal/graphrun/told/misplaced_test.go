package told

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// astray is a run of which nothing is known but what is misplaced.
type astray struct{ counts Misplaced }

func (*astray) Input(int) Input                   { return Input{} }
func (*astray) Writer(int) *delivery.Writer       { return nil }
func (*astray) Age(int, time.Time) *float64       { return nil }
func (*astray) EpochsPerSecond(time.Time) float64 { return 0 }

func (a *astray) Misplaced(i int) (misplaced, events int64) { return a.counts.Of(i) }

// M49: a graph of which most of the last events are in partitions of other shards is not well; a few are dead letters
// like others. What was there before the run, or long before, does not count.
func TestM49MisplacedKeysAreNotWell(t *testing.T) {
	t.Parallel()
	k := &Known{Spec: &spec.Graph{Reactor: &spec.Reactor{},
		Accumulators: []spec.Accumulator{{Name: "a", Partitioned: "murmur2"}}}}
	for _, c := range []struct {
		what     string
		samples  [][2]int64 // misplaced and received, behind the run's beginning
		degraded bool
	}{
		{"none", [][2]int64{{0, 100}}, false},
		{"too few to say", [][2]int64{{19, 20}}, false},
		{"half", [][2]int64{{50, 100}}, false},
		{"more than half", [][2]int64{{51, 100}}, true},
		{"nearly all", [][2]int64{{20, 21}}, true},
		{"the topic is dealt right since", [][2]int64{{300, 300}, {700, 700}, {1000, 1000}, {1000, 1200}, {1000, 1400}},
			false},
		{"it is dealt wrong since", [][2]int64{{0, 10000}, {0, 10100}, {150, 10250}, {200, 10300}}, true},
	} {
		run := &astray{}
		sample := func(misplaced, received int64) {
			run.counts.Sample([]reactor.InputView{{Reasons: map[string]int64{"key_misplaced": misplaced},
				Books: reactor.Books{Received: received}}}, k.Spec.Accumulators)
		}
		sample(5000, 6000) // of runs before
		for _, s := range c.samples {
			sample(5000+s[0], 6000+s[1])
		}
		sum := api.GraphSummary{Health: "live", Accumulators: []api.AccumulatorSummary{{Name: "a"}}}
		k.misplaced(&sum, run)
		if got := sum.HealthReason != nil && sum.HealthReason.Code == "keys_misplaced"; got != c.degraded ||
			got != (sum.Health == "degraded") {
			t.Errorf("%s: %s %+v", c.what, sum.Health, sum.HealthReason)
		}
	}
}

// M10: a graph that waits for an input that knows its trouble by name says so by that name, also while it warms up;
// what any input may be is no name.
func TestM10WhatIsWaitedForHasItsCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"partitions_uneven": "partitions_uneven",
		"accumulator_disconnected": "waiting_for_accumulators", "": "waiting_for_accumulators"} {
		a := api.AccumulatorSummary{Name: "a", HealthReason: &api.Reason{Code: code, Detail: "why"}}
		sum := api.GraphSummary{Health: "warming", HealthReason: api.ReasonOf("waiting_for_accumulators", "waiting"),
			Accumulators: []api.AccumulatorSummary{a}}
		awaited(&sum)
		if sum.HealthReason.Code != want || sum.HealthReason.Detail != "a: why" {
			t.Errorf("%q: %+v", code, sum.HealthReason)
		}
	}
}
