package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
	"github.com/prometheus/client_golang/prometheus"
)

// fakeSource answers with what a test put in.
type fakeSource struct{ graphs []GraphMetrics }

func (f fakeSource) Graphs(context.Context) []GraphMetrics { return f.graphs }

func (fakeSource) WebSockets() WebSocketMetrics { return WebSocketMetrics{Clients: 3, SlowClosed: 4} }

func (fakeSource) Limits() LimitMetrics {
	return LimitMetrics{
		Limits:  []api.Limit{{Name: "graphs", Limit: 10, Used: new(int64(2))}, {Name: "frames"}},
		Refused: map[string]int64{"too_large": 3},
		Quotas: []quota.Use{{Tenant: "acme", Quota: quota.Events, Used: 9, Limit: 11, Refused: 12,
			Waited: 1500 * time.Millisecond}},
	}
}

func (fakeSource) Outbound() OutboundMetrics {
	return OutboundMetrics{5, 6, map[string]int64{"sent": 3}}
}

func (fakeSource) Certificate() (CertificateMetrics, bool) {
	return CertificateMetrics{Ends: time.Unix(1_800_000_000, 0), Reloads: 7, Failures: 8}, true
}

func (fakeSource) Daemon(context.Context) DaemonMetrics {
	return DaemonMetrics{true, 3, map[string]int{"live": 2}, 9, 10}
}

// full is a graph that fills every metric.
func full() GraphMetrics {
	seconds, age, last := 2.5, 0.4, time.Now().Add(-time.Minute)
	h := Histogram{Bounds: []float64{0.001, 0.01}, Counts: []int64{5, 2, 1}, Sum: 0.25}
	return GraphMetrics{
		Summary: api.GraphSummary{
			Graph: "mm", Tenant: "default", Health: "degraded", Paused: true,
			HealthReason: api.ReasonOf("input_full", "book"),
			Clock:        "event", EngineTime: &last,
			Cost:       api.Cost{BusySeconds: 1.25, EventBytes: 70, StoredBytes: 80},
			Keys:       &api.KeysSummary{Count: 12, Max: 100, Evicted: 5},
			Durability: api.DurabilityStatus{CheckpointAgeSeconds: &age},
			Accumulators: []api.AccumulatorSummary{{
				Name: "book", Source: "poll", LastEventAt: &last, Health: "live", Depth: 8, Capacity: 1024,
				SecondsToFull: &seconds, Gaps: 5, Late: 11, Keys: &api.FoldKeys{Count: 7, Max: 9, Evicted: 6},
				Counters: api.Counters{Received: 50, Filtered: 1, Conflated: 2, Rejected: 3, DeadLettered: 6,
					Consumed: 30, Queued: 8},
			}, {Name: "pricing", Health: "restarting"}},
			Outputs: []api.OutputSummary{{Name: "signals", Emitted: 40, Pending: 2, Failed: 1,
				OldestPendingSeconds: &seconds, AgeSeconds: &seconds, FreshSeconds: 5}},
		},
		DeadLetters:   []DeadLetterCount{{"book", "invalid_json", 4}},
		Epochs:        []EpochCount{{"criteria", "ok", 7}, {"force", "failed", 1}},
		EpochDuration: h,
		Nodes:         []OutcomeCount{{"ran", 20}, {"cut_off", 3}},
		Loops:         []OutcomeCount{{"settled", 5}, {"max_iterations", 1}},
		Iterations:    90,
		Overruns:      8,
		Overlong:      9,
		Lifted:        5,
		Lanes:         []LaneFigures{{Lane: "slow", Runs: 70, Late: 2, Busy: 3, Waiting: 4, Stuck: 1}},
		Rates:         []RateFigures{{Lane: "beat", Ticks: 80, Overruns: 9, Dropped: 11}},
		Overflows:     6,
		NodeDurations: []NodeDuration{{"mid", h}},
		Checkpoint:    CheckpointMetrics{Duration: h, Bytes: 4096, Failed: 2},
		Restarts:      []RestartCount{{"book", "panic", 2}, {"", "operator", 1}},
		Lost:          []AccumulatorEvents{{"book", 7}},
		Lags:          []SourceLag{{"book", 12}},
		Retries:       []OutputRetries{{"signals", 9}},
		Calls:         someCalls(),
		Deliveries: []OutputDuration{{"signals", Histogram{Bounds: h.Bounds, Counts: h.Counts, Sum: h.Sum,
			Exemplars: []Exemplar{{0.005, "aa", time.Unix(1, 0)}, {0.006, "bb", time.Unix(2, 0)},
				{4, "cc", time.Unix(3, 0)}}}}},
		KeysExpired:   12,
		KeysDisplaced: 13,
	}
}

