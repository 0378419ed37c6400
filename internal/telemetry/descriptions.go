package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Label sets. Order matters: values are given in the same order.
var (
	graphLabels       = []string{"tenant", "graph"}
	accumulatorLabels = []string{"tenant", "graph", "accumulator"}
	outputLabels      = []string{"tenant", "graph", "output"}
)

// descriptions are the metrics of a collector, one field each.
type descriptions struct {
	health, reason, paused, engineLag, keys, evicted, waiting, waitingBytes, overflowed *prometheus.Desc

	received, filtered, conflated, rejected, deadLettered, consumed, queued *prometheus.Desc

	foldKeys, foldEvicted *prometheus.Desc

	accumulatorHealthy, gaps, late, queueDepth, queueCapacity, queueSeconds, sourceLag, sourceStale *prometheus.Desc

	busy, eventBytes, storedBytes, held *prometheus.Desc

	epochs, epochDuration, nodes, nodeDuration *prometheus.Desc
	overruns, overlong, lifted                 *prometheus.Desc
	loops, iterations                          *prometheus.Desc

	laneRuns, laneLate, laneBusy, laneWaiting, laneStuck, laneOverflows *prometheus.Desc

	laneTicks, laneOverruns, laneDropped *prometheus.Desc

	calls, callRetries, callSeconds, breakerOpen *prometheus.Desc

	checkpointAge, checkpointDuration, checkpointBytes, checkpointFailures *prometheus.Desc

	restarts, keysGone *prometheus.Desc
	lost               *prometheus.Desc

	emitted, keptBack, retries, pending, oldest, age, fresh, failed, delivery *prometheus.Desc

	clients, slowClosed *prometheus.Desc

	limit, limitUsed, refused *prometheus.Desc

	quota, quotaUsed, quotaRefused, quotaWaited, quotaHolds *prometheus.Desc

	outboundCalls, outboundDenied, spans *prometheus.Desc

	certificateEnds, certificateReloads, certificateFailures *prometheus.Desc

	storeUp, schemaAhead, members, auditUnwritable, auditLost *prometheus.Desc
}

// Description is what a metric is, for what is generated of it.
type Description struct {
	Name, Help string
	Kind       string // KindGauge, KindCounter or KindHistogram
	Labels     []string
}

// The kinds of metrics.
const (
	KindGauge     = "gauge"
	KindCounter   = "counter"
	KindHistogram = "histogram"
)

// kindOf goes by the name, as Prometheus' conventions have it; a test holds it against what is exposed.
func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return KindCounter
	case strings.HasSuffix(name, "_duration_seconds"):
		return KindHistogram
	}
	return KindGauge
}

// Descriptions are all metrics of graphd, in the order in which they are described.
func Descriptions() []Description {
	list := []Description{{"graphd_build_info", buildInfoHelp, KindGauge, []string{"version", "revision", "goversion"}}}
	describe(func(name, help string, labels []string) {
		list = append(list, Description{name, help, kindOf(name), labels})
	})
	return list
}

func newDescriptions() descriptions { return describe(func(string, string, []string) {}) }

