package telemetry

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// What waits for an output that an operator has stopped grows no older: nobody is to be woken for it.
func TestStoppedOutputGrowsNoOlder(t *testing.T) {
	t.Parallel()
	age := 400.
	got := gather(t, fakeSource{[]GraphMetrics{{Summary: api.GraphSummary{Graph: "g", Tenant: "t", Health: "live",
		Outputs: []api.OutputSummary{
			{Name: "late", Pending: 1, OldestPendingSeconds: &age, AgeSeconds: &age, FreshSeconds: 5},
			{Name: "off", Pending: 1, OldestPendingSeconds: &age, Stopped: &api.Stopped{By: "ann"}},
		}}}}})
	has := func(series string) bool {
		return slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, series) })
	}
	for series, want := range map[string]bool{
		`graphd_output_age_seconds{graph="g",output="late",tenant="t"} 400`: true,
		`graphd_output_fresh_seconds{graph="g",output="late",tenant="t"} 5`: true,
		`graphd_output_age_seconds{graph="g",output="off"`:                  false,
		`graphd_output_fresh_seconds{graph="g",output="off"`:                false,
	} {
		if has(series) != want {
			t.Errorf("%s is %v there", series, !want)
		}
	}
	for output, want := range map[string]bool{"late": true, "off": false} {
		labels := `{graph="g",output="` + output + `",tenant="t"}`
		if has("graphd_output_oldest_pending_seconds"+labels) != want || !has("graphd_output_pending"+labels) {
			t.Errorf("%s: %s", output, strings.Join(got, "\n"))
		}
	}
}
