package telemetry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSome: of some graphs, what is theirs alone, and nothing of the daemon as a whole.
func TestSome(t *testing.T) {
	t.Parallel()
	reg, err := NewRegistry(fakeSource{[]GraphMetrics{full()}}, BuildInfo{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(sees bool) string {
		rec := httptest.NewRecorder()
		Handler(reg, slog.New(slog.DiscardHandler))(func(_, _ string) bool { return sees }).ServeHTTP(rec,
			httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return rec.Body.String()
	}
	if got := of(false); got != "" {
		t.Errorf("of no graph there are metrics:\n%s", got)
	}
	got := of(true)
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `tenant="`) {
			t.Errorf("this is of no tenant: %s", line)
		}
	}
	if !strings.Contains(got, "graphd_events_received_total") || !strings.Contains(got, "graphd_quota_used") {
		t.Errorf("nothing is of the graph, or of the tenant:\n%s", got)
	}
}