// describe makes the descriptions, and tells each.
func describe(tell func(name, help string, labels []string)) descriptions {
	desc := func(name, help string, labels []string, more ...string) *prometheus.Desc {
		name, labels = "graphd_"+name, append(labels[:len(labels):len(labels)], more...)
		tell(name, help, labels)
		return prometheus.NewDesc(name, help, labels, nil)
	}
	g, a := graphLabels, accumulatorLabels
	d := descriptions{
		health: desc("health", "1 for the state the graph is in, 0 for the others.", g, "state"),
		reason: desc("health_reason", "1 for the reason that the health has; absent without one.", g, "reason"),
		paused: desc("paused", "1 while the graph is paused.", g),
		engineLag: desc("engine_time_lag_seconds",
			"How far engine time is behind the wall clock; absent but under the event clock, and before it begins.", g),

		keys:    desc("keys", "Keys that a keyed graph has a state for.", g),
		evicted: desc("keys_evicted_total", "Keys that were evicted, by ttl or max_keys.", g),
		waiting: desc("keys_waiting", "Boundaries that wait in keys for their counterpart, a guard or a timer.", g),
		waitingBytes: desc("keys_waiting_bytes",
			"About how many bytes wait in queues of keys; max_waiting_bytes bounds it.", g),
		overflowed: desc("keys_overflowed_total",
			"Boundaries that went because more would have waited in keys than may.", g),

		received:     desc("events_received_total", "Events that came in.", a),
		filtered:     desc("events_filtered_total", "Events that a filter or guard left out.", a),
		conflated:    desc("events_conflated_total", "Events that a newer one replaced before they were used.", a),
		rejected:     desc("events_rejected_total", "Events that were refused and told so to their sender.", a),
		deadLettered: desc("events_dead_lettered_total", "Events that became dead letters.", a, "reason"),
		consumed:     desc("events_consumed_total", "Events that an epoch took.", a),
		queued:       desc("events_queued", "Events that are in but not yet accounted for otherwise.", a),

		foldKeys:    desc("fold_keys", "Keys that a fold has a state for.", a),
		foldEvicted: desc("fold_keys_evicted_total", "Keys that a fold has evicted, by max_keys or max_bytes.", a),

		accumulatorHealthy: desc("accumulator_healthy", "1 while the accumulator is live, socket-only or ended.", a),
		gaps: desc("source_gaps_total",
			"How often an operator let a source go on behind what it had lost.", a),
		late: desc("events_late_total", "Events that came too late for their window or join, whatever became of them: "+
			"they are in the other counters as that.", a),
		queueDepth:    desc("queue_depth", "Boundaries waiting for the reactor.", a),
		queueCapacity: desc("queue_capacity", "Boundaries that may wait for the reactor.", a),
		queueSeconds: desc("queue_seconds_to_full",
			"Estimated seconds until the queue is full; absent while it is not filling.", a),
		sourceLag: desc("source_lag", "How far the source is behind its end, in its own positions.", a),

		sourceStale: desc("source_stale_seconds",
			"Time since the last event; absent where nothing but pushes comes in, and before the first.", a),

		busy: desc("graph_busy_seconds_total",
			"How long the graph's reactor and the threads of its pools were at work, which is about its processor "+
				"time.", g),
		eventBytes:  desc("graph_event_bytes_total", "Bytes of events that came in as text.", g),
		storedBytes: desc("graph_stored_bytes_total", "Bytes of state that checkpoints wrote.", g),
		held: desc("graph_memory_bytes",
			"About how many bytes of memory the graph holds in this daemon, by what holds them.", g, "part"),

		epochs:        desc("epochs_total", "Epochs that ended.", g, "cause", "outcome"),
		epochDuration: desc("epoch_duration_seconds", "How long epochs took.", g),
		nodes:         desc("nodes_total", "What nodes did in epochs.", g, "outcome"),
		nodeDuration:  desc("node_duration_seconds", "How long nodes took.", g, "node"),

		checkpointAge: desc("checkpoint_age_seconds", "Time since the last checkpoint; absent before the first.",
			g),
		checkpointDuration: desc("checkpoint_duration_seconds", "How long checkpoint commits took.", g),
		checkpointBytes:    desc("checkpoint_bytes", "What the last checkpoint commit wrote.", g),
		checkpointFailures: desc("checkpoint_failures_total", "Checkpoint commits that did not succeed.", g),
	}
	d.describeEnds(desc)
	return d
}

