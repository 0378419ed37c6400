package graphd

import (
	"context"

	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/telemetry/figures"
)

// metricsSource turns the engine's plain counts into what the collector exposes.
type metricsSource struct{ d *Daemon }

// Graphs reads all graphs; see [telemetry.Source].
func (s *metricsSource) Graphs(ctx context.Context) []telemetry.GraphMetrics {
	return figures.OfGraphs(ctx, s.d.engine, s.d.traces)
}

// WebSockets are the server's connections.
func (s *metricsSource) WebSockets() telemetry.WebSocketMetrics {
	st := s.d.server.Stats()
	return telemetry.WebSocketMetrics{Clients: st.WebSockets, SlowClosed: st.SlowClosed}
}

// Outbound are the calls of sources and sinks.
func (s *metricsSource) Outbound() telemetry.OutboundMetrics {
	used, _, denied := s.d.guard.Use()
	out := telemetry.OutboundMetrics{Calls: used, Denied: denied}
	if s.d.traces != nil {
		st := s.d.traces.Stats()
		out.Spans = map[string]int64{"sent": st.Sent, "dropped": st.Dropped, "failed": st.Failed}
	}
	return out
}

// Certificate is the one that the daemon shows.
func (s *metricsSource) Certificate() (telemetry.CertificateMetrics, bool) {
	return figures.OfCertificate(s.d.certificate)
}

// Daemon asks the store.
func (s *metricsSource) Daemon(ctx context.Context) telemetry.DaemonMetrics {
	m := figures.OfDaemon(ctx, s.d.engine, s.d.store, s.d.trail)
	m.SchemaAhead = dal.Ahead(s.d.store)
	return m
}

// Limits are those of the engine and the server.
func (s *metricsSource) Limits() telemetry.LimitMetrics {
	return telemetry.LimitMetrics{Limits: s.d.server.Limits(context.Background()), Quotas: s.d.quotas.Uses(""),
		Refused: figures.Refused(s.d.server.Stats().Refused, s.d.engine)}
}
