package telemetry

import (
	"slices"
	"strings"
	"testing"
)

func someCalls() []NodeCalls {
	return []NodeCalls{{Node: "score", Answered: 11, Failed: 12, Cached: 13, Retries: 14, Seconds: 1.5, Open: true}}
}

// What is told of nodes that call out.
func TestMetricsOfCalls(t *testing.T) {
	t.Parallel()
	got := gather(t, fakeSource{[]GraphMetrics{full()}})
	for _, want := range []string{
		`graphd_node_calls_total{graph="mm",node="score",outcome="answered",tenant="default"} 11`,
		`graphd_node_calls_total{graph="mm",node="score",outcome="failed",tenant="default"} 12`,
		`graphd_node_calls_total{graph="mm",node="score",outcome="cached",tenant="default"} 13`,
		`graphd_node_call_retries_total{graph="mm",node="score",tenant="default"} 14`,
		`graphd_node_call_seconds_total{graph="mm",node="score",tenant="default"} 1.5`,
		`graphd_node_breaker_open{graph="mm",node="score",tenant="default"} 1`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