// describeEnds describes what was lost, outputs, and what the daemon has beside its graphs.
func (d *descriptions) describeEnds(
	desc func(name, help string, labels []string, more ...string) *prometheus.Desc,
) {
	d.describeNodes(desc)
	a, o := accumulatorLabels, outputLabels
	d.restarts = desc("restarts_total", "What the supervisor started again; accumulator is empty for the reactor.", a,
		"reason")
	d.keysGone = desc("push_keys_forgotten_total",
		"Idempotency-Keys of pushes that the store knows no more: expired for their age, displaced by newer ones.",
		graphLabels, "reason")
	d.lost = desc("events_lost_total", "Events that were taken and are not in the graph's state: a run ended before "+
		"a checkpoint had them, since the store was away or it failed.", a)
	d.emitted = desc("output_emitted_total", "Values that an output emitted.", o)
	d.keptBack = desc("output_filtered_total",
		"Values that an output kept back by where, or because they were null.", o)
	d.retries = desc("output_retries_total", "Deliveries that were tried again.", o)
	d.delivery = desc("output_delivery_duration_seconds",
		"How long values took from the end of their epoch until the sink had them.", o)
	d.pending = desc("output_pending", "Values waiting for a commit or the sink, those in the outbox included.", o)
	d.oldest = desc("output_oldest_pending_seconds",
		"How long the first of the waiting values has waited; absent when none does, and of a stopped output.", o)
	d.age = desc("output_age_seconds", "How long ago an output gave its last value, or since when one is waited for; "+
		"absent while none is to come: of a paused graph, a stopped output, and where all inputs have ended.", o)
	d.fresh = desc("output_fresh_seconds", "Within how long an output is to give the next value; absent where nothing "+
		"is declared.", o)
	d.failed = desc("output_failed_total", "Values that the sink refused for good.", o)

	d.limit = desc("limit", "A limit of the daemon; absent where there is none.", nil, "limit")
	d.limitUsed = desc("limit_used", "How much of a limit is used, where that is a running figure.", nil, "limit")
	d.refused = desc("refused_total", "What a limit has refused, by the code of the refusal.", nil, "reason")

	t := []string{"tenant"}
	d.quota = desc("quota", "A limit of a tenant; absent where there is none.", t, "limit")
	d.quotaUsed = desc("quota_used", "How much of a tenant's limit is used.", t, "limit")
	d.quotaRefused = desc("quota_refused_total", "What a tenant's limit has refused.", t, "limit")
	d.quotaWaited = desc("quota_waited_seconds_total",
		"How long all that a tenant's limit has slowed have waited together.", t, "limit")
	d.quotaHolds = desc("quota_holds_seconds",
		"For how long a tenant's limit has held something back all the time; 0 while it does not.", t, "limit")

	d.clients = desc("websocket_clients", "WebSocket connections that are open.", nil)
	d.slowClosed = desc("websocket_slow_closed_total", "WebSocket connections closed because they did not keep up.",
		nil)

	d.outboundCalls = desc("outbound_calls", "Calls of sources and sinks to other servers that are on the way.", nil)
	d.outboundDenied = desc("outbound_denied_total", "Calls that were not made because the address is not allowed.",
		nil)
	d.spans = desc("trace_spans_total", "Spans of traces, by outcome: sent, dropped for want of room, or failed to be "+
		"sent; absent without traces.", nil, "outcome")

	d.certificateEnds = desc("certificate_expiry_timestamp_seconds",
		"When the certificate that the daemon shows ends; absent without TLS.", nil)
	d.certificateReloads = desc("certificate_reloads_total", "Changes of the certificate's files that were taken.", nil)
	d.certificateFailures = desc("certificate_reload_failures_total",
		"Changes of the certificate's files that could not be used.", nil)

	d.storeUp = desc("store_up", "1 while the store answers and this release reads it.", nil)
	d.schemaAhead = desc("store_schema_ahead",
		"Migrations that the store has and this release does not know: a newer one has raised it.", nil)
	d.members = desc("members", "Daemons on the store as this one sees them; absent while the store does not answer.",
		nil, "state")
	d.auditUnwritable = desc("audit_unwritable_total",
		"Changes that were refused because they could not be written to the audit.", nil)
	d.auditLost = desc("audit_results_lost_total",
		"Results of changes that were given up because the store did not take them for too long.", nil)
}

