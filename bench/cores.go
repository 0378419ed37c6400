package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"
)

// cores runs workloads on one core and on all, in turn. The measure is wall time: nothing else must run meanwhile.
func cores(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintf(w, "\nCores: wall time on 1 and on %d; W2 and W3 keyed, in 8 shards\n", runtime.NumCPU())
	for _, wl := range workloads() {
		wl.name, wl.outputs = "cores-"+wl.name, nil
		wl.form = []string{"{ when", "{ key: symbol, shards: 8, when", "tial }\nnodes: {}\noutputs:\n  windows",
			"tial, key: key, shards: 8 }\nnodes: {}\noutputs:\n  windows"}
		for k := range wl.inputs {
			wl.inputs[k].line = symbols(wl.inputs[k].line)
		}
		f, err := wl.prepare(c.data, c.lines)
		if err != nil {
			return err
		}
		var samples [2][]sample
		for range c.runs {
			for i, n := range []int{1, runtime.NumCPU()} {
				v := variant{name: wl.name, form: true, cores: n}
				if s, err := v.once(ctx, c, &wl, f, "drop"); err == nil {
					samples[i] = append(samples[i], s)
				} else {
					return err
				}
			}
		}
		wall := func(s sample) time.Duration { return s.wall }
		one, all := median(samples[0], wall).Seconds(), median(samples[1], wall).Seconds()
		cpu := median(samples[1], func(s sample) time.Duration { return s.cpu }).Seconds()
		fmt.Fprintf(w, "%s: %.0f and %.0f events/s, %.2f x; wall / CPU on all cores %.2f\n", wl.name,
			float64(f.events)/one, float64(f.events)/all, one/all, all/cpu)
	}
	return nil
}

// symbols makes a line of one symbol one of many.
func symbols(line func([]byte, *rand.Rand, int) []byte) func([]byte, *rand.Rand, int) []byte {
	return func(dst []byte, r *rand.Rand, i int) []byte {
		from := len(dst) + len(`{"symbol":"SYM`)
		dst = line(dst, r, i)
		copy(dst[from:], fmt.Sprintf("%03d", r.IntN(1000)))
		return dst
	}
}
