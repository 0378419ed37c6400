package telemetry

import (
	"context"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/prometheus/client_golang/prometheus"
)

// collector asks its source at each scrape.
type collector struct {
	descriptions
	src Source
}

func newCollector(src Source) *collector {
	return &collector{descriptions: newDescriptions(), src: src}
}

// alerted are the reasons of restarts that alerts look for. They are told from the beginning:
// an increase is seen only from one value to another.
var alerted = [...]string{"fenced", "lease_lost", "store_away"}

// scrapeTimeout bounds what one scrape waits for graphs, however many there are: half of what
// Prometheus waits for the scrape, so that a busy graph costs its own figures and not everybody's.
const scrapeTimeout = 5 * time.Second

// graphStates are the states a graph can be in (M10), each exposed as a series of graphd_health.
var graphStates = []string{"starting", "warming", "live", "degraded", "standby", "halted", "failed", "stopped"}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.all() {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	// The library gives no context: a scraper that has gone is waited for no longer than this either.
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, g := range c.src.Graphs(ctx) {
		s := scrape{collector: c, ch: ch, graph: []string{g.Summary.Tenant, g.Summary.Graph}}
		s.summary(&g.Summary)
		s.deadLetters(&g)
		for i := range g.Summary.Accumulators {
			s.accumulator(&g.Summary.Accumulators[i])
		}
		for i := range g.Summary.Outputs {
			s.output(&g.Summary.Outputs[i])
		}
		s.epochs(&g)
		s.pieces(&g)
	}
	s := scrape{collector: c, ch: ch}
	s.daemon(ctx)
}

// daemon is what the daemon has beside its graphs.
func (s *scrape) daemon(ctx context.Context) {
	ws := s.src.WebSockets()
	s.gauge(s.clients, float64(ws.Clients))
	s.counter(s.slowClosed, ws.SlowClosed)
	of := s.src.Limits()
	limits, refused := of.Limits, of.Refused
	for _, u := range of.Quotas {
		s.gauge(s.quota, float64(u.Limit), u.Tenant, string(u.Quota))
		s.gauge(s.quotaUsed, float64(u.Used), u.Tenant, string(u.Quota))
		s.counter(s.quotaRefused, u.Refused, u.Tenant, string(u.Quota))
		s.ch <- prometheus.MustNewConstMetric(s.quotaWaited, prometheus.CounterValue, u.Waited.Seconds(), u.Tenant,
			string(u.Quota))
		holds := 0.0
		if !u.Since.IsZero() {
			holds = time.Since(u.Since).Seconds()
		}
		s.gauge(s.quotaHolds, holds, u.Tenant, string(u.Quota))
	}
	for i := range limits {
		if limits[i].Limit > 0 {
			s.gauge(s.limit, float64(limits[i].Limit), limits[i].Name)
		}
		if limits[i].Used != nil {
			s.gauge(s.limitUsed, float64(*limits[i].Used), limits[i].Name)
		}
	}
	for code, n := range refused {
		s.counter(s.refused, n, code)
	}
	out := s.src.Outbound()
	s.gauge(s.outboundCalls, float64(out.Calls))
	s.counter(s.outboundDenied, out.Denied)
	for outcome, n := range out.Spans {
		s.counter(s.spans, n, outcome)
	}
	if cert, ok := s.src.Certificate(); ok {
		s.gauge(s.certificateEnds, float64(cert.Ends.Unix()))
		s.counter(s.certificateReloads, cert.Reloads)
		s.counter(s.certificateFailures, cert.Failures)
	}
	d := s.src.Daemon(ctx)
	s.flag(s.storeUp, d.StoreUp)
	s.gauge(s.schemaAhead, float64(d.SchemaAhead))
	for state, n := range d.Members {
		s.gauge(s.members, float64(n), state)
	}
	s.counter(s.auditUnwritable, d.AuditUnwritable)
	s.counter(s.auditLost, d.AuditLost)
}

// scrape is one walk over one graph.
type scrape struct {
	*collector
	ch    chan<- prometheus.Metric
	graph []string // the labels of the graph
}

func (s *scrape) labels(more []string) []string {
	return append(s.graph[:len(s.graph):len(s.graph)], more...)
}

func (s *scrape) counter(d *prometheus.Desc, v int64, more ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), s.labels(more)...)
}

func (s *scrape) gauge(d *prometheus.Desc, v float64, more ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.labels(more)...)
}

func (s *scrape) flag(d *prometheus.Desc, on bool, more ...string) {
	v := 0.0
	if on {
		v = 1
	}
	s.gauge(d, v, more...)
}

