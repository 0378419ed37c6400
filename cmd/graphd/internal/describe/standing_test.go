package describe

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
)

func TestStanding(t *testing.T) {
	t.Parallel()
	events := 12.25
	row := api.GraphRow{Health: "live", Paused: true, Epoch: 7, EpochsPerSecond: 1.5, EventsPerSecond: &events,
		Counters: api.Counters{Received: 9, Queued: 2}, DeadLetters: 1}
	sum := api.GraphSummary{Health: "failed", HealthReason: &api.Reason{Code: "c", Detail: "d"}}
	for want, f := range map[string]api.Frame{
		"live, paused  #7  1.5 epochs/s  12.2 events/s  9 received, 2 queued, 1 dead letter": {Row: &row},
		"failed  #0  0.0 epochs/s  0 received, 0 queued  " + Reason(sum.HealthReason):        {Summary: &sum},
		"is not there any more": {Removed: true},
		"2 graphs, m has not said how its own stand: away": {List: &api.ListTold{Graphs: 2,
			Missing: []api.Missing{{Member: "m", Detail: "away"}}}},
		"later": {Type: "later"},
	} {
		if got := Standing(&f); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
