package accumulator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// shapeTicks is the map and filter of the W1 figure, over 65-byte ticks.
func shapeTicks() spec.Accumulator {
	return spec.Accumulator{
		Where: expr("event.ask - event.bid > 0.015"),
		Emit: []spec.Field{
			field("symbol", "event.symbol"), field("mid", "(event.bid + event.ask) / 2"),
			field("spread", "event.ask - event.bid"), field("ts", "event.ts"),
		},
	}
}

// BenchmarkCore folds events that are in memory, 256 to a hand-over.
func BenchmarkCore(b *testing.B) {
	const group = 256
	raws := make([][]byte, group)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, `{"symbol":"SYM%03d","bid":%d.125,"ask":%d.250,"ts":%d}`, i, 1000+i, 1000+i, 1700000000000+i)
	}
	checked := shapeTicks()
	checked.Schema = map[string]any{
		"type": "object", "required": []any{"symbol", "bid", "ask"},
		"properties": map[string]any{"symbol": map[string]any{"type": "string"}, "bid": map[string]any{"type": "number"}},
	}
	for _, c := range []struct {
		name   string
		a      spec.Accumulator
		fields []string
	}{
		{"passthrough", spec.Accumulator{}, []string{"bid", "ask"}},
		{"where+emit", shapeTicks(), []string{"mid"}},
		{"schema+where+emit", checked, []string{"mid"}},
		{"batch", spec.Accumulator{Kind: kindBatch, Batch: spec.Batch{Size: 100}}, nil},
		{"state", spec.Accumulator{Kind: kindState, State: spec.State{Keep: 100}}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			core := NewCore(compile(b, c.a, c.fields...), Limits{})
			now := time.Now()
			var (
				h  Handover
				ev boundary.Event
			)
			b.SetBytes(int64(len(raws[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ev = boundary.Event{Raw: raws[i%group], Pos: boundary.Position{Stream: "file#1024-0123456789abcdef", Offset: int64(i + 1)}, At: now}
				if o := core.Add(now, &ev, true); o.Status != Accepted {
					b.Fatalf("%+v", o)
				}
				if i%group == group-1 && !core.Take(&h) {
					b.Fatal("nothing to take")
				}
			}
		})
	}
}

// discard takes every hand-over and keeps none.
type discard struct{}

func (discard) Put(context.Context, *Handover) error { return nil }
func (discard) Health(Health, string, string)        {}

// BenchmarkPush is one caller's push, folded, handed over and answered.
func BenchmarkPush(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			box := NewMailbox(0, 0)
			u := NewUnit(UnitConfig{Name: "ticks", Core: NewCore(compile(b, shapeTicks(), "mid"), Limits{}), Mailbox: box, Port: discard{}})
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
