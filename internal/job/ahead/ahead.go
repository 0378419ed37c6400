// Package ahead reads the inputs of a bounded run ahead of their being folded, on cores of their own, and hands their
// events over in the order of the input.
//
//	         ┌─ decoder ─┐
//	source ──┼─ decoder ─┼─ block ─▶ Next
//	         └─ decoder ─┘
//
// The decoders take turns at the source. Whose turn it is cuts a block of events, as it stands there: it unpacks, finds
// lines, makes objects of CSV. Then it lets the next one cut, and does with the events of its block what is the same
// whatever came before them ([accumulator.Taker]), while it has them in its caches still. Next takes block after block
// in the order in which they were cut, so that an event, an event that cannot be read and what ends the input stand
// where they stand without all this.
//
// # What is held
//
// There are so many blocks and no more, and a block has at most so many events and, but for its last event, so many
// bytes: what is held does not grow with the input, nor with how slowly it is taken. A block is handed over as it is
// where its decoder would have to wait for more.
//
// # Concurrency
//
// An [Input] belongs to one goroutine. It starts those that decode; Stop ends and joins them.
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
	spareBlocks = 5 // beside those that are decoded: one is taken, and four are between
	spentBlocks = 3 // are given back at a time: who waits for room is not woken for each of them
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
	events []Event
	bytes  int
	err    error // what ends the input after them; nil: it goes on
	number int   // which block of the input it is, from 0
}

// next is where the block's next event goes, which is none of it until [block.add]. What was made of the one that stood
// there before is overwritten when it is decoded.
func (b *block) next() *Event {
	n := len(b.events)
	if n == cap(b.events) {
		b.events = append(b.events, Event{})[:n]
	}
	return &b.events[:n+1][n]
}

// add takes in what stands where the next event goes.
func (b *block) add(bad *accumulator.BadEvent) {
	n := len(b.events)
	b.events = b.events[:n+1]
	b.events[n].Bad = bad
	b.bytes += len(b.events[n].Raw)
}

func (b *block) full() bool { return len(b.events) >= blockEvents || b.bytes >= blockBytes }

// Input is an input that is read ahead.
type Input struct {
	src     Source
	liner   Liner           // src, if it is one
	ctx     context.Context // of Read's caller, and ended by Stop
	cancel  context.CancelFunc
	running sync.WaitGroup

	free    chan *block   // has room for all blocks
	decoded []chan *block // by the number of the block, over and over: there is never another one for a place
	turn    chan struct{} // has room for one: who is in it cuts

	// What Next is at.
	block *block
	at    int      // which of its events is the next
	taken int      // blocks
	spent []*block // taken, and not given back

	// What whose turn it is works on.
	cut   *block // which is being filled; nil for none
	by    *accumulator.Taker
	count int  // blocks that have been cut
	ended bool // there is no more
}

// Read begins to read src; there is a decoder for each of the takers, which are its own from then on.
func Read(ctx context.Context, src Source, takers []*accumulator.Taker) *Input {
	n := len(takers) + spareBlocks
	in := &Input{src: src, free: make(chan *block, n), turn: make(chan struct{}, 1)}
	in.liner, _ = src.(Liner)
	in.ctx, in.cancel = context.WithCancel(ctx)
	for range n {
		in.free <- &block{}
		in.decoded = append(in.decoded, make(chan *block, 1))
	}
	if w, ok := src.(Waiter); ok {
		w.BeforeRead(in.before)
	}
	for _, t := range takers {
		in.running.Go(func() { in.decode(t) })
	}
	return in
}

// Next is the next event, good until the next call. What ends the input ends it after all its events: io.EOF, or the
// error of its source.
func (in *Input) Next() (*Event, error) {
	if b := in.block; b != nil && in.at < len(b.events) {
		in.at++
		return &b.events[in.at-1], nil
	}
	return in.nextBlock()
}

// nextBlock is Next where the block is used up.
func (in *Input) nextBlock() (*Event, error) {
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
		select {
		case in.block = <-in.decoded[in.taken%len(in.decoded)]:
			in.taken, in.at = in.taken+1, 0
		case <-in.ctx.Done():
			return nil, context.Cause(in.ctx)
		}
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

// decode cuts blocks and makes of their events what can be made of them, until there are none.
func (in *Input) decode(t *accumulator.Taker) {
	for {
		select {
		case in.turn <- struct{}{}:
		case <-in.ctx.Done():
			return
		}
		b := in.fill(t)
		<-in.turn
		if b == nil {
			return
		}
		in.make(b, t)
	}
}

// fill cuts a block; nil: there are no more.
func (in *Input) fill(t *accumulator.Taker) *block {
	in.by = t
	for !in.ended && in.ctx.Err() == nil && in.room() {
		e := in.cut.next()
		err := in.src.Next(&e.Event)
		var bad *accumulator.BadEvent
		if err != nil {
			var isBad bool
			if bad, isBad = errors.AsType[*accumulator.BadEvent](err); !isBad {
				in.ended = in.room()
				if in.ended {
					in.cut.err = err
					return in.take()
				}
				return nil
			}
		}
		if in.liner != nil { // nothing is resumed after a bounded run: where an event came from is for people
			e.Pos = boundary.Position{Offset: in.liner.Line()}
		} else {
			e.Pos = boundary.Position{}
		}
		if in.cut == nil { // it was handed over before this event was there
			if !in.room() {
				return nil
			}
			in.cut.next().Event = e.Event
		}
		if in.cut.add(bad); in.cut.full() {
			return in.take()
		}
	}
	return nil
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

// take takes the block that has been cut.
func (in *Input) take() *block {
	b := in.cut
	b.number, in.cut, in.count = in.count, nil, in.count+1
	return b
}

// before hands over what has been cut before more is read, for that may last.
func (in *Input) before() {
	if in.cut != nil && len(in.cut.events) > 0 {
		in.make(in.take(), in.by)
	}
}

// make makes of the events of a block what can be made of them, and hands it over.
func (in *Input) make(b *block, t *accumulator.Taker) {
	if in.ctx.Err() != nil {
		return // nobody waits for it
	}
	for i := range b.events {
		if e := &b.events[i]; e.Bad == nil {
			t.Take(&e.Event, &e.Taken)
		}
	}
	in.decoded[b.number%len(in.decoded)] <- b
}
