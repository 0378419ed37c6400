package accumulator

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/accumulator/window"
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

// BenchmarkCore folds events that are in memory, 256 to a handoff.
func BenchmarkCore(b *testing.B) {
	const group = 256
	raws := make([][]byte, group)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, `{"symbol":"SYM%03d","bid":%d.125,"ask":%d.250,"ts":%d}`, i, 1000+i, 1000+i,
			1700000000000+i)
	}
	checked := shapeTicks()
	checked.Schema = map[string]any{
		"type": "object", "required": []any{"symbol", "bid", "ask"},
		"properties": map[string]any{
			"symbol": map[string]any{"type": "string"}, "bid": map[string]any{"type": "number"},
		},
	}
	for _, c := range []struct {
		name   string
		a      spec.Accumulator
		fields []string
	}{
		{"passthrough", spec.Accumulator{}, []string{"bid", "ask"}},
		{"where+emit", shapeTicks(), []string{"mid"}},
		{"schema+where+emit", checked, []string{"mid"}},
		{"batch", spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 100}}, nil},
		{"state", spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 100}}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			core := NewCore(compile(b, c.a, c.fields...), Limits{})
			now := time.Now()
			var (
				h  Handoff
				ev boundary.Event
			)
			b.SetBytes(int64(len(raws[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ev = boundary.Event{
					Raw: raws[i%group], Pos: boundary.Position{
						Stream: "file#1024-0123456789abcdef", Offset: int64(i + 1),
					}, At: now,
				}
				if o := core.Add(now, &ev, true); o.Status != Accepted {
					b.Fatalf("%+v", o)
				}
				if i%group == group-1 && !core.Drain(&h) {
					b.Fatal("nothing to take")
				}
			}
		})
	}
}

// BenchmarkWindow is W3's fold: per key in tumbling windows of ten seconds n, mean, min and
// max, decoding included. A thousand keys, two thousand events a second.
func BenchmarkWindow(b *testing.B) {
	a := spec.Accumulator{
		Kind: "window", Time: expr("event.ts"),
		Config: window.Declared{Size: 10 * time.Second, Every: 10 * time.Second, Late: "drop", Groups: "each",
			Key: []spec.Expr{expr("event.symbol")},
			Aggregate: []spec.Field{
				field("n", "count()"), field("mean", "mean(event.bid)"), field("low", "min(event.bid)"),
				field("high", "max(event.bid)"),
			}},
	}
	c := NewCore(compile(b, a), Limits{})
	c.Ephemeral()
	raws := make([][]byte, 1<<14)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, `{"symbol":"S%03d","bid":%d.25,"ask":%d.5,"ts":`, (i*7919)%1000, 100+i%7, 100+i%7)
	}
	now := epochStart.Add(24 * time.Hour)
	h := &Handoff{}
	room := make([]byte, 0, 1<<20)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if len(room)+100 > cap(room) {
			room = make([]byte, 0, 1<<20) // as a source reads: in large pieces
		}
		start := len(room)
		room = append(strconv.AppendInt(append(room, raws[i&(1<<14-1)]...), 1_700_000_000_000+int64(i/2), 10), '}')
		ev := boundary.Event{Raw: room[start:len(room):len(room)]}
		c.Add(now, &ev, true)
		if i%256 == 0 {
			c.Drain(h)
		}
	}
}
