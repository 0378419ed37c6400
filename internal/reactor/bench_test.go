package reactor

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// BenchmarkUnkeyed is one event from admission to its epoch's end in a graph without keys.
func BenchmarkUnkeyed(b *testing.B) {
	for _, strategy := range []string{"latest", "sequential"} {
		b.Run(strategy, func(b *testing.B) {
			c := benchCore(b, graphOf("  a: {}\n  b: {}\n", "{ when: any, strategy: "+strategy+" }", pair))
			const batch = 256
			h := &accumulator.Handover{Boundaries: make([]boundary.Boundary, batch)}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				i := n & (batch - 1)
				n++
				h.Boundaries[i] = boundary.Boundary{Value: boundary.Int(int64(n)), Events: 1, Size: 8}
				one := accumulator.Handover{Boundaries: h.Boundaries[i : i+1]}
				c.Admit(epochZero, n&1, &one, 0)
				if !c.Fire(epochZero) {
					b.Fatal("the criteria do not hold")
				}
				c.ResetReleased()
				c.TakeFreed(func(int, Credit) {})
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
