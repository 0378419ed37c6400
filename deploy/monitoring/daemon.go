package monitoring

// durabilityAlerts are about what is persisted.
func durabilityAlerts() []Alert {
	fires := series("graphd_epochs_total", "0+10x120", "cause", "criteria", "outcome", "ok")
	idle := series("graphd_epochs_total", "10x120", "cause", "criteria", "outcome", "ok")
	return []Alert{
		{
			Name: "GraphdStoreUnreachable", Expr: `graphd_store_up == 0`, For: "1m", Severity: Critical,
			Summary: "The store of {{ $labels.instance }} does not answer.",
			Fires:   []Series{series("graphd_store_up", "0x120")},
			Quiet:   []Series{series("graphd_store_up", "1x120")},
		},
		{
			Name: "GraphdSchemaRaised", Expr: `graphd_store_schema_ahead > 0`, For: "1h", Severity: Warning,
			Summary: "{{ $labels.instance }} is of an older release than the schema of its store.",
			Fires:   []Series{series("graphd_store_schema_ahead", "1x120")},
			Quiet:   []Series{series("graphd_store_schema_ahead", "0x60 1x30 0x30")},
		},
		{
			Name: "GraphdCheckpointOld", For: "1m", Severity: Critical,
			Expr: `graphd_checkpoint_age_seconds > 60 and on (job, instance, tenant, graph) ` +
				`sum by (job, instance, tenant, graph) (rate(graphd_epochs_total[5m])) > 0`,
			Summary: "Graph " + named + " fires, and nothing of the last minute is durable.",
			Fires:   []Series{series("graphd_checkpoint_age_seconds", "0+60x120"), fires},
			Quiet:   []Series{series("graphd_checkpoint_age_seconds", "0+60x120"), idle},
		},
		{
			Name: "GraphdCheckpointFailing", Expr: `increase(graphd_checkpoint_failures_total[10m]) > 0`, For: "5m",
			Severity: Critical,
			Summary:  "Checkpoints of graph " + named + " cannot be written.",
			Fires:    []Series{series("graphd_checkpoint_failures_total", "0+1x120")},
			Quiet:    []Series{series("graphd_checkpoint_failures_total", "2x120")},
		},
		{
			Name: "GraphdAuditUnwritable", Expr: `increase(graphd_audit_unwritable_total[10m]) > 0`, For: "0m",
			Severity: Critical,
			Summary:  "Changes at {{ $labels.instance }} are refused because they cannot be written to the audit.",
			Fires:    []Series{series("graphd_audit_unwritable_total", "0x85 1x40")},
			Quiet:    []Series{series("graphd_audit_unwritable_total", "1x120")},
		},
		{
			Name: "GraphdAuditIncomplete", Expr: `increase(graphd_audit_results_lost_total[1h]) > 0`, For: "0m",
			Severity: Warning,
			Summary:  "Results of changes at {{ $labels.instance }} are missing in the audit.",
			Fires:    []Series{series("graphd_audit_results_lost_total", "0x80 1x40")},
			Quiet:    []Series{series("graphd_audit_results_lost_total", "1x120")},
		},
	}
}

