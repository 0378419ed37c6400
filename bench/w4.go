package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/graphd/graphd/bench/seen"
)

// contender is one server that a load is driven against.
type contender struct {
	name  string
	start func(ctx context.Context) (*server, error)
	drive drive
	// profile is where the profile of the server is written to, "" for nowhere.
	profile string
	// check holds the server's own books to the load, once it is through.
	check func(ctx context.Context, s *server, d *drive) error
}

// against are the relay and the daemon under the same load.
func against(c *config, d drive) []contender {
	byHand := contender{name: "hand-written relay (floor)", drive: d,
		start: func(ctx context.Context) (*server, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return startServer(ctx, self, "floor", "relay")
		}}
	var args []string
	daemon := contender{name: "graphd", drive: d, check: liveBooks, start: func(ctx context.Context) (*server, error) {
		return startGraphd(ctx, c, map[string]string{"live": liveGraph}, args...)
	}}
	daemon.drive.graphd = true
	if c.profiles != "" {
		args, daemon.profile = []string{"--pprof"}, filepath.Join(c.profiles, fmt.Sprintf("live-%d.pprof", d.rate))
	}
	return []contender{byHand, daemon}
}

// liveBooks waits until the daemon has done all it was sent, and balances its books.
func liveBooks(ctx context.Context, s *server, d *drive) error {
	n, wide := int64(d.events()), int64(d.events()+1)/2
	return s.until(ctx, "live", 10*time.Second, func(g *graphSummary) bool {
		a := &g.Accumulators[0].Counters
		return a.Received == n && a.Filtered == n-wide && a.Consumed == wide && g.Epoch == wide
	})
}

// w4 is WebSocket in, W1, WebSocket out, at both rates; w4b single events over HTTP.
func w4(ctx context.Context, c *config, w io.Writer) error {
	for _, rate := range []int{10_000, 40_000} {
		d := drive{rate: rate, seconds: c.seconds, connections: 1, subscribers: 1}
		title := fmt.Sprintf("W4: WebSocket in, W1, WebSocket subscriber, %d events/s for %d s, open loop; latency "+
			"from the moment an event was due to its output's arrival", rate, d.seconds)
		if err := duel(ctx, c, w, title, against(c, d)); err != nil {
			return err
		}
	}
	return nil
}

func w4b(ctx context.Context, c *config, w io.Writer) error {
	d := drive{rate: 2_000, seconds: c.seconds, connections: 8, http: true}
	title := fmt.Sprintf(
		"W4b: HTTP POST of single events, 8 connections, 2,000/s for %d s, open loop; latency to the answer", d.seconds)
	return duel(ctx, c, w, title, against(c, d))
}

// duel runs the contenders in turn, c.runs times, each in a fresh process, and prints their medians.
func duel(ctx context.Context, c *config, w io.Writer, title string, contenders []contender) error {
	results := make([][]*driven, len(contenders))
	for range c.runs {
		for i := range contenders {
			r, err := contenders[i].once(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Fprintf(w, "\n%s\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tCPU-s/M\tlow…high\tx floor\tp50\tp99\tp99.9\tmax\tlost\tpeak MiB\t")
	floor := 0.0
	for i, of := range results {
		million := float64(contenders[i].drive.events()) / 1e6
		cpu := middle(of, func(r *driven) time.Duration { return r.cpu }).Seconds() / million
		if i == 0 {
			floor = cpu
		}
		low := slices.MinFunc(of, func(a, b *driven) int { return cmp.Compare(a.cpu, b.cpu) }).cpu.Seconds() / million
		high := slices.MaxFunc(of, func(a, b *driven) int { return cmp.Compare(a.cpu, b.cpu) }).cpu.Seconds() / million
		at := func(p float64) time.Duration {
			return middle(of, func(r *driven) time.Duration { return r.percentile(p) }).Round(time.Microsecond)
		}
		lost := 0
		for _, r := range of {
			lost += r.lost
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f…%.1f\t%.2f\t%v\t%v\t%v\t%v\t%d\t%.0f\t\n", contenders[i].name, cpu, low, high,
			cpu/floor,
			at(50), at(99), at(99.9), at(100), lost, float64(middle(of, func(r *driven) int64 {
				return r.peak
			}))/(1<<20))
	}
	return t.Flush()
}

// once drives a fresh process.
func (k *contender) once(ctx context.Context) (*driven, error) {
	s, err := k.start(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	recorded := make(chan error, 1)
	go func() { // joined below
		var err error
		if k.profile != "" {
			err = seen.Record(ctx, s.addr, k.drive.seconds, k.profile)
		}
		recorded <- err
	}()
	r, err := k.drive.run(ctx, s)
	err = errors.Join(err, <-recorded)
	if err == nil && k.check != nil {
		err = k.check(ctx, s, &k.drive)
	}
	return r, err
}

// middle is the median of a figure.
func middle[R any, T cmp.Ordered](of []R, what func(R) T) T {
	all := make([]T, len(of))
	for i := range of {
		all[i] = what(of[i])
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
