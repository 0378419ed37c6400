package pump

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// discard takes every handoff and keeps none.
type discard struct{}

func (discard) Put(context.Context, *accumulator.Handoff) error { return nil }
func (discard) Health(accumulator.Health, string, string)       {}

// BenchmarkPush is one caller's push, folded, handed over and answered.
func BenchmarkPush(b *testing.B) {
	shape := spec.Accumulator{Where: expr("event.ask - event.bid > 0.015"), Emit: []spec.Field{
		{Name: "symbol", Expr: expr("event.symbol")}, {Name: "mid", Expr: expr("(event.bid + event.ask) / 2")},
		{Name: "spread", Expr: expr("event.ask - event.bid")}, {Name: "ts", Expr: expr("event.ts")},
	}}
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			box := NewMailbox(0, 0)
			core := accumulator.NewCore(compile(b, shape, "mid"), accumulator.Limits{})
			u := New(Config{Name: "ticks", Core: core, Mailbox: box, Port: discard{}})
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- u.Run(ctx) }()
			raw := []byte(`{"symbol":"SYM001","bid":1000.125,"ask":1000.250,"ts":1700000000000}`)
			events := make([]boundary.Event, n)
			b.ReportAllocs()
			for b.Loop() {
				for i := range events {
					events[i] = boundary.Event{Raw: raw}
				}
				if o, err := box.Push(ctx, events); err != nil || o.Accepted != n {
					b.Fatalf("%+v, %v", o, err)
				}
			}
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
