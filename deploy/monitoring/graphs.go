package monitoring

// named is how summaries name a graph.
const named = "{{ $labels.graph }} of {{ $labels.tenant }}"

// graphAlerts are about the health of graphs.
func graphAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdGraphFailed", Expr: `graphd_health{state="failed"} == 1`, For: "1m", Severity: Critical,
			Summary: "Graph " + named + " was given up and does not fire.",
			Fires:   []Series{series("graphd_health", "1x120", "state", "failed")},
			Quiet: []Series{
				series("graphd_health", "0x120", "state", "failed"), series("graphd_health", "1x120", "state", "live"),
			},
		},
		{
			Name: "GraphdGraphHalted", Expr: `graphd_health{state="halted"} == 1`, For: "1m", Severity: Critical,
			Summary: "Graph " + named + " waits for an operator's decision.",
			Fires:   []Series{series("graphd_health", "1x120", "state", "halted")},
			Quiet:   []Series{series("graphd_health", "0x120", "state", "halted")},
		},
		{
			Name: "GraphdGraphDegraded", Expr: `graphd_health{state="degraded"} == 1`, For: "5m", Severity: Warning,
			Summary: "Graph " + named + " fires without something that is not healthy.",
			Fires:   []Series{series("graphd_health", "1x120", "state", "degraded")},
			Quiet:   []Series{series("graphd_health", "0x87 1x3 0x30", "state", "degraded")},
		},
		{
			Name: "GraphdGraphNotUp", Expr: `graphd_health{state=~"starting|warming"} == 1`, For: "10m",
			Severity: Warning,
			Summary:  "Graph " + named + " has been {{ $labels.state }} for long.",
			Fires:    []Series{series("graphd_health", "1x120", "state", "warming")},
			Quiet:    []Series{series("graphd_health", "0x85 1x5 0x30", "state", "starting")},
		},
		{
			Name: "GraphdGraphPaused", Expr: `graphd_paused == 1`, For: "1h", Severity: Warning,
			Summary: "Graph " + named + " has been paused for an hour.",
			Fires:   []Series{series("graphd_paused", "1x120")},
			Quiet:   []Series{series("graphd_paused", "1x80 0x40")},
		},
		{
			Name: "GraphdRestarts", For: "0m", Severity: Warning,
			Expr: `sum by (job, instance, tenant, graph) ` +
				`(increase(graphd_restarts_total{reason!="operator"}[15m])) > 3`,
			By:      []string{"job", "instance", "tenant", "graph"},
			Summary: "Graph " + named + ", or a piece of it, fails and is restarted again and again.",
			Fires:   []Series{series("graphd_restarts_total", "0x80 1+1x40", "reason", "error")},
			Quiet: []Series{
				series("graphd_restarts_total", "0x80 1x40", "reason", "error"),
				series("graphd_restarts_total", "0+1x120", "reason", "operator"),
			},
		},
		{
			Name: "GraphdClockStepped", Expr: `graphd_health_reason{reason="clock_stepped"} == 1`, For: "1m",
			Severity: Warning, Summary: "The clock of {{ $labels.instance }} was set, and is not what it was.",
			Fires: []Series{series("graphd_health_reason", "1x120", "reason", "clock_stepped")},
			Quiet: []Series{series("graphd_health_reason", "1x120", "reason", "held_back")},
		},
		{
			Name: "GraphdKeysOverflow", Expr: `increase(graphd_keys_overflowed_total[15m]) > 0`, For: "0m",
			Severity: Warning,
			Summary:  "Keys of graph " + named + " held more than they may: some of it went.",
			Fires:    []Series{series("graphd_keys_overflowed_total", "0x80 5x40")},
			Quiet:    []Series{series("graphd_keys_overflowed_total", "5x120")},
		},
	}
}

// flowAlerts are about what comes in.
func flowAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdSourceLagGrows", For: "15m", Severity: Warning,
			Expr: `delta(graphd_source_lag[15m]) > 0 and min_over_time(graphd_source_lag[15m]) > 0`,
			Summary: "The source of {{ $labels.accumulator }} of graph " + named + " falls further and " +
				"further behind.",
			Fires: []Series{series("graphd_source_lag", "0x20 0+100x100")},
			Quiet: []Series{series("graphd_source_lag", "9000-50x120")},
		},
		{
			Name: "GraphdHeldBack", Expr: `graphd_health_reason{reason="held_back"} == 1`, For: "5m", Severity: Warning,
			Summary: "Inputs of graph " + named + " wait for one whose source is behind.",
			Fires:   []Series{series("graphd_health_reason", "1x120", "reason", "held_back")},
			Quiet:   []Series{series("graphd_health_reason", "1x80 stale", "reason", "held_back")},
		},
		{
			Name: "GraphdInputFull", Expr: `graphd_health_reason{reason="input_full"} == 1`, For: "2m",
			Severity: Critical,
			Summary:  "An input of graph " + named + " has no room, and no epoch can complete.",
			Fires:    []Series{series("graphd_health_reason", "1x120", "reason", "input_full")},
			Quiet:    []Series{series("graphd_health_reason", "1x120", "reason", "part_stopped")},
		},
		{
			Name: "GraphdQueueFills", Expr: `graphd_queue_seconds_to_full < 60`, For: "2m", Severity: Warning,
			Summary: "The queue of {{ $labels.accumulator }} of graph " + named + " will be full within a minute.",
			Fires:   []Series{series("graphd_queue_seconds_to_full", "20x120")},
			Quiet:   []Series{series("graphd_queue_seconds_to_full", "600x120")},
		},
		{
			Name: "GraphdDeadLetters", For: "0m", Severity: Warning,
			By: []string{"job", "instance", "tenant", "graph", "accumulator"},
			// The first letter of a reason begins a series of its own, which has not increased by it: the sum has.
			Expr: `increase(sum by (job, instance, tenant, graph, accumulator) ` +
				`(graphd_events_dead_lettered_total)[15m:1m]) > 0`,
			Summary: "Events of {{ $labels.accumulator }} of graph " + named + " cannot be used and became " +
				"dead letters.",
			Fires: []Series{
				series("graphd_events_dead_lettered_total", "0x120", "reason", "other"),
				series("graphd_events_dead_lettered_total", "_x80 1x40", "reason", "invalid_json"),
			},
			Quiet: []Series{
				series("graphd_events_dead_lettered_total", "0x120", "reason", "other"),
				series("graphd_events_dead_lettered_total", "_x10 7x110", "reason", "invalid_json"),
			},
		},
		{
			Name: "GraphdLateEvents", For: "0m", Severity: Warning,
			Expr: `increase(graphd_events_late_total[1h]) > 0.01 * increase(graphd_events_received_total[1h])`,
			Summary: "More than one event in a hundred comes too late for its window or join at {{ " +
				"$labels.accumulator }} of graph " + named + ".",
			Fires: []Series{
				series("graphd_events_late_total", "0+5x120"), series("graphd_events_received_total", "0+100x120"),
			},
			Quiet: []Series{
				series("graphd_events_late_total", "0+5x120"), series("graphd_events_received_total", "0+1000x120"),
			},
		},
	}
}

