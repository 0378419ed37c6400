package spec

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
)

// DefaultIdle is how long a graph under the event clock waits for what is silent.
const DefaultIdle = 10 * time.Second

// clocks are what engine time can be.
var clocks = decode.Words("event", "arrival")

func readClock(d *decoder, v value, g *draft) {
	d.Pick(v, clocks, &g.Clock)
	g.links.clock = v
}

func readIdle(d *decoder, v value, g *draft) {
	d.Duration(v, 1, &g.Idle)
	g.links.idle = v
}

// EventClock says that engine time is that of the events: it is said, or an input that triggers
// declares the times of its events (M26).
func (g *Graph) EventClock() bool {
	if g.Clock != "" {
		return g.Clock == "event"
	}
	return g.timed()
}

// timed reports whether an input that triggers declares the times of its events.
func (g *Graph) timed() bool {
	return slices.ContainsFunc(g.Accumulators, func(a Accumulator) bool {
		return !a.Time.IsZero() && a.From == "" && a.Triggers(&g.Reactor)
	})
}

// checkClock: the event clock goes by times that some input has.
func (d *draft) checkClock() {
	g := d.Graph
	times := slices.ContainsFunc(g.Accumulators, func(a Accumulator) bool { return !a.Time.IsZero() && a.From == "" })
	if g.Clock == "event" && !times {
		d.Report(d.links.clock.Here(), CodeBadValue, "", "the event clock goes by the times of events, and no input "+
			"says how to read them: give one `time`, or leave clock out")
	}
	if d.links.idle.Given() && !g.EventClock() {
		d.Report(d.links.idle.Here(), decode.CodeNoEffect, "", "idle is for the event clock, and this graph goes by "+
			"the arrival of its events: leave it out")
	}
}