// daemonAlerts are about one daemon.
func daemonAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdDown", Expr: `up{job="graphd"} == 0`, For: "2m", Severity: Critical,
			Summary: "{{ $labels.instance }} does not answer Prometheus.",
			Fires:   []Series{series("up", "0x120")},
			Quiet:   []Series{series("up", "1x120")},
		},
		{
			Name: "GraphdMemoryNearLimit", For: "5m", Severity: Critical,
			Expr:    `graphd_limit_used{limit="memory"} / graphd_limit{limit="memory"} > 0.8`,
			Summary: "{{ $labels.instance }} uses four fifths of its memory; from 85 % on pushes are refused.",
			Fires: []Series{
				series("graphd_limit_used", "850x120", "limit", "memory"),
				series("graphd_limit", "1000x120", "limit", "memory"),
			},
			Quiet: []Series{
				series("graphd_limit_used", "500x120", "limit", "memory"),
				series("graphd_limit", "1000x120", "limit", "memory"),
			},
		},
		{
			Name: "GraphdLimitNear", For: "5m", Severity: Warning,
			Expr: `graphd_limit_used{limit=~"graphs|websocket_connections|mailbox_events|outbound_calls"} ` +
				`/ graphd_limit > 0.9`,
			Summary: "{{ $labels.instance }} uses more than nine tenths of its limit {{ $labels.limit }}.",
			Fires: []Series{
				series("graphd_limit_used", "95x120", "limit", "graphs"),
				series("graphd_limit", "100x120", "limit", "graphs"),
			},
			Quiet: []Series{
				series("graphd_limit_used", "50x120", "limit", "graphs"),
				series("graphd_limit", "100x120", "limit", "graphs"),
			},
		},
		{
			Name: "GraphdRefuses", Expr: `rate(graphd_refused_total[5m]) > 0`, For: "10m", Severity: Warning,
			Summary: "{{ $labels.instance }} refuses requests with {{ $labels.reason }}.",
			Fires:   []Series{series("graphd_refused_total", "0+10x120", "reason", "queue_full")},
			Quiet:   []Series{series("graphd_refused_total", "0x80 1x40", "reason", "queue_full")},
		},
		{
			Name: "GraphdCertificateExpires", For: "1h", Severity: Warning,
			Expr:    `graphd_certificate_expiry_timestamp_seconds - time() < 14 * 86400`,
			Summary: "The certificate of {{ $labels.instance }} ends within two weeks.",
			Fires:   []Series{series("graphd_certificate_expiry_timestamp_seconds", "864000x120")},
			Quiet:   []Series{series("graphd_certificate_expiry_timestamp_seconds", "8640000x120")},
		},
		{
			Name: "GraphdCertificateUnreadable", For: "0m", Severity: Warning,
			Expr:    `increase(graphd_certificate_reload_failures_total[1h]) > 0`,
			Summary: "The new certificate of {{ $labels.instance }} cannot be used; the one before is still shown.",
			Fires:   []Series{series("graphd_certificate_reload_failures_total", "0x80 1x40")},
			Quiet:   []Series{series("graphd_certificate_reload_failures_total", "1x120")},
		},
	}
}

// memberAlerts are about the daemons that share a store.
func memberAlerts() []Alert {
	return []Alert{
		{
			Name: "GraphdGraphUnowned", By: []string{"job", "tenant", "graph"}, For: "2m", Severity: Critical,
			Expr:    `min by (job, tenant, graph) (graphd_health{state="standby"}) == 1`,
			Summary: "No daemon runs graph " + named + ": all stand by.",
			Fires: []Series{
				series("graphd_health", "1x120", "state", "standby"),
				series("graphd_health", "1x120", "state", "standby", "instance", "b:8080"),
			},
			Quiet: []Series{
				series("graphd_health", "1x120", "state", "standby"),
				series("graphd_health", "0x120", "state", "standby", "instance", "b:8080"),
			},
		},
		{
			Name: "GraphdLeaseLost", For: "0m", Severity: Warning,
			Expr:    `increase(graphd_restarts_total{reason=~"fenced|lease_lost|store_away"}[15m]) > 0`,
			Summary: "{{ $labels.instance }} gave graph " + named + " up while it ran it ({{ $labels.reason }}).",
			Fires:   []Series{series("graphd_restarts_total", "0x80 1x40", "reason", "lease_lost", "accumulator", "")},
			Quiet:   []Series{series("graphd_restarts_total", "1x120", "reason", "lease_lost", "accumulator", "")},
		},
		{
			Name: "GraphdEventsLost", For: "0m", Severity: Critical,
			Expr:    `increase(graphd_events_lost_total[15m]) > 0`,
			Summary: "Events pushed to {{ $labels.accumulator }} of graph " + named + " are not in its state.",
			Fires:   []Series{series("graphd_events_lost_total", "0x80 7x40", "accumulator", "book")},
			Quiet:   []Series{series("graphd_events_lost_total", "7x120", "accumulator", "book")},
		},
		{
			Name: "GraphdMemberMissing", For: "5m", Severity: Warning, By: []string{"job"},
			Expr: `max by (job) (graphd_members{state="live"}) < ` +
				`max by (job) (max_over_time(graphd_members{state="live"}[1h]))`,
			Summary: "Fewer daemons are on the store than an hour ago.",
			Fires:   []Series{series("graphd_members", "3x70 2x50", "state", "live")},
			Quiet:   []Series{series("graphd_members", "2x70 3x50", "state", "live")},
		},
		{
			Name: "GraphdBuildMismatch", By: []string{"job"}, For: "1h", Severity: Warning,
			Expr:    `count by (job) (count by (job, version, revision) (graphd_build_info)) > 1`,
			Summary: "Daemons of different releases have shared the work for an hour.",
			Fires: []Series{
				series("graphd_build_info", "1x120", "version", "v1"),
				series("graphd_build_info", "1x120", "version", "v2", "instance", "b:8080"),
			},
			Quiet: []Series{
				series("graphd_build_info", "1x120"), series("graphd_build_info", "1x120", "instance", "b:8080"),
			},
		},
	}
}
