package telemetry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/testbed"
)

// scraped is what a scraper is answered that accepts a format.
func scraped(t *testing.T, accept string) (kind, text string) {
	t.Helper()
	reg, err := NewRegistry(fakeSource{[]GraphMetrics{full()}}, BuildInfo{})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	Handler(reg, slog.New(slog.DiscardHandler))(nil).ServeHTTP(rec, req)
	return rec.Header().Get("Content-Type"), rec.Body.String()
}

// TestExemplars: a scraper that accepts OpenMetrics is told, with the last observation of each bucket that a trace
// tells of, of which; any other is answered as ever. Both are told of the same series.
func TestExemplars(t *testing.T) {
	t.Parallel()
	plain, text := scraped(t, "")
	if !strings.HasPrefix(plain, "text/plain; version=0.0.4") || strings.Contains(text, "trace_id") {
		t.Errorf("without a word of OpenMetrics the answer is %s:\n%s", plain, text)
	}
	kind, open := scraped(t, "application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
	if !strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0") ||
		!strings.HasSuffix(open, "\n# EOF\n") {
		t.Errorf("OpenMetrics is answered as %s:\n%s", kind, open)
	}
	const of = `graphd_output_delivery_duration_seconds_bucket{graph="mm",output="signals",tenant="default",le=`
	for _, want := range []string{
		of + `"0.001"} 5` + "\n",
		of + `"0.01"} 7 # {trace_id="bb"} 0.006 2.0` + "\n",
		of + `"+Inf"} 8 # {trace_id="cc"} 4.0 3.0` + "\n",
	} {
		if !strings.Contains(open, want) {
			t.Errorf("there is no %s in\n%s", want, open)
		}
	}
	if a, b := series(text), series(open); !slices.Equal(a, b) {
		t.Errorf("the text has %v, OpenMetrics %v", a, b)
	}
}

// series are the names of graphd's samples.
func series(text string) (names []string) {
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, "{"); strings.HasPrefix(line, "graphd_") {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestPromtool: the checks of Prometheus' own tool find nothing to say about the names and the help of all metrics.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		testbed.Lacking(t, "no promtool: it is in Debian's package prometheus")
	}
	_, text := scraped(t, "")
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
