package graphd

import (
	"context"

	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/telemetry/figures"
)

// metricsSource turns the engine's plain counts into what the collector exposes.
type metricsSource struct{ d *Daemon }

// Graphs reads all graphs; see [telemetry.Source].
func (s *metricsSource) Graphs(ctx context.Context) []telemetry.GraphMetrics {
	var list []telemetry.GraphMetrics
	for _, m := range s.d.engine.Metrics(ctx) {
		list = append(list, figures.OfGraph(&m))
	}
	return list
}

// WebSockets are the server's connections.
func (s *metricsSource) WebSockets() telemetry.WebSocketMetrics {
	st := s.d.server.Stats()
	return telemetry.WebSocketMetrics{Clients: st.WebSockets, SlowClosed: st.SlowClosed}
}

// Outbound are the calls of sources and sinks.
func (s *metricsSource) Outbound() telemetry.OutboundMetrics {
	used, _, denied := s.d.guard.Use()
	return telemetry.OutboundMetrics{Calls: used, Denied: denied}
}

// Certificate is the one that the daemon shows.
func (s *metricsSource) Certificate() (telemetry.CertificateMetrics, bool) {
	if s.d.certificate == nil {
		return telemetry.CertificateMetrics{}, false
	}
	st := s.d.certificate.State()
	return telemetry.CertificateMetrics{Ends: st.Ends, Reloads: st.Reloads, Failures: st.Failures}, true
}

// Limits are those of the engine and the server.
func (s *metricsSource) Limits() telemetry.LimitMetrics {
	refused := s.d.server.Stats().Refused
	for code, n := range s.d.engine.Refusals() {
		refused[code] += n
	}
	return telemetry.LimitMetrics{Limits: s.d.server.Limits(context.Background()), Refused: refused,
		Quotas: s.d.quotas.Uses("")}
}
