package reader_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
)

// port is the reactor of one shard: it takes all, and knows the last mark.
type port struct {
	mu     sync.Mutex
	values []string
	mark   accumulator.Mark
}

func (p *port) Put(_ context.Context, h *accumulator.Handoff) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range h.Boundaries {
		p.values = append(p.values, h.Boundaries[i].Value.String())
	}
	p.mark = h.Mark
	return nil
}

func (p *port) Health(accumulator.Health, string, string) {}

// unitOf is the unit of one shard of so many, which goes on from its port's mark.
func unitOf(t testing.TB, u *compile.Unit, source accumulator.Source, to accumulator.Port, mark accumulator.Mark,
	shard, of int) *pump.Unit {
	t.Helper()
	core := accumulator.NewCore(u.Programs[0], accumulator.Limits{})
	if err := core.RestoreMark(mark, nil); err != nil {
		t.Fatal(err)
	}
	return pump.New(pump.Config{Name: "a", Core: core, Source: source, From: mark.Positions, Port: to,
		Mailbox: pump.NewMailbox(0, 0), Share: &pump.Share{Shard: shard, Of: of, Dealer: u.Dealer(0)},
		MarkEvery: time.Millisecond})
}

// growing is a tape that goes on when there is more.
type growing struct{ tape }

func (g *growing) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	for next := int64(0); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		for ; next < g.rig.events.Load(); next++ {
			ev := event(next)
			if given(from, ev) {
				continue
			}
			if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev)); err != nil {
				return err
			}
		}
	}
	return nil
}

// M49: with one reader the shards of a graph take in each event once, each those of its keys, also when one of them
// restarts alone, from where it had handed over.
func TestM49ShardsOfOneReaderTakeEachEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 300, func(r *rig) accumulator.Source { return &growing{tape{rig: r}} })
		ports, stops, ended := make([]*port, shards), make([]func(), shards), make([]chan error, shards)
		begin := func(n int) {
			source, err := r.reader.Source(0)
			if err != nil {
				t.Fatal(err)
			}
			unit := unitOf(t, r.unit, source, ports[n], ports[n].mark, n, shards)
			ctx, stop := context.WithCancel(t.Context())
			stops[n], ended[n] = stop, make(chan error, 1)
			go func() { ended[n] <- unit.Run(ctx) }()
		}
		end := func(n int) {
			stops[n]()
			if err := <-ended[n]; err != nil {
				t.Error(err)
			}
		}
		for n := range shards {
			ports[n] = &port{}
			begin(n)
		}
		settle()
		end(3)
		r.events.Store(400)
		settle()
		begin(3)
		settle()
		for n := range shards {
			end(n)
		}
		var values, want []string
		for n, p := range ports {
			values = append(values, p.values...)
			if fmt.Sprint(p.mark.Positions) != "[s/0#x@200 s/1#x@200]" {
				t.Errorf("shard %d is at %v", n, p.mark.Positions)
			}
		}
		for n := range int64(400) {
			want = append(want, fmt.Sprintf(`{"at":"1970-01-01T00:00:01Z","k":%d,"n":%d}`, n%50, n))
		}
		slices.Sort(values)
		slices.Sort(want)
		if !slices.Equal(values, want) {
			t.Errorf("%d values of %d events", len(values), len(want))
		}
	})
}

// endless is a source of so many events, handed over in batches.
type endless struct{ events int }

func (e endless) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	for n := 0; n < e.events; {
		batch := accumulator.NewBatch(out, 256)
		for ; n < e.events && len(batch) < 256; n++ {
			batch = append(batch, boundary.Event{Raw: fmt.Appendf(nil,
				`{"k":%d,"n":%d,"name":"text","bid":1000.125,"ask":1000.25,"at":"1970-01-01T00:00:01Z"}`, n%500, n),
				Pos: boundary.Position{Stream: "s", Offset: int64(n + 1)}})
		}
		if err := out.Emit(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

type discard struct{ ended chan struct{} }

func (discard) Put(context.Context, *accumulator.Handoff) error { return nil }
func (d discard) Health(h accumulator.Health, _, _ string) {
	if h == accumulator.Ended {
		d.ended <- struct{}{}
	}
}

// BenchmarkShards is an event for all shards of a graph, read by one reader and by each for itself.
func BenchmarkShards(b *testing.B) {
	for _, of := range []int{1, 4, 64} {
		u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, declared, max(of, 2)), "g.yaml")
		if err := diags.Err(); err != nil {
			b.Fatal(err)
		}
		for _, way := range []string{"one reader", "each by itself"} {
			b.Run(fmt.Sprintf("%s/%d", way, of), func(b *testing.B) {
				open := func() (accumulator.Source, error) { return endless{b.N}, nil }
				r := reader.New(reader.Config{Open: open,
					LoaderConfig: pump.LoaderConfig{Share: &pump.Share{Of: of, Dealer: u.Dealer(0)}}})
				if way != "one reader" {
					r = nil
				}
				ctx, stop := context.WithCancel(b.Context())
				var wait sync.WaitGroup
				to := discard{make(chan struct{}, of)}
				b.ReportAllocs()
				for n := range of {
					source, _ := open()
					if r != nil {
						source, _ = r.Source(0)
					}
					unit := unitOf(b, u, source, to, accumulator.Mark{}, n, of)
					wait.Go(func() { _ = unit.Run(ctx) })
				}
				for range of {
					<-to.ended
				}
				stop()
				wait.Wait()
			})
		}
	}
}
