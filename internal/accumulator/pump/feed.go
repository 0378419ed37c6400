package pump

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/boundary"
)

// feedDepth is how many parcels a source may be ahead: enough to read the next while one
// is handed over, few enough that a held-back source stops soon.
const feedDepth = 2

// parcel is some events of a load, from the first-th on.
type parcel struct {
	load   *Load
	first  int
	events []boundary.Event
}

// bad says why the n-th event is unusable; nil when it is not.
func (p *parcel) bad(n int) *accumulator.BadEvent {
	if p.load.bads == nil {
		return nil
	}
	return p.load.bads[p.first+n]
}

// own is the place of the first event from a place on that is more than passed here, the number of all where none is.
func (p *parcel) own(from int, s *Share) int {
	if !p.load.chains.Made() {
		return from
	}
	return p.load.chains.Next(p.load.shards, s.Shard, p.first+from) - p.first
}

// feed runs a source and is its Out.
type feed struct {
	parcels chan parcel // closed when the source has returned
	own     *Loader     // of what its source gives to it alone
	port    accumulator.Port
	err     error // how the source ended; read after parcels is closed
	now     func() time.Time
	deaf    pace.Deafness
}

func newFeed(cfg *Config) *feed {
	f := &feed{parcels: make(chan parcel, feedDepth), port: cfg.Port, now: cfg.Now,
		own: NewLoader(LoaderConfig{Share: cfg.Share, Pace: cfg.Pace})}
	f.own.Gate.Tell(f.Held)
	return f
}

// Held implements [Loads].
func (f *feed) Held(_ string, h pace.Held) {
	if h == pace.Free {
		f.deaf.End(f.now())
		return
	}
	f.deaf.Begin(f.now())
}

// run is the source's goroutine.
func (f *feed) run(ctx context.Context, s accumulator.Source, from []boundary.Position) {
	defer close(f.parcels)
	defer func() {
		if r := recover(); r != nil {
			f.err = &accumulator.PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	f.err = s.Run(ctx, from, f)
}

// take takes what the source has given to this unit alone.
func (f *feed) take(ctx context.Context) func(*Load) error {
	return func(d *Load) error { return f.Give(ctx, d, 0, alone) }
}

// Batch implements [accumulator.Recycler].
func (f *feed) Batch(n int) []boundary.Event { return f.own.Batch(n) }

// Emit implements [accumulator.Out].
func (f *feed) Emit(ctx context.Context, batch []boundary.Event) error {
	return f.own.Emit(ctx, time.Time{}, batch, f.take(ctx))
}

// Refuse implements [accumulator.Out].
func (f *feed) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	return f.own.Refuse(ctx, ev, bad, f.take(ctx))
}

// Advance implements [accumulator.Out].
func (f *feed) Advance(ctx context.Context, pos boundary.Position) error {
	return f.own.Advance(pos, f.take(ctx))
}

// Health implements [accumulator.Out].
func (f *feed) Health(h accumulator.Health, detail string) {
	code := ""
	if h == accumulator.Disconnected {
		code = "source_disconnected"
	}
	f.port.Health(h, code, detail)
}

// Trouble implements [accumulator.Troubled].
func (f *feed) Trouble(code, detail string) { f.port.Health(accumulator.Disconnected, code, detail) }
