package reactor

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// BenchmarkUnkeyed is one event from admission to its epoch's end in a graph without keys.
func BenchmarkUnkeyed(b *testing.B) {
	for _, strategy := range []string{"latest", "sequential"} {
		b.Run(strategy, func(b *testing.B) {
			c := benchCore(b, graphOf("  a: {}\n  b: {}\n", "{ when: any, strategy: "+strategy+" }", pair))
			const batch = 256
			h := &accumulator.Handoff{Boundaries: make([]boundary.Boundary, batch)}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				i := n & (batch - 1)
				n++
				h.Boundaries[i] = boundary.Boundary{Value: boundary.Int(int64(n)), Events: 1, Size: 8}
				one := accumulator.Handoff{Boundaries: h.Boundaries[i : i+1]}
				c.Admit(epochZero, n&1, &one, 0)
				if !c.Fire(epochZero) {
					b.Fatal("the criteria do not hold")
				}
				c.ResetReleased()
				c.DrainFreed(func(int, Credit) {})
			}
		})
	}
}

func benchCore(b *testing.B, doc string, opts ...option) *Core {
	b.Helper()
	c := NewCore(testConfig(b, doc, append(opts, func(cfg *Config) { cfg.KeepFirings = 0 })...))
	c.Start(epochZero)
	for i := range c.cfg.Inputs {
		c.SetHealth(epochZero, i, accumulator.SocketOnly, "", "")
	}
	return c
}

// BenchmarkKeyed is one event from admission to its epoch's end, over so many keys that are
// there already, each with a book and a model: the cost must not grow with the keys (M13).
// heap-B/key is what a key takes in memory beside the values' own data.
func BenchmarkKeyed(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		for _, strategy := range []string{"latest", "sequential"} {
			for _, batch := range []int{1, 256} { // as a bounded run hands over, and as a live graph does
				b.Run(fmt.Sprintf("%s/%d/batch=%d", strategy, n, batch), func(b *testing.B) {
					benchKeyed(b, strategy, n, batch)
				})
			}
		}
	}
}

func benchKeyed(b *testing.B, strategy string, n, batch int) {
	c := benchCore(b, graphOf(bookAndModel, "{ when: any, strategy: "+strategy+" }",
		"nodes:\n  n: { expr: 'a - (b ?? 0)' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"),
		keyed(func(k *Keys) { k.TTL, k.Max = time.Hour, 2*n }))
	d := &keyedDriver{c: c, batch: batch}
	before := heapAfterGC()
	for input := range 2 {
		for i := range n {
			d.event(b, i, input)
		}
		d.flush(b)
	}
	perKey := float64(heapAfterGC()-before) / float64(n)
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	began := cpuTime()
	i := 0
	for b.Loop() {
		d.event(b, rng.IntN(n), i/batch&1)
		i++
	}
	b.ReportMetric(perKey, "heap-B/key")
	b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
}

// keyedDriver hands over so many events at a time, boundaries in slabs as accumulators make them.
type keyedDriver struct {
	c     *Core
	batch int
	input int
	text  []byte
	slab  []boundary.Boundary
	full  int // of the slab, what is not handed over yet
	n     int64
}

func (d *keyedDriver) event(b *testing.B, key, input int) {
	if len(d.slab) == d.full {
		d.slab, d.full = make([]boundary.Boundary, 1024), 0
	}
	d.n++
	d.text = append(strconv.AppendInt(append(d.text[:0], `"key`...), int64(key), 10), '"')
	d.slab[d.full] = boundary.Boundary{
		Value: boundary.Int(d.n), Key: boundary.Key(d.text), Events: 1, Size: 24,
		Last: boundary.Position{Stream: "a file", Offset: d.n},
	}
	d.input = input
	if d.full++; d.full == d.batch {
		d.flush(b)
	}
}

// flush hands over what there is, and fires all of it.
func (d *keyedDriver) flush(b *testing.B) {
	if d.full == 0 {
		return
	}
	h := accumulator.Handoff{Boundaries: d.slab[:d.full:d.full]}
	d.slab, d.full = d.slab[d.full:], 0
	d.c.Admit(epochZero, d.input, &h, 0)
	fired := false
	for d.c.Fire(epochZero) {
		fired = true
		d.c.ResetReleased()
	}
	if !fired {
		b.Fatal("the criteria do not hold")
	}
	d.c.DrainFreed(func(int, Credit) {})
}

// cpuTime is what the process has used of all processors, in nanoseconds: the collector's
// part too, and not what others have used meanwhile.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func heapAfterGC() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkKeyedSeal is one checkpoint after a thousand of so many keys have changed: it
// must cost by what changed.
func BenchmarkKeyedSeal(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := benchCore(b, graphOf(bookAndModel, "{ when: any }", "nodes:\n  n: { expr: 'a - (b ?? 0)' }\n"),
				keyed(func(k *Keys) { k.Max = 2 * n }))
			d := &keyedDriver{c: c, batch: 1}
			for i := range n {
				d.event(b, i, 0)
			}
			c.Sealed(c.Seal(epochZero), nil)
			bytes := 0
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				b.StopTimer()
				for range 1000 {
					d.event(b, i*7919%n, 0)
					i++
				}
				b.StartTimer()
				s := c.Seal(epochZero)
				commit := s.Commit()
				c.Sealed(s, nil)
				bytes = 0
				for k := range commit.Cells {
					bytes += len(commit.Cells[k].Data)
				}
			}
			b.ReportMetric(float64(bytes)/1000, "B/changed-key")
		})
	}
}