func (s *scrape) histogram(d *prometheus.Desc, h Histogram, more ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var below uint64 // Prometheus counts everything up to a bound
	for i, n := range h.Counts {
		below += uint64(max(n, 0))
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = below
		}
	}
	m := prometheus.MustNewConstHistogram(d, below, h.Sum, buckets, s.labels(more)...)
	if len(h.Exemplars) > 0 && below > 0 {
		list := make([]prometheus.Exemplar, 0, len(h.Exemplars))
		for _, x := range h.Exemplars {
			list = append(list, prometheus.Exemplar{Value: x.Value, Labels: prometheus.Labels{"trace_id": x.Trace},
				Timestamp: x.At})
		}
		m = prometheus.MustNewMetricWithExemplars(m, list...)
	}
	s.ch <- m
}

func (s *scrape) summary(g *api.GraphSummary) {
	known := false
	for _, state := range graphStates {
		s.flag(s.collector.health, state == g.Health, state)
		known = known || state == g.Health
	}
	if !known && g.Health != "" {
		s.flag(s.collector.health, true, g.Health)
	}
	if g.HealthReason != nil {
		s.flag(s.reason, true, g.HealthReason.Code)
	}
	s.flag(s.paused, g.Paused)
	s.ch <- prometheus.MustNewConstMetric(s.busy, prometheus.CounterValue, g.Cost.BusySeconds, s.graph...)
	s.counter(s.eventBytes, g.Cost.EventBytes)
	s.counter(s.storedBytes, g.Cost.StoredBytes)
	s.memory(&g.Cost.Memory)
	if g.Keys != nil {
		s.gauge(s.keys, float64(g.Keys.Count))
		s.counter(s.evicted, g.Keys.Evicted)
		s.gauge(s.waiting, float64(g.Keys.Waiting))
		s.gauge(s.waitingBytes, float64(g.Keys.WaitingBytes))
		s.counter(s.overflowed, g.Keys.Overflowed)
	}
	if g.Clock == "event" && g.EngineTime != nil {
		s.gauge(s.engineLag, time.Since(*g.EngineTime).Seconds())
	}
	if age := g.Durability.CheckpointAgeSeconds; age != nil {
		s.gauge(s.checkpointAge, *age)
	}
}

// memory is what the graph holds, by part.
func (s *scrape) memory(m *api.Memory) {
	for _, part := range []struct {
		name  string
		bytes int64
	}{{"keys", m.Keys}, {"state", m.State}, {"queues", m.Queues}, {"outputs", m.Outputs}, {"letters", m.Letters},
		{"records", m.Records}} {
		s.gauge(s.held, float64(part.bytes), part.name)
	}
}

func (s *scrape) accumulator(a *api.AccumulatorSummary) {
	s.counter(s.received, a.Counters.Received, a.Name)
	s.counter(s.filtered, a.Counters.Filtered, a.Name)
	s.counter(s.conflated, a.Counters.Conflated, a.Name)
	s.counter(s.rejected, a.Counters.Rejected, a.Name)
	s.counter(s.consumed, a.Counters.Consumed, a.Name)
	s.gauge(s.queued, float64(a.Counters.Queued), a.Name)
	switch a.Health {
	case "live", "socket_only", "ended":
		s.flag(s.accumulatorHealthy, true, a.Name)
	default:
		s.flag(s.accumulatorHealthy, false, a.Name)
	}
	s.counter(s.gaps, a.Gaps, a.Name)
	s.counter(s.late, a.Late, a.Name)
	if a.Keys != nil {
		s.gauge(s.foldKeys, float64(a.Keys.Count), a.Name)
		s.counter(s.foldEvicted, a.Keys.Evicted, a.Name)
	}
	s.gauge(s.queueDepth, float64(a.Depth), a.Name)
	s.gauge(s.queueCapacity, float64(a.Capacity), a.Name)
	if a.SecondsToFull != nil {
		s.gauge(s.queueSeconds, *a.SecondsToFull, a.Name)
	}
	if pushed := a.Source == "websocket" || a.Source == "http"; !pushed && a.LastEventAt != nil {
		s.gauge(s.sourceStale, max(0, time.Since(*a.LastEventAt).Seconds()), a.Name)
	}
}

