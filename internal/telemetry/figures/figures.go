// Package figures turns what a graph counts into what metrics expose. Start at [OfGraph].
package figures

import (
	"encoding/hex"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/trace"
)

// OfGraph turns a graph's plain counts, and what of it is told of in traces, into what the collector exposes.
func OfGraph(m *told.Metrics, x *trace.Exemplars) telemetry.GraphMetrics {
	g := telemetry.GraphMetrics{
		Summary: m.Summary, EpochDuration: histogram(&m.Stats.Durations, x.Epochs),
		Checkpoint: telemetry.CheckpointMetrics{Duration: histogram(&m.Checkpoint.Took, x.Commits),
			Bytes: m.Checkpoint.Bytes, Failed: m.Checkpoint.Failed},
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
	g.Iterations, g.Overruns, g.Overflows = m.Stats.Iterations, m.Stats.Overruns, m.Stats.Overflows
	for ended, n := range m.Stats.Loops {
		if e := graph.Ended(ended); e != graph.NotLooped && g.Iterations > 0 {
			g.Loops = append(g.Loops, telemetry.OutcomeCount{Outcome: e.String(), Count: n})
		}
	}
	for piece, reasons := range m.Restarts {
		for reason, n := range reasons {
			g.Restarts = append(g.Restarts, telemetry.RestartCount{Accumulator: piece, Reason: reason, Count: int64(n)})
		}
	}
	if m.Gone != nil {
		g.KeysExpired, g.KeysDisplaced = m.Gone.Expired.Load(), m.Gone.Displaced.Load()
	}
	for i := range m.Summary.Accumulators {
		name := m.Summary.Accumulators[i].Name
		g.Lost = append(g.Lost, telemetry.AccumulatorEvents{Accumulator: name, Events: m.Lost[name]})
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
	for node, c := range m.Calls {
		g.Calls = append(g.Calls, telemetry.NodeCalls{Node: node, Answered: c.Calls - c.Failed, Failed: c.Failed,
			Cached: c.Cached, Retries: c.Retries, Seconds: c.Seconds, Open: c.Open})
	}
	for lane, l := range m.Lanes {
		g.Lanes = append(g.Lanes, telemetry.LaneFigures{Lane: lane, Runs: l.Runs, Late: l.Late, Busy: l.Busy,
			Waiting: l.Waiting, Stuck: l.Lost})
	}
	for lane, r := range m.Rates {
		g.Rates = append(g.Rates, telemetry.RateFigures{Lane: lane, Ticks: r.Ticks, Overruns: r.Overruns,
			Dropped: r.Dropped})
	}
	g.Overlong, g.Lifted = m.Stats.Overlong, m.Stats.Lifted
	for output, n := range m.Retries {
		g.Retries = append(g.Retries, telemetry.OutputRetries{Output: output, Count: n})
	}
	for output, took := range m.Deliveries {
		g.Deliveries = append(g.Deliveries, telemetry.OutputDuration{Output: output,
			Duration: histogram(&took, x.Outputs[output])})
	}
	return g
}

func histogram(h *reactor.Histogram, exemplars []trace.Exemplar) telemetry.Histogram {
	out := telemetry.Histogram{Counts: h.Counts[:], Sum: h.Sum.Seconds()}
	for i := range exemplars {
		x := &exemplars[i]
		out.Exemplars = append(out.Exemplars, telemetry.Exemplar{Value: x.Took.Seconds(),
			Trace: hex.EncodeToString(x.Trace[:]), At: x.At})
	}
	for _, b := range reactor.DurationBuckets {
		out.Bounds = append(out.Bounds, b.Seconds())
	}
	return out
}
