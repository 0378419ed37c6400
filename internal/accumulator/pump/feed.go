package pump

import (
	"context"
	"runtime/debug"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// feedDepth is how many parcels a source may be ahead: enough to read the next while one
// is handed over, few enough that a held-back source stops soon.
const feedDepth = 2

// parcel is one call of a source to its Out.
type parcel struct {
	events  []boundary.Event
	bad     *accumulator.BadEvent // the one event is unusable
	advance bool                  // the one event is a position only
}

// feed runs a source and is its Out.
type feed struct {
	parcels chan parcel           // closed when the source has returned
	spare   chan []boundary.Event // batches that were folded; as many as can be on the way
	port    accumulator.Port
	pace    Pace  // nil for none
	err     error // how the source ended; read after parcels is closed
}

func newFeed(p accumulator.Port, pace Pace) *feed {
	return &feed{
		parcels: make(chan parcel, feedDepth),
		spare:   make(chan []boundary.Event, feedDepth+2), // one is being filled, one folded
		port:    p, pace: pace,
	}
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

func (f *feed) put(ctx context.Context, p parcel) error {
	select {
	case f.parcels <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Batch implements [accumulator.Recycler].
func (f *feed) Batch(n int) []boundary.Event {
	select {
	case b := <-f.spare:
		if cap(b) >= n {
			return b
		}
	default:
	}
	return make([]boundary.Event, 0, n)
}

// recycle takes back a batch that was folded. Nothing may hold on to what it points to.
func (f *feed) recycle(batch []boundary.Event) {
	clear(batch)
	select {
	case f.spare <- batch[:0]:
	default:
	}
}

// Emit implements [accumulator.Out].
func (f *feed) Emit(ctx context.Context, batch []boundary.Event) error {
	if len(batch) == 0 {
		return ctx.Err()
	}
	for len(batch) > 0 {
		n, err := admit(ctx, f.pace, batch)
		if err == nil {
			err = f.put(ctx, parcel{events: batch[:n:n]})
		}
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// Refuse implements [accumulator.Out].
func (f *feed) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	if _, err := admit(ctx, f.pace, []boundary.Event{ev}); err != nil {
		return err
	}
	return f.put(ctx, parcel{events: []boundary.Event{ev}, bad: bad})
}

// Advance implements [accumulator.Out].
func (f *feed) Advance(ctx context.Context, pos boundary.Position) error {
	return f.put(ctx, parcel{events: []boundary.Event{{Pos: pos}}, advance: true})
}

// Health implements [accumulator.Out].
func (f *feed) Health(h accumulator.Health, detail string) {
	code := ""
	if h == accumulator.Disconnected {
		code = "source_disconnected"
	}
	f.port.Health(h, code, detail)
}
