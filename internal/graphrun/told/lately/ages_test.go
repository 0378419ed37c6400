package lately_test

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/graphrun/told/lately"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// Where every input that fires the graph has ended, nothing is to come: but of a join's sides, a stage's values and a
// cadence something may. The zero Ages has nothing to say.
func TestNothingIsDueWhereAllHasEnded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	type health = accumulator.Health
	live, over := accumulator.Live, accumulator.Ended
	for what, c := range map[string]struct {
		accs  []spec.Accumulator
		state []health
		every time.Duration
		due   bool
	}{
		"all":                       {[]spec.Accumulator{{}, {}}, []health{over, over}, 0, false},
		"one of two":                {[]spec.Accumulator{{}, {}}, []health{over, live}, 0, true},
		"but one that is read":      {[]spec.Accumulator{{}, {Passive: true}}, []health{over, live}, 0, false},
		"one that is read":          {[]spec.Accumulator{{}, {Passive: true}}, []health{live, over}, 0, true},
		"but one that a node feeds": {[]spec.Accumulator{{}, {From: "n"}}, []health{over, live}, 0, false},
		"one side of a join":        {[]spec.Accumulator{{}, {JoinedBy: "j"}}, []health{over, live}, 0, true},
		"with a cadence":            {[]spec.Accumulator{{}}, []health{over}, time.Second, true},
	} {
		g := &spec.Graph{Accumulators: c.accs, Reactor: &spec.Reactor{Every: c.every}}
		v := &reactor.View{Emitted: []int64{7}, StoppedOutputs: []*reactor.Stopped{nil}}
		for _, is := range c.state {
			v.Inputs = append(v.Inputs, reactor.InputView{Health: is})
		}
		var ages lately.Ages
		if age := ages.Of(0, nil, now); age != nil {
			t.Errorf("an age of %v before the first sample", *age)
		}
		ages.Sample(v, g, now)
		if age := ages.Of(0, nil, now.Add(3*time.Second)); (age != nil) != c.due || age != nil && *age != 3 {
			t.Errorf("%s: due is %v, want %v", what, age != nil, c.due)
		}
	}
}
