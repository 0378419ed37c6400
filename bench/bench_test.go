package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// BenchmarkRun runs the workloads in this process, for profiles and allocation counts:
//
//	go test ./bench -run '^$' -bench Run/w1 -cpuprofile w1.prof
func BenchmarkRun(b *testing.B) {
	for _, wl := range workloads() {
		b.Run(wl.name, func(b *testing.B) { benchmarkRun(b, &wl, false) })
		b.Run(wl.name+"-as-written", func(b *testing.B) { benchmarkRun(b, &wl, true) })
	}
}

// benchmarkRun runs a workload, or the form of it that users write.
func benchmarkRun(b *testing.B, wl *workload, form bool) {
	const events = 400_000
	f, err := wl.prepare(b.TempDir(), events)
	if err != nil {
		b.Fatal(err)
	}
	declaration := f.declaration
	if form {
		declaration, f.outputs = f.form, -1
	}
	d, err := graphd.ReadDeclaration(declaration)
	if err != nil {
		b.Fatal(err)
	}
	inputs := make(map[string]string)
	for i, in := range wl.inputs {
		inputs[in.name] = f.paths[i]
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s, err := d.Run(context.Background(), graphd.RunConfig{
			Inputs: inputs, Outputs: map[string]string{wl.output: "drop"}, Stdout: io.Discard,
		})
		if err != nil {
			b.Fatal(err)
		}
		if s.Events != int64(f.events) || f.outputs >= 0 && s.Outputs != f.outputs {
			b.Fatalf("got %+v, want %d events and %d outputs", s, f.events, f.outputs)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*f.events), "ns/event")
}

// TestWorkloads holds the workloads to what they say: same bytes every time, lines of one
// width, and the plain mode's values are those of the optimised one.
func TestWorkloads(t *testing.T) {
	for _, wl := range workloads() {
		f, err := wl.prepare(t.TempDir(), 24_000) // three windows of W3
		if err != nil {
			t.Fatal(err)
		}
		var sums []*summary
		for _, plain := range []string{"", "1"} {
			t.Setenv("GRAPHD_PLAIN", plain)
			sums = append(sums, runTo(t, &wl, f))
		}
		out := filepath.Join(t.TempDir(), "floor.ndjson")
		for _, parser := range []string{"fast", "std"} {
			if err := runFloor(append([]string{wl.name, parser, out}, f.paths...)); err != nil {
				t.Fatal(err)
			}
			s, err := summarise(out)
			if err != nil {
				t.Fatal(err)
			}
			sums = append(sums, s)
		}
		for _, s := range sums {
			if *s != *sums[0] || s.lines == 0 || f.outputs >= 0 && s.lines != f.outputs {
				t.Errorf("%s: got %+v, want %+v with %d lines", wl.name, *s, *sums[0], f.outputs)
			}
		}
	}
}