// describeNodes describes what nodes call, how long they take, and how they are executed.
func (d *descriptions) describeNodes(
	desc func(name, help string, labels []string, more ...string) *prometheus.Desc,
) {
	d.calls = desc("node_calls_total", "Calls of nodes that call out, by outcome: answered, failed after all tries, "+
		"or cached, for an answer that was remembered.", graphLabels, "node", "outcome")
	d.callRetries = desc("node_call_retries_total", "Tries of calls after the first.", graphLabels, "node")
	d.callSeconds = desc("node_call_seconds_total", "How long all tries of calls took together.", graphLabels, "node")
	d.breakerOpen = desc("node_breaker_open", "1 while the breaker of a node that calls out lets no call through.",
		graphLabels, "node")
	d.overruns = desc("node_overruns_total", "Nodes that took longer than their budget.", graphLabels)
	d.overlong = desc("epoch_overruns_total", "Epochs that took longer than the reactor's budget.", graphLabels)
	d.lifted = desc("nodes_lifted_total", "Nodes that ran in an epoch over its budget since they had been left out in "+
		"epochs before.", graphLabels)
	d.loops = desc("loops_total", "Loops of nodes that ended in epochs, by why; absent where none has run.",
		graphLabels, "outcome")
	d.iterations = desc("loop_iterations_total", "Iterations of all loops; absent where none has run.", graphLabels)
	d.laneRuns = desc("lane_runs_total", "Runs of nodes in a lane that have ended.", graphLabels, "lane")
	d.laneLate = desc("lane_late_total", "Runs of nodes in a lane that came back after their epoch had been given up, "+
		"and were dropped.", graphLabels, "lane")
	d.laneBusy = desc("lane_busy", "Runs of nodes in a lane that are at work, those that were given up among them.",
		graphLabels, "lane")
	d.laneWaiting = desc("lane_waiting", "Runs of nodes in a lane that wait for a thread.", graphLabels, "lane")
	d.laneStuck = desc("lane_stuck", "Runs of nodes in a lane that were given up and have not come back.", graphLabels,
		"lane")
	d.laneOverflows = desc("lane_overflows_total", "Nodes that were due and that their lane had no room for; absent "+
		"without lanes.", graphLabels)
	d.laneTicks = desc("lane_ticks_total", "Ticks of a lane with a cadence that its nodes have run in.", graphLabels,
		"lane")
	d.laneOverruns = desc("lane_overruns_total", "Those of them that came a period late, or more.", graphLabels, "lane")
	d.laneDropped = desc("lane_ticks_dropped_total", "Ticks of a lane with a cadence that there was no epoch for, "+
		"since the graph came too late.", graphLabels, "lane")
}

// all lists every description, for Describe.
func (d *descriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		d.health, d.reason, d.paused, d.engineLag, d.keys, d.evicted, d.waiting, d.waitingBytes, d.overflowed,
		d.received, d.filtered, d.conflated, d.rejected, d.deadLettered, d.consumed, d.queued,
		d.foldKeys, d.foldEvicted,
		d.accumulatorHealthy, d.gaps, d.late, d.queueDepth, d.queueCapacity, d.queueSeconds, d.sourceLag, d.sourceStale,
		d.busy, d.eventBytes, d.storedBytes, d.held, d.epochs, d.epochDuration, d.nodes, d.nodeDuration,
		d.overruns, d.overlong, d.lifted, d.loops, d.iterations,
		d.laneRuns, d.laneLate, d.laneBusy, d.laneWaiting, d.laneStuck, d.laneOverflows,
		d.laneTicks, d.laneOverruns, d.laneDropped,
		d.calls, d.callRetries, d.callSeconds, d.breakerOpen,
		d.checkpointAge, d.checkpointDuration, d.checkpointBytes, d.checkpointFailures,
		d.restarts,
		d.lost, d.keysGone,
		d.emitted, d.keptBack, d.retries, d.pending, d.oldest, d.age, d.fresh, d.failed, d.delivery,
		d.clients, d.slowClosed,
		d.limit, d.limitUsed, d.refused, d.quota, d.quotaUsed, d.quotaRefused, d.quotaWaited,
		d.quotaHolds,
		d.outboundCalls, d.outboundDenied, d.spans,
		d.certificateEnds, d.certificateReloads, d.certificateFailures,
		d.storeUp, d.schemaAhead, d.members, d.auditUnwritable, d.auditLost,
	}
}