func gather(t *testing.T, src Source) []string {
	t.Helper()
	reg, err := NewRegistry(src, BuildInfo{Version: "v1", Revision: "abc", GoVersion: "go1.26"})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	all := Handler(reg, slog.New(slog.DiscardHandler))(nil)
	all.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("got status %d: %s", rec.Code, rec.Body)
	}
	var lines []string
	for line := range strings.Lines(rec.Body.String()) {
		if strings.HasPrefix(line, "graphd_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestMetricsContract holds the names, types and labels of all metrics: they are in
// dashboards and alerts of users, so this list only grows.
func TestMetricsContract(t *testing.T) {
	t.Parallel()
	want := []string{
		"graphd_accumulator_healthy GAUGE accumulator graph tenant",
		"graphd_audit_results_lost_total COUNTER",
		"graphd_audit_unwritable_total COUNTER",
		"graphd_build_info GAUGE goversion revision version",
		"graphd_certificate_expiry_timestamp_seconds GAUGE",
		"graphd_certificate_reload_failures_total COUNTER",
		"graphd_certificate_reloads_total COUNTER",
		"graphd_checkpoint_age_seconds GAUGE graph tenant",
		"graphd_checkpoint_bytes GAUGE graph tenant",
		"graphd_checkpoint_duration_seconds HISTOGRAM graph tenant",
		"graphd_checkpoint_failures_total COUNTER graph tenant",
		"graphd_engine_time_lag_seconds GAUGE graph tenant",
		"graphd_epoch_duration_seconds HISTOGRAM graph tenant",
		"graphd_epoch_overruns_total COUNTER graph tenant",
		"graphd_epochs_total COUNTER cause graph outcome tenant",
		"graphd_events_conflated_total COUNTER accumulator graph tenant",
		"graphd_events_consumed_total COUNTER accumulator graph tenant",
		"graphd_events_dead_lettered_total COUNTER accumulator graph reason tenant",
		"graphd_events_filtered_total COUNTER accumulator graph tenant",
		"graphd_events_late_total COUNTER accumulator graph tenant",
		"graphd_events_lost_total COUNTER accumulator graph tenant",
		"graphd_events_queued GAUGE accumulator graph tenant",
		"graphd_events_received_total COUNTER accumulator graph tenant",
		"graphd_events_rejected_total COUNTER accumulator graph tenant",
		"graphd_fold_keys GAUGE accumulator graph tenant",
		"graphd_fold_keys_evicted_total COUNTER accumulator graph tenant",
		"graphd_graph_busy_seconds_total COUNTER graph tenant",
		"graphd_graph_event_bytes_total COUNTER graph tenant",
		"graphd_graph_memory_bytes GAUGE graph part tenant",
		"graphd_graph_stored_bytes_total COUNTER graph tenant",
		"graphd_health GAUGE graph state tenant",
		"graphd_health_reason GAUGE graph reason tenant",
		"graphd_keys GAUGE graph tenant",
		"graphd_keys_evicted_total COUNTER graph tenant",
		"graphd_keys_overflowed_total COUNTER graph tenant",
		"graphd_keys_waiting GAUGE graph tenant",
		"graphd_keys_waiting_bytes GAUGE graph tenant",
		"graphd_lane_busy GAUGE graph lane tenant",
		"graphd_lane_late_total COUNTER graph lane tenant",
		"graphd_lane_overflows_total COUNTER graph tenant",
		"graphd_lane_overruns_total COUNTER graph lane tenant",
		"graphd_lane_runs_total COUNTER graph lane tenant",
		"graphd_lane_stuck GAUGE graph lane tenant",
		"graphd_lane_ticks_dropped_total COUNTER graph lane tenant",
		"graphd_lane_ticks_total COUNTER graph lane tenant",
		"graphd_lane_waiting GAUGE graph lane tenant",
		"graphd_limit GAUGE limit",
		"graphd_limit_used GAUGE limit",
		"graphd_loop_iterations_total COUNTER graph tenant",
		"graphd_loops_total COUNTER graph outcome tenant",
		"graphd_members GAUGE state",
		"graphd_node_breaker_open GAUGE graph node tenant",
		"graphd_node_call_retries_total COUNTER graph node tenant",
		"graphd_node_call_seconds_total COUNTER graph node tenant",
		"graphd_node_calls_total COUNTER graph node outcome tenant",
		"graphd_node_duration_seconds HISTOGRAM graph node tenant",
		"graphd_node_overruns_total COUNTER graph tenant",
		"graphd_nodes_lifted_total COUNTER graph tenant",
		"graphd_nodes_total COUNTER graph outcome tenant",
		"graphd_outbound_calls GAUGE",
		"graphd_outbound_denied_total COUNTER",
		"graphd_output_age_seconds GAUGE graph output tenant",
		"graphd_output_delivery_duration_seconds HISTOGRAM graph output tenant",
		"graphd_output_emitted_total COUNTER graph output tenant",
		"graphd_output_failed_total COUNTER graph output tenant",
		"graphd_output_filtered_total COUNTER graph output tenant",
		"graphd_output_fresh_seconds GAUGE graph output tenant",
		"graphd_output_oldest_pending_seconds GAUGE graph output tenant",
		"graphd_output_pending GAUGE graph output tenant",
		"graphd_output_retries_total COUNTER graph output tenant",
		"graphd_paused GAUGE graph tenant",
		"graphd_push_keys_forgotten_total COUNTER graph reason tenant",
		"graphd_queue_capacity GAUGE accumulator graph tenant",
		"graphd_queue_depth GAUGE accumulator graph tenant",
		"graphd_queue_seconds_to_full GAUGE accumulator graph tenant",
		"graphd_quota GAUGE limit tenant",
		"graphd_quota_holds_seconds GAUGE limit tenant",
		"graphd_quota_refused_total COUNTER limit tenant",
		"graphd_quota_used GAUGE limit tenant",
		"graphd_quota_waited_seconds_total COUNTER limit tenant",
		"graphd_refused_total COUNTER reason",
		"graphd_restarts_total COUNTER accumulator graph reason tenant",
		"graphd_source_gaps_total COUNTER accumulator graph tenant",
		"graphd_source_lag GAUGE accumulator graph tenant",
		"graphd_source_stale_seconds GAUGE accumulator graph tenant",
		"graphd_store_schema_ahead GAUGE",
		"graphd_store_up GAUGE",
		"graphd_trace_spans_total COUNTER outcome",
		"graphd_websocket_clients GAUGE",
		"graphd_websocket_slow_closed_total COUNTER",
	}
	reg, err := NewRegistry(fakeSource{[]GraphMetrics{full()}}, BuildInfo{})
	if err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "graphd_") {
			continue
		}
		words := []string{f.GetName(), f.GetType().String()}
		for _, l := range f.GetMetric()[0].GetLabel() { // sorted by name
			words = append(words, l.GetName())
		}
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		got = append(got, strings.Join(words, " "))
	}
	if !slices.Equal(want, got) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetricsValues(t *testing.T) {
	t.Parallel()
	got := gather(t, fakeSource{[]GraphMetrics{full()}})
	for _, want := range []string{
		`graphd_accumulator_healthy{accumulator="book",graph="mm",tenant="default"} 1`,
		`graphd_accumulator_healthy{accumulator="pricing",graph="mm",tenant="default"} 0`,
		`graphd_build_info{goversion="go1.26",revision="abc",version="v1"} 1`,
		`graphd_checkpoint_age_seconds{graph="mm",tenant="default"} 0.4`,
		`graphd_checkpoint_bytes{graph="mm",tenant="default"} 4096`,
		`graphd_certificate_expiry_timestamp_seconds 1.8e+09`, `graphd_certificate_reload_failures_total 8`,
		`graphd_checkpoint_failures_total{graph="mm",tenant="default"} 2`,
		`graphd_epoch_duration_seconds_bucket{graph="mm",tenant="default",le="0.001"} 5`,
		`graphd_epoch_duration_seconds_bucket{graph="mm",tenant="default",le="0.01"} 7`,
		`graphd_epoch_duration_seconds_bucket{graph="mm",tenant="default",le="+Inf"} 8`,
		`graphd_epoch_duration_seconds_sum{graph="mm",tenant="default"} 0.25`,
		`graphd_epoch_duration_seconds_count{graph="mm",tenant="default"} 8`,
		`graphd_epochs_total{cause="criteria",graph="mm",outcome="ok",tenant="default"} 7`,
		`graphd_epochs_total{cause="force",graph="mm",outcome="failed",tenant="default"} 1`,
		`graphd_events_received_total{accumulator="book",graph="mm",tenant="default"} 50`,
		`graphd_events_filtered_total{accumulator="book",graph="mm",tenant="default"} 1`,
		`graphd_events_conflated_total{accumulator="book",graph="mm",tenant="default"} 2`,
		`graphd_events_late_total{accumulator="book",graph="mm",tenant="default"} 11`,
		`graphd_health_reason{graph="mm",reason="input_full",tenant="default"} 1`,
		`graphd_store_up 1`, `graphd_store_schema_ahead 3`, `graphd_members{state="live"} 2`,
		`graphd_audit_unwritable_total 9`, `graphd_audit_results_lost_total 10`,
		// What is worth an alert at its first time is told from the beginning.
		`graphd_events_lost_total{accumulator="book",graph="mm",tenant="default"} 7`,
		`graphd_restarts_total{accumulator="",graph="mm",reason="fenced",tenant="default"} 0`,
		`graphd_restarts_total{accumulator="",graph="mm",reason="lease_lost",tenant="default"} 0`,
		`graphd_restarts_total{accumulator="",graph="mm",reason="store_away",tenant="default"} 0`,
		`graphd_events_dead_lettered_total{accumulator="pricing",graph="mm",reason="other",tenant="default"} 0`,
		`graphd_events_rejected_total{accumulator="book",graph="mm",tenant="default"} 3`,
		// The books say six dead letters, four of them with a reason: the rest is not lost.
		`graphd_events_dead_lettered_total{accumulator="book",graph="mm",reason="invalid_json",tenant="default"} 4`,
		`graphd_events_dead_lettered_total{accumulator="book",graph="mm",reason="other",tenant="default"} 2`,
		`graphd_events_consumed_total{accumulator="book",graph="mm",tenant="default"} 30`,
		`graphd_events_queued{accumulator="book",graph="mm",tenant="default"} 8`,
		`graphd_fold_keys{accumulator="book",graph="mm",tenant="default"} 7`,
		`graphd_fold_keys_evicted_total{accumulator="book",graph="mm",tenant="default"} 6`,
		`graphd_health{graph="mm",state="degraded",tenant="default"} 1`,
		`graphd_health{graph="mm",state="live",tenant="default"} 0`,
		`graphd_keys{graph="mm",tenant="default"} 12`,
		`graphd_keys_evicted_total{graph="mm",tenant="default"} 5`,
		`graphd_epoch_overruns_total{graph="mm",tenant="default"} 9`,
		`graphd_lane_busy{graph="mm",lane="slow",tenant="default"} 3`,
		`graphd_lane_late_total{graph="mm",lane="slow",tenant="default"} 2`,
		`graphd_lane_overflows_total{graph="mm",tenant="default"} 6`,
		`graphd_lane_overruns_total{graph="mm",lane="beat",tenant="default"} 9`,
		`graphd_lane_runs_total{graph="mm",lane="slow",tenant="default"} 70`,
		`graphd_lane_stuck{graph="mm",lane="slow",tenant="default"} 1`,
		`graphd_lane_ticks_dropped_total{graph="mm",lane="beat",tenant="default"} 11`,
		`graphd_lane_ticks_total{graph="mm",lane="beat",tenant="default"} 80`,
		`graphd_lane_waiting{graph="mm",lane="slow",tenant="default"} 4`,
		`graphd_loop_iterations_total{graph="mm",tenant="default"} 90`,
		`graphd_loops_total{graph="mm",outcome="max_iterations",tenant="default"} 1`,
		`graphd_node_overruns_total{graph="mm",tenant="default"} 8`,
		`graphd_nodes_lifted_total{graph="mm",tenant="default"} 5`,
		`graphd_nodes_total{graph="mm",outcome="cut_off",tenant="default"} 3`,
		`graphd_output_emitted_total{graph="mm",output="signals",tenant="default"} 40`,
		`graphd_output_failed_total{graph="mm",output="signals",tenant="default"} 1`,
		`graphd_output_oldest_pending_seconds{graph="mm",output="signals",tenant="default"} 2.5`,
		`graphd_output_age_seconds{graph="mm",output="signals",tenant="default"} 2.5`,
		`graphd_output_pending{graph="mm",output="signals",tenant="default"} 2`,
		`graphd_output_retries_total{graph="mm",output="signals",tenant="default"} 9`,
		`graphd_paused{graph="mm",tenant="default"} 1`,
		`graphd_push_keys_forgotten_total{graph="mm",reason="displaced",tenant="default"} 13`,
		`graphd_push_keys_forgotten_total{graph="mm",reason="expired",tenant="default"} 12`,
		`graphd_queue_capacity{accumulator="book",graph="mm",tenant="default"} 1024`,
		`graphd_queue_depth{accumulator="book",graph="mm",tenant="default"} 8`,
		`graphd_queue_seconds_to_full{accumulator="book",graph="mm",tenant="default"} 2.5`,
		`graphd_restarts_total{accumulator="",graph="mm",reason="operator",tenant="default"} 1`,
		`graphd_restarts_total{accumulator="book",graph="mm",reason="panic",tenant="default"} 2`,
		`graphd_source_gaps_total{accumulator="book",graph="mm",tenant="default"} 5`,
		`graphd_source_lag{accumulator="book",graph="mm",tenant="default"} 12`,
		`graphd_websocket_clients 3`,
		`graphd_websocket_slow_closed_total 4`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// W22: whatever state a graph is in, exactly one series of graphd_health says so.
func TestMetricsHealthIsOneState(t *testing.T) {
	t.Parallel()
	for _, state := range append(slices.Clone(graphStates), "unheard_of") {
		got := gather(t, fakeSource{
			[]GraphMetrics{{Summary: api.GraphSummary{Graph: "g", Tenant: "t", Health: state}}},
		})
		var on []string
		for _, line := range got {
			if strings.HasPrefix(line, "graphd_health{") && strings.HasSuffix(line, " 1") {
				on = append(on, line)
			}
		}
		want := fmt.Sprintf(`graphd_health{graph="g",state=%q,tenant="t"} 1`, state)
		if len(on) != 1 || on[0] != want {
			t.Errorf("got %v, want %s alone", on, want)
		}
	}
}

// What is not known is absent and not zero.
func TestMetricsAbsence(t *testing.T) {
	t.Parallel()
	empty := GraphMetrics{
		Summary: api.GraphSummary{Graph: "g", Tenant: "t", Accumulators: []api.AccumulatorSummary{{Name: "a"}}},
	}
	for _, line := range gather(t, fakeSource{[]GraphMetrics{empty}}) {
		for _, name := range []string{
			"graphd_checkpoint_age_seconds", "graphd_queue_seconds_to_full", "graphd_health_reason",
		} {
			if strings.HasPrefix(line, name) {
				t.Errorf("got %s, want no such line", line)
			}
		}
	}
}

// A graph that cannot be collected is told in the log; the others are served.
func TestHandlerGoesOn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	reg, err := NewRegistry(fakeSource{[]GraphMetrics{full(), full()}}, BuildInfo{}) // the same series twice
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	Handler(reg, slog.New(slog.NewTextHandler(&log, nil)))(nil).ServeHTTP(rec, httptest.NewRequest(http.MethodGet,
		"/metrics", nil))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "graphd_websocket_clients 3") {
		t.Errorf("got status %d without the other metrics", rec.Code)
	}
	if !strings.Contains(log.String(), "collect metrics") {
		t.Errorf("got log %q, want a word about it", log.String())
	}
}

// Registering twice is an error and not a panic.
func TestRegistryRefusesTwice(t *testing.T) {
	t.Parallel()
	reg, err := NewRegistry(fakeSource{}, BuildInfo{})
	if err != nil {
		t.Fatal(err)
	}
	err = reg.Register(newCollector(fakeSource{}))
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); !ok {
		t.Errorf("got %v, want AlreadyRegisteredError", err)
	}
}

// stuckSource is a daemon whose graphs do not answer.
type stuckSource struct {
	fakeSource
	other chan struct{} // closed by the test's end: without a deadline a scrape would wait for it
}

func (s stuckSource) Graphs(ctx context.Context) []GraphMetrics {
	select {
	case <-ctx.Done():
	case <-s.other:
	}
	return s.graphs
}

// TestScrapeHasADeadline: graphs that do not answer hold a scrape up for a bounded time, and
// what is known is told then.
func TestScrapeHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := stuckSource{fakeSource{[]GraphMetrics{full()}}, make(chan struct{})}
		c, began := newCollector(src), time.Now()
		ch := make(chan prometheus.Metric)
		guard := time.AfterFunc(time.Minute, func() { close(src.other) })
		go func() {
			defer close(ch)
			c.Collect(ch)
		}()
		n := 0
		for range ch {
			n++
		}
		guard.Stop()
		if took := time.Since(began); took != scrapeTimeout || n < 20 {
			t.Errorf("%d metrics after %v, want all after %v", n, took, scrapeTimeout)
		}
	})
}