// deadLetters gives every dead-lettered event of the books exactly one reason.
func (s *scrape) deadLetters(g *GraphMetrics) {
	rest := make(map[string]int64, len(g.Summary.Accumulators))
	for i := range g.Summary.Accumulators {
		rest[g.Summary.Accumulators[i].Name] = g.Summary.Accumulators[i].Counters.DeadLettered
	}
	for _, d := range g.DeadLetters {
		s.counter(s.deadLettered, d.Events, d.Accumulator, d.Reason)
		rest[d.Accumulator] -= d.Events
	}
	for name, n := range rest {
		s.counter(s.deadLettered, max(n, 0), name, "other") // also of none: what begins at 1 has not increased
	}
}

func (s *scrape) output(o *api.OutputSummary) {
	s.counter(s.emitted, o.Emitted, o.Name)
	s.counter(s.keptBack, o.Filtered, o.Name)
	s.gauge(s.pending, float64(o.Pending), o.Name)
	if age := o.OldestPendingSeconds; age != nil && o.Stopped == nil { // else it is somebody's will that they wait
		s.gauge(s.oldest, *age, o.Name)
	}
	if o.AgeSeconds != nil {
		s.gauge(s.age, *o.AgeSeconds, o.Name)
	}
	if o.FreshSeconds > 0 {
		s.gauge(s.fresh, o.FreshSeconds, o.Name)
	}
	s.counter(s.failed, o.Failed, o.Name)
}

func (s *scrape) epochs(g *GraphMetrics) {
	for _, e := range g.Epochs {
		s.counter(s.collector.epochs, e.Count, e.Cause, e.Outcome)
	}
	s.histogram(s.epochDuration, g.EpochDuration)
	for _, n := range g.Nodes {
		s.counter(s.nodes, n.Count, n.Outcome)
	}
	s.counter(s.overruns, g.Overruns)
	s.counter(s.overlong, g.Overlong)
	s.counter(s.lifted, g.Lifted)
	for _, l := range g.Loops {
		s.counter(s.loops, l.Count, l.Outcome)
	}
	if len(g.Loops) > 0 {
		s.counter(s.iterations, g.Iterations)
	}
	for _, l := range g.Lanes {
		s.counter(s.laneRuns, l.Runs, l.Lane)
		s.counter(s.laneLate, l.Late, l.Lane)
		s.gauge(s.laneBusy, float64(l.Busy), l.Lane)
		s.gauge(s.laneWaiting, float64(l.Waiting), l.Lane)
		s.gauge(s.laneStuck, float64(l.Stuck), l.Lane)
	}
	for _, l := range g.Rates {
		s.counter(s.laneTicks, l.Ticks, l.Lane)
		s.counter(s.laneOverruns, l.Overruns, l.Lane)
		s.counter(s.laneDropped, l.Dropped, l.Lane)
	}
	if len(g.Lanes) > 0 {
		s.counter(s.laneOverflows, g.Overflows)
	}
	for _, n := range g.NodeDurations {
		s.histogram(s.nodeDuration, n.Duration, n.Node)
	}
}

func (s *scrape) pieces(g *GraphMetrics) {
	s.histogram(s.checkpointDuration, g.Checkpoint.Duration)
	s.gauge(s.checkpointBytes, float64(g.Checkpoint.Bytes))
	s.counter(s.checkpointFailures, g.Checkpoint.Failed)
	for _, r := range g.Restarts {
		s.counter(s.restarts, r.Count, r.Accumulator, r.Reason)
	}
	for _, reason := range alerted {
		told := func(r RestartCount) bool { return r.Accumulator == "" && r.Reason == reason }
		if !slices.ContainsFunc(g.Restarts, told) {
			s.counter(s.restarts, 0, "", reason)
		}
	}
	for _, l := range g.Lost {
		s.counter(s.lost, l.Events, l.Accumulator)
	}
	s.counter(s.keysGone, g.KeysExpired, "expired")
	s.counter(s.keysGone, g.KeysDisplaced, "displaced")
	for _, l := range g.Lags {
		s.gauge(s.sourceLag, l.Lag, l.Accumulator)
	}
	for _, r := range g.Retries {
		s.counter(s.retries, r.Count, r.Output)
	}
	for i := range g.Calls {
		n := &g.Calls[i]
		s.counter(s.calls, n.Answered, n.Node, "answered")
		s.counter(s.calls, n.Failed, n.Node, "failed")
		s.counter(s.calls, n.Cached, n.Node, "cached")
		s.counter(s.callRetries, n.Retries, n.Node)
		s.ch <- prometheus.MustNewConstMetric(s.callSeconds, prometheus.CounterValue, n.Seconds,
			s.labels([]string{n.Node})...)
		s.flag(s.breakerOpen, n.Open, n.Node)
	}
	for _, o := range g.Deliveries {
		s.histogram(s.delivery, o.Duration, o.Output)
	}
}
