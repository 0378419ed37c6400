// Package ahead reads the inputs of a bounded run ahead of their being folded, on cores of their own, and hands their
// events over in the order of the input.
//
//	                ┌─ decoder ─┐
//	reader ─ block ─┼─ decoder ─┼─ block ─▶ Next
//	                └─ decoder ─┘
//
// A reader cuts an input into blocks of events, as it stands there: it unpacks, finds lines, makes objects of CSV. The
// decoders do with the events of a block what is the same whatever came before them ([accumulator.Taker]). Next
// takes block after block in the order in which they were cut, so that an event, an event that cannot be read and
// what ends the input stand where they stand without all this.
//
// # What is held
//
// There are so many blocks and no more, and a block has at most so many events and, but for its last event, so many
// bytes: what is held does not grow with the input, nor with how slowly it is taken. A block is handed over as it is
// when its reader would have to wait for more.
//
// # Concurrency
//
// An [Input] belongs to one goroutine. It starts one that reads and some that decode; Stop ends and joins them.
package ahead

import (
	"context"
	"errors"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// A block is large enough that handing it over costs nothing beside its events, and small enough that it is still in
// the caches when they are folded.
const (
	blockEvents = 512
	blockBytes  = 128 << 10
	spareBlocks = 5 // beside those that are decoded: one is cut, one is taken, one is between them, and two more
	spentBlocks = 3 // are given back at a time: a reader that waits for room is not woken for each of them
)

// Source is one input's events in order; see [job.Reader]. It is called by one goroutine at a time.
type Source interface {
	Next(ev *boundary.Event) error
}

// What a Source may be too.
type (
	// Liner knows the line of the event that it gave last.
	Liner interface{ Line() int64 }
	// Waiter calls f whenever it may have to wait for more of its input.
	Waiter interface{ BeforeRead(f func()) }
	// Interrupter ends a Next that waits for more of its input, and all after it, with an error.
	Interrupter interface{ Interrupt() }
)

// Event is one event with what was made of it.
type Event struct {
	boundary.Event
	// Bad says why the event could not be read: then nothing was made of it.
	Bad   *accumulator.BadEvent
	Taken accumulator.Taken
}

// block is some events of an input, one after the other.
type block struct {
	events  []Event
	bytes   int
	err     error         // what ends the input after them; nil: it goes on
	decoded chan struct{} // has room for one: a decoder never waits
}

// add adds an event. What was made of the one that stood there before is overwritten when it is decoded.
func (b *block) add(ev *boundary.Event, bad *accumulator.BadEvent) {
	n := len(b.events)
	if n < cap(b.events) {
		b.events = b.events[:n+1]
	} else {
		b.events = append(b.events, Event{})
	}
	e := &b.events[n]
	e.Event, e.Bad = *ev, bad
}

// Input is an input that is read ahead.
type Input struct {
	src     Source
	ctx     context.Context // of Read's caller, and ended by Stop
	cancel  context.CancelFunc
	running sync.WaitGroup

	free  chan *block // these three have room for all blocks
	work  chan *block // to be decoded
	ready chan *block // in the order of the input

	block *block   // that Next is at
	at    int      // which of its events is the next
	spent []*block // taken, and not given back

	cut *block // the reader's, which is being filled
}

// Read begins to read src; there is a decoder for each of the takers, which are its own from then on.
func Read(ctx context.Context, src Source, takers []*accumulator.Taker) *Input {
	n := len(takers) + spareBlocks
	in := &Input{
		src: src, free: make(chan *block, n), work: make(chan *block, n), ready: make(chan *block, n),
	}
	in.ctx, in.cancel = context.WithCancel(ctx)
	for range n {
		in.free <- &block{decoded: make(chan struct{}, 1)}
	}
	if w, ok := src.(Waiter); ok {
		w.BeforeRead(func() { in.hand() })
	}
	in.running.Go(in.read)
	for _, t := range takers {
		in.running.Go(func() { in.decode(t) })
	}
	return in
}

// Next is the next event, good until the next call. What ends the input ends it after all its events: io.EOF, or the
// error of its source.
func (in *Input) Next() (*Event, error) {
	for {
		if b := in.block; b != nil {
			if in.at < len(b.events) {
				in.at++
				return &b.events[in.at-1], nil
			}
			if b.err != nil {
				return nil, b.err
			}
			in.block = nil
			if in.spent = append(in.spent, b); len(in.spent) == spentBlocks {
				for _, b := range in.spent {
					in.free <- b
				}
				in.spent = in.spent[:0]
			}
		}
		var b *block
		select {
		case b = <-in.ready:
		case <-in.ctx.Done():
			return nil, context.Cause(in.ctx)
		}
		select {
		case <-b.decoded:
		case <-in.ctx.Done():
			return nil, context.Cause(in.ctx)
		}
		in.block, in.at = b, 0
	}
}

// Stop ends the reading wherever it is.
func (in *Input) Stop() {
	in.cancel()
	if i, ok := in.src.(Interrupter); ok {
		i.Interrupt()
	}
	in.running.Wait()
}

// read cuts the input into blocks.
func (in *Input) read() {
	defer close(in.work)
	liner, _ := in.src.(Liner)
	var ev boundary.Event // not of the block: to get one may hand over the block that there is
	for {
		err := in.src.Next(&ev)
		bad, isBad := (*accumulator.BadEvent)(nil), false
		if err != nil {
			if bad, isBad = errors.AsType[*accumulator.BadEvent](err); !isBad {
				in.end(err)
				return
			}
		}
		if liner != nil { // nothing is resumed after a bounded run: where an event came from is for people
			ev.Pos = boundary.Position{Offset: liner.Line()}
		} else {
			ev.Pos = boundary.Position{}
		}
		if !in.room() {
			return
		}
		b := in.cut
		b.add(&ev, bad)
		if b.bytes += len(ev.Raw); len(b.events) >= blockEvents || b.bytes >= blockBytes {
			in.hand()
		}
		if in.ctx.Err() != nil {
			return
		}
	}
}

// room has a block for the next event; false: the reading has been ended.
func (in *Input) room() bool {
	if in.cut != nil {
		return true
	}
	select {
	case in.cut = <-in.free:
		b := in.cut
		b.events, b.bytes, b.err = b.events[:0], 0, nil
		return true
	case <-in.ctx.Done():
		return false
	}
}

// hand hands over what has been cut.
func (in *Input) hand() {
	if b := in.cut; b != nil {
		in.cut = nil
		in.ready <- b
		in.work <- b
	}
}

// end hands over the last block.
func (in *Input) end(err error) {
	if in.room() {
		in.cut.err = err
		in.hand()
	}
}

// decode makes of the events of blocks what can be made of them, until there are no blocks.
func (in *Input) decode(t *accumulator.Taker) {
	for b := range in.work {
		if in.ctx.Err() != nil {
			continue // nobody waits for them
		}
		for i := range b.events {
			if e := &b.events[i]; e.Bad == nil {
				t.Take(&e.Event, &e.Taken)
			}
		}
		b.decoded <- struct{}{}
	}
}
