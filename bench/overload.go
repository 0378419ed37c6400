package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/coder/websocket"
)

// overloadGraph fires at most a thousand times a second, and is sent ten times that.
const overloadGraph = `graph: over
accumulators:
  ticks: { strategy: STRATEGY, source: { websocket: {} } }
reactor: { when: any, strategy: STRATEGY, rate_limit: 1ms }
nodes:
  seen: { event: true, expr: ticks.at }
outputs:
  seen: { from: seen, sink: { drop: {} } }
durability: { mode: none }
`

// overload drives a graph with ten times what it can take. latest must show the newest,
// count what it overwrote and stay as small as it is; sequential must take all, as fast as
// its slowest part, by holding the sender up.
func overload(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintf(w, "\nOverload: 10,000 events/s over one WebSocket for %d s (sequential: half of it) to a graph "+
		"that fires at most 1,000 times a second (rate_limit: 1ms)\n", c.seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "strategy\tsent\tepochs\tconflated\tlost\ttook s\tsender was late s\tage p50\tage p99\tRSS MiB "+
		"begin\tRSS MiB end\t")
	for _, strategy := range []string{"latest", "sequential"} {
		if err := overloadRow(ctx, c, t, strategy); err != nil {
			return fmt.Errorf("%s: %w", strategy, err)
		}
	}
	return t.Flush()
}

func overloadRow(ctx context.Context, c *config, t io.Writer, strategy string) error {
	const rate = 10_000
	n := rate * c.seconds
	if strategy == "sequential" {
		n /= 2 // each takes a thousandth of a second
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(12*c.seconds)*time.Second+patience)
	defer cancel()
	text := string(bytes.ReplaceAll([]byte(overloadGraph), []byte("STRATEGY"), []byte(strategy)))
	s, err := startGraphd(ctx, c, map[string]string{"over": text})
	if err != nil {
		return err
	}
	defer s.stop()
	before, err := s.usage()
	if err != nil {
		return err
	}
	ages := make(chan []time.Duration, 1)
	start := time.Now()
	watch, err := dialGraphd(ctx, s, "/v1/ws/graphs/over/reactor")
	if err != nil {
		return err
	}
	defer func() { _ = watch.CloseNow() }()
	go func() { ages <- agesOf(ctx, watch, start) }() // ends with the connection
	late, err := flood(ctx, s, start, n, rate)
	if err != nil {
		return err
	}
	var books graphSummary
	if err := s.until(ctx, "over", time.Duration(10*c.seconds)*time.Second+patience, func(g *graphSummary) bool {
		books = *g
		a := &g.Accumulators[0].Counters
		return a.Received == int64(n) && a.Queued == 0
	}); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := s.usage()
	if err != nil {
		return err
	}
	_ = watch.CloseNow()
	seen := <-ages
	slices.Sort(seen)
	if len(seen) == 0 {
		return fmt.Errorf("no output was seen")
	}
	a := &books.Accumulators[0].Counters
	lost := int64(n) - a.Consumed - a.Conflated
	fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%v\t%v\t%.0f\t%.0f\t\n", strategy, n, books.Epoch, a.Conflated,
		lost, took.Seconds(), late.Seconds(),
		seen[len(seen)/2].Round(10*time.Microsecond), seen[(len(seen)-1)*99/100].Round(10*time.Microsecond),
		float64(before.RSS)/(1<<20), float64(after.Peak)/(1<<20))
	return nil
}

// dialGraphd opens a socket of the daemon.
func dialGraphd(ctx context.Context, s *server, path string) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, "ws://"+s.addr+path, &websocket.DialOptions{
		Subprotocols: []string{"graphd.v1+json"},
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(1 << 20)
	return conn, nil
}

// flood sends n events, ten in a frame, each with the nanosecond at which it was sent, and
// answers how far behind the rate it ended.
func flood(ctx context.Context, s *server, start time.Time, n, rate int) (late time.Duration, err error) {
	conn, err := dialGraphd(ctx, s, "/v1/ws/graphs/over/accumulators/ticks")
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.CloseNow() }()
	read, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- acks(read, conn, n) }() // ends with the connection
	const group = 10
	pad := strings.Repeat("x", 400) // what the buffers on the way hold is little beside it
	var frame []byte
	for i := 0; i < n; i += group {
		due := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return 0, err
			}
		}
		late = max(0, time.Since(due))
		frame = append(frame[:0], `{"type":"events","data":[`...)
		for k := range group {
			if k > 0 {
				frame = append(frame, ',')
			}
			frame = append(frame, `{"at":`...)
			frame = strconv.AppendInt(frame, int64(time.Since(start)), 10)
			frame = append(append(append(frame, `,"pad":"`...), pad...), `"}`...)
		}
		frame = append(frame, `]}`...)
		if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
			return 0, fmt.Errorf("send: %w", err)
		}
	}
	return late, <-done
}

// acks reads the answers until n events are accepted.
func acks(ctx context.Context, conn *websocket.Conn, n int) error {
	for accepted := 0; accepted < n; {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read the answers: %w", err)
		}
		var a struct {
			Type     string
			Accepted int
		}
		if err := json.Unmarshal(frame, &a); err != nil {
			return fmt.Errorf("read the answers: %w", err)
		}
		if a.Type == "error" || a.Type == "ack" && a.Accepted == 0 {
			return fmt.Errorf("refused: %s", frame)
		}
		accepted += a.Accepted
	}
	return nil
}

// agesOf is how old the event was that each output shows, when the output came.
func agesOf(ctx context.Context, conn *websocket.Conn, start time.Time) (ages []time.Duration) {
	if err := conn.Write(ctx, websocket.MessageText,
		[]byte(`{"type":"subscribe","id":1,"topics":["outputs"]}`)); err != nil {
		return nil
	}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return ages
		}
		var f struct {
			Type  string
			Value int64
		}
		if json.Unmarshal(frame, &f) == nil && f.Type == "output" {
			ages = append(ages, time.Since(start)-time.Duration(f.Value))
		}
	}
}
