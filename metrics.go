package graphd

import (
	"context"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/telemetry"
)

// metricsSource turns the engine's plain counts into what the collector exposes.
type metricsSource struct{ d *Daemon }

// Graphs reads all graphs; see [telemetry.Source].
func (s *metricsSource) Graphs(ctx context.Context) []telemetry.GraphMetrics {
	var list []telemetry.GraphMetrics
	for _, m := range s.d.engine.Metrics(ctx) {
		list = append(list, graphMetrics(&m))
	}
	return list
}

func graphMetrics(m *graphrun.Metrics) telemetry.GraphMetrics {
	g := telemetry.GraphMetrics{
		Summary: m.Summary, EpochDuration: histogram(&m.Stats.Durations),
		Checkpoint: telemetry.CheckpointMetrics{Duration: histogram(&m.Checkpoint.Took), Bytes: m.Checkpoint.Bytes,
			Failed: m.Checkpoint.Failed},
	}
	for cause, n := range m.Stats.Epochs {
		name := reactor.Cause(cause).String()
		g.Epochs = append(g.Epochs,
			telemetry.EpochCount{Cause: name, Outcome: "failed", Count: n[0]},
			telemetry.EpochCount{Cause: name, Outcome: "ok", Count: n[1]})
	}
	for status, n := range m.Stats.Nodes {
		if s := graph.Status(status); s != graph.Idle {
			g.Nodes = append(g.Nodes, telemetry.OutcomeCount{Outcome: s.String(), Count: n})
		}
	}
	for piece, reasons := range m.Restarts {
		for reason, n := range reasons {
			g.Restarts = append(g.Restarts, telemetry.RestartCount{Accumulator: piece, Reason: reason, Count: int64(n)})
		}
	}
	for i := range m.Summary.Accumulators {
		if a := &m.Summary.Accumulators[i]; a.Lag != nil {
			g.Lags = append(g.Lags, telemetry.SourceLag{Accumulator: a.Name, Lag: float64(*a.Lag)})
		}
	}
	for accumulator, codes := range m.Letters {
		for code, n := range codes {
			g.DeadLetters = append(g.DeadLetters, telemetry.DeadLetterCount{
				Accumulator: accumulator, Reason: code, Events: n,
			})
		}
	}
	for output, n := range m.Retries {
		g.Retries = append(g.Retries, telemetry.OutputRetries{Output: output, Count: n})
	}
	return g
}

func histogram(h *reactor.Histogram) telemetry.Histogram {
	out := telemetry.Histogram{Counts: h.Counts[:], Sum: h.Sum.Seconds()}
	for _, b := range reactor.DurationBuckets {
		out.Bounds = append(out.Bounds, b.Seconds())
	}
	return out
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
func (s *metricsSource) Limits() ([]api.Limit, map[string]int64) {
	refused := s.d.server.Stats().Refused
	for code, n := range s.d.engine.Refusals() {
		refused[code] += n
	}
	return s.d.server.Limits(context.Background()), refused
}
