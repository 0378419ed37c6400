package told

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told/ailing"
)

// M33: an output that cannot be delivered keeps no graph from starting, and so no change to it from being made; once
// the graph runs that is the reason of its health.
func TestM33FailingOutputsKeepNoGraphFromStarting(t *testing.T) {
	t.Parallel()
	since := time.Unix(0, 0)
	s := api.GraphSummary{Health: "starting", Outputs: []api.OutputSummary{
		{Name: "o", Pending: 1, FailingSince: &since}}}
	if ailing.Outputs(&s); DidNotStart(&s) {
		t.Errorf("%+v", s.HealthReason)
	}
	s.Health = "live"
	if ailing.Outputs(&s); s.HealthReason == nil || s.HealthReason.Code != "output_failing" {
		t.Errorf("%+v", s.HealthReason)
	}
}
