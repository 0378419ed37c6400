package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// idleGraph is a graph as most are: a socket, a node, an output, checkpoints.
const idleGraph = `graph: NAME
accumulators:
  ticks: { source: { websocket: {} } }
reactor: { when: any, strategy: sequential }
nodes:
  mid: { expr: (ticks.bid + ticks.ask) / 2 }
outputs:
  mids: { from: mid, sink: { drop: {} } }
`

// idle starts a daemon on more and more graphs that get nothing, and takes what they cost.
func idle(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintln(w, "\nIdle graphs: one input, one node, one output, checkpoints to the memory store; CPU over 5 s")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "graphs\tready s\tall live s\tRSS MiB\tKiB per graph\tCPU %\tstart CPU s\t")
	base := 0.0
	for n := 1; n <= c.graphs; n *= 10 {
		graphs := make(map[string]string, n)
		for i := range n {
			name := "g" + strconv.Itoa(i)
			graphs[name] = strings.Replace(idleGraph, "NAME", name, 1)
		}
		began := time.Now()
		s, err := startGraphd(ctx, c, graphs, "--max-graphs", strconv.Itoa(c.graphs))
		if err != nil {
			return err
		}
		live := time.Since(began)
		row, err := idleRow(ctx, s)
		s.stop()
		if err != nil {
			return err
		}
		if n == 1 {
			base = float64(row.rss)
		}
		fmt.Fprintf(t, "%d\t%.2f\t%.2f\t%.0f\t%.1f\t%.2f\t%.2f\t\n", n, s.ready.Seconds(), live.Seconds(),
			float64(row.rss)/(1<<20),
			(float64(row.rss)-base)/1024/float64(n), row.percent, row.startCPU.Seconds())
	}
	return t.Flush()
}

type idleFigures struct {
	rss      int64
	percent  float64 // of one core
	startCPU time.Duration
}

// idleRow lets the daemon settle and then looks at it for some seconds.
func idleRow(ctx context.Context, s *server) (row idleFigures, err error) {
	first, err := s.usage()
	if err != nil {
		return row, err
	}
	row.startCPU = first.CPU
	if err := pause(ctx, 6*time.Second); err != nil { // the first good start is told after 5 s
		return row, err
	}
	before, err := s.usage()
	if err != nil {
		return row, err
	}
	const looked = 5 * time.Second
	if err := pause(ctx, looked); err != nil {
		return row, err
	}
	after, err := s.usage()
	row.rss, row.percent = after.RSS, 100*(after.CPU-before.CPU).Seconds()/looked.Seconds()
	return row, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