// runTo runs graphd in this process with its outputs in a file.
func runTo(t *testing.T, wl *workload, f *files) *summary {
	t.Helper()
	d, err := graphd.ReadDeclaration(f.declaration)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.ndjson")
	inputs := make(map[string]string)
	for i, in := range wl.inputs {
		inputs[in.name] = f.paths[i]
	}
	if _, err := d.Run(t.Context(), graphd.RunConfig{
		Inputs: inputs, Outputs: map[string]string{wl.output: out}, Stdout: io.Discard,
	}); err != nil {
		t.Fatal(err)
	}
	s, err := summarise(out)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// paced is the graph of the latency benchmark: one input, one node, one output.
const paced = `
graph: paced
accumulators:
  ticks: { source: { websocket: {} } }
reactor: { when: any, strategy: sequential }
durability: { mode: none }
nodes:
  number: { expr: ticks.n + 0 }
outputs:
  numbers: { from: number, sink: { drop: {} } }
`

// BenchmarkPushToEpoch pushes 2,000 events a second for five seconds to a graph of a whole
// engine with the memory store, and reports how long it takes from the call of Push until
// a watcher has the epoch's output in hand, and until Push returns.
func BenchmarkPushToEpoch(b *testing.B) {
	const rate, events = 2_000, 10_000
	ctx := b.Context()
	store := memory.New()
	e := engine.New(engine.Config{Store: store, Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(io.Discard)},
		Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(ctx); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	}()
	ref := api.Ref{Tenant: "default", Name: "paced"}
	if _, err := e.Apply(ctx, ref, []byte(paced), api.Change{}); err != nil {
		b.Fatal(err)
	}
	watch, err := e.Watch(ctx, ref, api.Wanted{Topics: []string{"outputs"}})
	if err != nil {
		b.Fatal(err)
	}
	defer watch.Close()
	for b.Loop() {
		began, returned, done := pace(b, e, ref, watch, events, time.Second/rate)
		report(b, "epoch", began, done)
		report(b, "push", began, returned)
	}
}

// pace pushes events at the interval, one after another, and notes when each was pushed,
// when its push returned, and when its output was seen.
func pace(b *testing.B, e *engine.Engine, ref api.Ref, watch api.Subscription, events int, interval time.Duration) (
	began, returned, done []time.Time) {
	began, returned, done = make([]time.Time, events), make([]time.Time, events), make([]time.Time, events)
	seen := make(chan error, 1)
	go func() { seen <- collect(b.Context(), watch, done) }() // joined below
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range events {
		<-tick.C
		raw := strconv.AppendInt([]byte(`{"n":`), int64(i), 10)
		raw = append(raw, '}')
		began[i] = time.Now()
		res, err := e.Push(b.Context(), ref, "ticks", []json.RawMessage{raw})
		returned[i] = time.Now()
		if err != nil || res.Accepted != 1 {
			b.Fatalf("push %d: %+v, %v", i, res, err)
		}
	}
	if err := <-seen; err != nil {
		b.Fatal(err)
	}
	return began, returned, done
}

// collect notes when each output was seen, until the last.
func collect(ctx context.Context, watch api.Subscription, done []time.Time) error {
	for left := len(done); left > 0; {
		f, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		if f.Type != "output" {
			continue
		}
		n, err := strconv.Atoi(string(f.Value))
		if err != nil {
			return err
		}
		done[n] = time.Now()
		left--
	}
	return nil
}

// report reports the median and the 99th percentile of the spans, in microseconds.
func report(b *testing.B, what string, from, to []time.Time) {
	spans := make([]time.Duration, len(from))
	for i := range from {
		spans[i] = to[i].Sub(from[i])
	}
	slices.Sort(spans)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(spans[(len(spans)-1)*p/100].Nanoseconds())/1e3, "p"+strconv.Itoa(p)+"-µs/"+what)
	}
}

// BenchmarkHop is the floor of BenchmarkPushToEpoch: a moment handed from goroutine to
// goroutine over channels, at the same pace, and nothing done with it. A push takes two
// hops to its epoch and a third to whoever watches.
func BenchmarkHop(b *testing.B) {
	const rate, events, hops = 2_000, 10_000, 3
	for b.Loop() {
		arrived := make([][]time.Time, hops)
		first := make(chan struct{}, 1)
		var wg sync.WaitGroup
		in := first
		for h := range hops {
			from, to := in, make(chan struct{}, 1)
			arrived[h] = make([]time.Time, 0, events)
			wg.Go(func() {
				for range from {
					arrived[h] = append(arrived[h], time.Now())
					if h < hops-1 {
						to <- struct{}{}
					}
				}
				close(to)
			})
			in = to
		}
		began := make([]time.Time, events)
		tick := time.NewTicker(time.Second / rate)
		for i := range events {
			<-tick.C
			began[i] = time.Now()
			first <- struct{}{}
		}
		tick.Stop()
		close(first)
		wg.Wait()
		for h := range hops {
			report(b, strconv.Itoa(h+1)+"-hops", began, arrived[h])
		}
	}
}