// outputAlerts are about what goes out.
func outputAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdOutputFailing", Expr: `graphd_health_reason{reason="output_failing"} == 1`, For: "5m",
			Severity: Critical,
			Summary:  "Deliveries of an output of graph " + named + " fail.",
			Fires:    []Series{series("graphd_health_reason", "1x120", "reason", "output_failing")},
			Quiet:    []Series{series("graphd_health_reason", "_x88 1x2 stale", "reason", "output_failing")},
		},
		{
			Name: "GraphdOutputBehind", Expr: `graphd_output_oldest_pending_seconds > 300`, For: "1m",
			Severity: Warning,
			Summary: "Values of output {{ $labels.output }} of graph " + named + " have waited for more than " +
				"five minutes.",
			Fires: []Series{series("graphd_output_oldest_pending_seconds", "0+60x120")},
			Quiet: []Series{series("graphd_output_oldest_pending_seconds", "30x120")},
		},
		{
			// A graph whose shards run in several daemons gives what any of them gives.
			Name: "GraphdOutputStale", For: "1m", Severity: Warning, By: []string{"job", "tenant", "graph", "output"},
			Expr: `min by (job, tenant, graph, output) (graphd_output_age_seconds) > ` +
				`min by (job, tenant, graph, output) (graphd_output_fresh_seconds)`,
			Summary: "Output {{ $labels.output }} of graph " + named + " gives less often than its freshness " +
				"objective says.",
			Fires: []Series{
				series("graphd_output_age_seconds", "0+60x120"), series("graphd_output_fresh_seconds", "5x120"),
			},
			Quiet: []Series{
				series("graphd_output_age_seconds", "4x120"), series("graphd_output_fresh_seconds", "5x120"),
			},
		},
		{
			Name: "GraphdOutputRefused", Expr: `increase(graphd_output_failed_total[15m]) > 0`, For: "0m",
			Severity: Warning,
			Summary: "Values of output {{ $labels.output }} of graph " + named + " were refused and became " +
				"dead letters.",
			Fires: []Series{series("graphd_output_failed_total", "0x80 1x40")},
			Quiet: []Series{series("graphd_output_failed_total", "3x120")},
		},
		{
			Name: "GraphdOutboundDenied", Expr: `increase(graphd_outbound_denied_total[15m]) > 0`, For: "0m",
			Severity: Warning,
			Summary:  "A graph at {{ $labels.instance }} calls an address that is not allowed.",
			Fires:    []Series{series("graphd_outbound_denied_total", "0x80 1x40")},
			Quiet:    []Series{series("graphd_outbound_denied_total", "1x120")},
		},
	}
}

// quotaAlerts are about what tenants may have.
func quotaAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdQuotaHolds", Expr: `graphd_quota_holds_seconds > 300`, For: "1m", Severity: Warning,
			Summary: "The quota {{ $labels.limit }} of tenant {{ $labels.tenant }} has held something back for more " +
				"than five minutes.",
			Fires: []Series{series("graphd_quota_holds_seconds", "0+60x120", "limit", "events_per_second")},
			Quiet: []Series{series("graphd_quota_holds_seconds", "0x80 0+60x4 0x40", "limit", "events_per_second")},
		},
		{
			Name: "GraphdQuotaRefuses", For: "0m", Severity: Warning,
			Expr: `increase(graphd_quota_refused_total{limit=~"graphs|websockets"}[15m]) > 0`,
			Summary: "The quota {{ $labels.limit }} of tenant {{ $labels.tenant }} leaves no room, and something " +
				"was refused.",
			Fires: []Series{series("graphd_quota_refused_total", "0x80 1x40", "limit", "graphs")},
			Quiet: []Series{
				series("graphd_quota_refused_total", "1x120", "limit", "graphs"),
				series("graphd_quota_refused_total", "0+9x120", "limit", "events_per_second"),
			},
		},
	}
}
