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
		return !a.Time.IsZero() && a.From == "" && (a.Triggers(g.Reactor) || a.JoinedBy != "")
	})
}

// AsOf says that rows are looked up as of the times of the events that fire.
func (g *Graph) AsOf() bool {
	return slices.ContainsFunc(g.Accumulators, func(a Accumulator) bool { return a.Folding().AsOf })
}

// checkAsOf: rows are looked up as of an event's time where both have one, and engine time is that of the events.
func (d *draft) checkAsOf() {
	g := d.Graph
	for i := range g.Accumulators {
		a, v := &g.Accumulators[i], d.links.accumulators[i].kind
		switch {
		case !a.Folding().AsOf:
		case a.From != "":
			d.Report(v.Here(), decode.CodeConflict, "", "a node feeds %s, so a row is as of when its epoch runs: "+
				"leave as_of out, or give the table a source of its own", decode.Quote(a.Name))
		case a.Time.IsZero():
			d.Report(v.Here(), decode.CodeMissingField, "", "as_of: event asks when a row was changed, and %s has no "+
				"time: give it one, or leave as_of out to look up the newest rows", decode.Quote(a.Name))
		case !g.EventClock():
			d.Report(v.Here(), decode.CodeConflict, "", "as_of: event goes by the times of events, and this graph by "+
				"their arrival: %s, or leave as_of out to look up the newest rows", d.toEventClock())
		default:
			d.checkTimed(v, a.Name)
		}
	}
}

// toEventClock says how the graph comes to go by the times of its events.
func (d *draft) toEventClock() string {
	if d.Clock == "arrival" {
		return "take clock: arrival out"
	}
	return "give every input that triggers a time"
}

// checkTimed checks that what fires has a time to look rows of a table up as of.
func (d *draft) checkTimed(at value, table string) {
	for i := range d.Accumulators {
		a := &d.Accumulators[i]
		if a.Time.IsZero() && !a.Fed() && a.Owner == "" && a.Triggers(d.Reactor) {
			d.Report(at.Here(), decode.CodeMissingField, "", "as_of: event looks rows of %s up as of the event that "+
				"fires, and %s has no time: give it one, or leave as_of out to look up the newest rows",
				decode.Quote(table), decode.Quote(a.Name))
			return
		}
	}
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
