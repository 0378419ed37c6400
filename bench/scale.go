package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// scale measures what one event costs as something else grows.
func scale(ctx context.Context, c *config, w io.Writer) error {
	for _, of := range []func(context.Context, *config, io.Writer) error{
		scaleNodes, scalePayload, scaleKeys, scaleSubscribers,
	} {
		if err := of(ctx, c, w); err != nil {
			return err
		}
	}
	return nil
}

// scaled is a workload made for one size.
func scaled(name, declaration, output string, line func(dst []byte, r *rand.Rand, i int) []byte) *workload {
	return &workload{
		name: name, declaration: []byte(declaration), output: output,
		inputs:  []input{{"feed", line}},
		outputs: func(events int) int64 { return int64(events) },
	}
}

// cost runs a workload c.runs times and answers the median run.
func cost(ctx context.Context, c *config, wl *workload, events int) (s sample, err error) {
	f, err := wl.prepare(filepath.Join(c.data, "scale"), events)
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(filepath.Dir(f.declaration)) // they are many, and made quickly
	v := variant{name: wl.name}
	var all []sample
	for range c.runs {
		one, err := v.once(ctx, c, wl, f, "drop")
		if err != nil {
			return s, err
		}
		all = append(all, one)
	}
	s.cpu = median(all, func(s sample) time.Duration { return s.cpu })
	s.wall = median(all, func(s sample) time.Duration { return s.wall })
	s.rss = median(all, func(s sample) int64 { return s.rss })
	return s, nil
}

func scaleNodes(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintln(w, "\nNodes: every event changes every node, a chain of `previous + feed.n`; the price of a node "+
		"is what is added to the graph of one node")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "nodes\tevents\tCPU µs per event\tns per node\tpeak MiB\t")
	first := 0.0
	for _, n := range []int{1, 10, 100, 1000} {
		var b strings.Builder
		b.WriteString("graph: nodes\naccumulators:\n  feed: { source: { file: { path: in.ndjson } } }\nreactor: { " +
			"strategy: sequential }\nnodes:\n  n0: { expr: feed.n + 1 }\n")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "  n%d: { expr: n%d + feed.n }\n", i, i-1)
		}
		fmt.Fprintf(&b, "outputs:\n  out: { from: n%d, sink: { drop: {} } }\n", n-1)
		events := max(10_000, c.lines/5/max(1, n/10))
		s, err := cost(ctx, c, scaled(fmt.Sprintf("nodes-%d", n), b.String(), "out", numbered), events)
		if err != nil {
			return err
		}
		each := float64(s.cpu.Microseconds()) / float64(events)
		per := "-"
		if n == 1 {
			first = each
		} else {
			per = fmt.Sprintf("%.0f", 1000*(each-first)/float64(n-1))
		}
		fmt.Fprintf(t, "%d\t%d\t%.2f\t%s\t%.0f\t\n", n, events, each, per, float64(s.rss)/(1<<20))
	}
	return t.Flush()
}

func numbered(dst []byte, _ *rand.Rand, i int) []byte {
	return append(strconv.AppendInt(append(dst, `{"n":1`...), int64(100_000_000+i), 10), '}', '\n')
}

func scalePayload(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintln(w, "\nPayload: one field of three is read, the rest is a text that nothing looks at")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "bytes\tevents\tCPU µs per event\tMB per CPU-s\tpeak MiB\t")
	const declaration = "graph: payload\naccumulators:\n  feed: { source: { file: { path: in.ndjson } }, emit: " +
		"event.n }\nreactor: { strategy: sequential }\nnodes: {}\noutputs:\n  out: { from: feed, sink: { drop: {} } }\n"
	for _, size := range []int{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10} {
		pad := strings.Repeat("a text of some words ", size/21+1)[:max(0, size-40)]
		line := func(dst []byte, _ *rand.Rand, i int) []byte {
			dst = strconv.AppendInt(append(dst, `{"n":1`...), int64(100_000_000+i), 10)
			return append(append(append(dst, `,"pad":"`...), pad...), `","z":0}`+"\n"...)
		}
		events := max(500, min(c.lines/5, (128<<20)/size))
		s, err := cost(ctx, c, scaled("payload", declaration, "out", line), events)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%d\t%d\t%.2f\t%.0f\t%.0f\t\n", size, events, float64(s.cpu.Microseconds())/float64(events),
			float64(events)*float64(size)/1e6/s.cpu.Seconds(), float64(s.rss)/(1<<20))
	}
	return t.Flush()
}

func scaleKeys(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintln(w, "\nKeys: W2's node on one input, the key's latest value of it beside; keys at random, all seen")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "keys\tevents\tCPU µs per event\tx first\tpeak MiB\tbytes per key\t")
	const declaration = "graph: keys\naccumulators:\n  feed: { source: { file: { path: in.ndjson } } }\nreactor: { " +
		"strategy: sequential, key: k, max_keys: 2000000 }\nnodes:\n  v: { event: true, expr: feed.n + 1 " +
		"}\noutputs:\n  out: { from: v, sink: { drop: {} } }\n"
	most, base, first := 1_000_000, int64(0), 0.0
	if c.quick {
		most = 10_000
	}
	for k := 1_000; k <= most; k *= 10 {
		line := func(dst []byte, r *rand.Rand, i int) []byte {
			key := i // first each once
			if i >= k {
				key = r.IntN(k)
			}
			dst = append(strconv.AppendInt(append(dst, `{"k":"K1`...), int64(1_000_000+key), 10), `","n":1`...)
			return append(strconv.AppendInt(dst, int64(100_000_000+i), 10), '}', '\n')
		}
		events := max(2*k, c.lines/5)
		s, err := cost(ctx, c, scaled("keys", declaration, "out", line), events)
		if err != nil {
			return err
		}
		each := float64(s.cpu.Microseconds()) / float64(events)
		if base == 0 {
			base, first = s.rss, each
		}
		fmt.Fprintf(t, "%d\t%d\t%.2f\t%.2f\t%d\t%d\t\n", k, events, each, each/first, s.rss>>20, (s.rss-base)/int64(k))
	}
	return t.Flush()
}

func scaleSubscribers(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintf(w, "\nSubscribers: W4's graph at 2,000 events/s for %d s, every subscriber gets every second event\n",
		c.seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "subscribers\tCPU %\tCPU µs per frame sent\tp50\tp99\tlost\tpeak MiB\t")
	for _, n := range []int{1, 10, 100} {
		k := against(c, drive{rate: 2_000, seconds: c.seconds, connections: 1, subscribers: n})[1]
		r, err := k.once(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("%d subscribers", n), err)
		}
		frames := float64(n * k.drive.events() / 2)
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%v\t%v\t%d\t%.0f\t\n", n, 100*r.cpu.Seconds()/float64(c.seconds),
			float64(r.cpu.Microseconds())/frames,
			r.percentile(50).Round(time.Microsecond), r.percentile(99).Round(time.Microsecond), r.lost,
			float64(r.peak)/(1<<20))
	}
	return t.Flush()
}
