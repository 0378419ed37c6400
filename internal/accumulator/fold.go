package accumulator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// The kinds of accumulators.
const (
	kindPassthrough = "passthrough"
	kindBatch       = "batch"
	kindState       = "state"
	kindWindow      = "window"
)

// fold collects values into boundaries.
type fold interface {
	folder
	keeper
}

// folder is the work of a fold. It either does what it is asked as a whole or panics
// having changed nothing.
type folder interface {
	// add folds an event and appends the boundaries that this completes.
	add(now time.Time, in *input, out []boundary.Boundary) ([]boundary.Boundary, verdict)
	// due says when tick must be called; false for never.
	due() (time.Time, bool)
	// tick completes what is due at now.
	tick(now time.Time, out []boundary.Boundary) []boundary.Boundary
	// end completes what is buffered: no event comes any more.
	end(out []boundary.Boundary) []boundary.Boundary
}

// input is an event on its way into a fold.
type input struct {
	value boundary.Value // what the event has become
	ev    *boundary.Event
	facts *facts // for a window
}

// verdict is what a fold says to an event.
type verdict uint8

const (
	verdictFolded verdict = iota
	verdictLate           // its windows have closed; nothing was changed
	verdictFull           // it would open more than may be; nothing was changed
)

// keeper is the memory of a fold.
type keeper interface {
	// state is an immutable handle on what is kept; nil when nothing ever is.
	state() FoldState
	// resume goes back to a state that the same fold made.
	resume(s FoldState)
	// decode reads what AppendBinary wrote.
	decode(data []byte) (FoldState, error)
	// open is how many events are kept that no boundary accounts for yet.
	open() int64
}

func newFold(p *Program) (fold, error) {
	switch p.kind {
	case kindPassthrough:
		return passthrough{}, nil
	case kindBatch:
		most := p.capacityBytes
		if most <= 0 {
			most = DefaultMaxEventBytes
		}
		return &batch{rule: p.batch, maxBytes: most}, nil
	case kindState:
		return &history{keep: max(p.keep, 1)}, nil
	case kindWindow:
		return newWindow(p.window), nil
	}
	return nil, fmt.Errorf("accumulator %q: no fold of kind %q", p.name, p.kind)
}

// arrival is when ev arrived: as its source says, else now.
func arrival(now time.Time, ev *boundary.Event) time.Time {
	if ev.At.IsZero() {
		return now
	}
	return ev.At
}

// passthrough hands every event on as a boundary of its own.
type passthrough struct{}

func (passthrough) add(now time.Time, in *input, out []boundary.Boundary) ([]boundary.Boundary, verdict) {
	v, ev := in.value, in.ev
	if len(out) == cap(out) {
		out = append(out, boundary.Boundary{})
	} else {
		out = out[:len(out)+1] // what lies there is zero: see Core.grow
	}
	b := &out[len(out)-1] // filled in place: it is large, and this is every event's way
	b.Value, b.First, b.Last = v, ev.Pos, ev.Pos
	b.At, b.Events = arrival(now, ev), 1
	b.Size = v.Size() + len(ev.Raw)
	b.Raw, b.Origin = ev.Raw, ev.Origin
	return out, verdictFolded
}

func (passthrough) due() (time.Time, bool)                                        { return time.Time{}, false }
func (passthrough) tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }
func (passthrough) end(out []boundary.Boundary) []boundary.Boundary               { return out }
func (passthrough) state() FoldState                                              { return nil }
func (passthrough) resume(FoldState)                                              {}
func (passthrough) open() int64                                                   { return 0 }

func (passthrough) decode(data []byte) (FoldState, error) {
	if len(data) > 0 {
		return nil, errForeignState
	}
	return nil, nil
}

// errForeignState says that a checkpoint's state is not of the declared kind.
var errForeignState = errors.New("the kept state is of another kind of accumulator or damaged")

// The first bytes of an encoded state: its kind and the version of its form.
const (
	batchState   = "B\x01"
	historyState = "H\x01"
)

// Encoding of what states are made of.

func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	dst = binary.AppendVarint(dst, t.Unix())
	return binary.AppendUvarint(dst, uint64(t.Nanosecond()))
}

func appendValues(dst []byte, items []boundary.Value) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for _, v := range items {
		dst = v.AppendBinary(dst)
	}
	return dst
}

// stateReader reads the same back. After a mistake everything reads as zero, and err says so.
type stateReader struct {
	data []byte
	err  error
}

func readState(data []byte, head string) *stateReader {
	r := &stateReader{data: data}
	if len(data) < len(head) || string(data[:len(head)]) != head {
		r.fail(errForeignState)
		return r
	}
	r.data = data[len(head):]
	return r
}

func (r *stateReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *stateReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail(errForeignState)
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *stateReader) varint() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.fail(errForeignState)
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *stateReader) time() time.Time {
	if r.uvarint() == 0 {
		return time.Time{}
	}
	sec := r.varint()
	return time.Unix(sec, int64(r.uvarint())).UTC()
}

func (r *stateReader) position() boundary.Position {
	p, rest, err := boundary.DecodePosition(r.data)
	if err != nil {
		r.fail(fmt.Errorf("%w: %w", errForeignState, err))
		return boundary.Position{}
	}
	r.data = rest
	return p
}

func (r *stateReader) values() []boundary.Value {
	n := r.uvarint()
	if n > uint64(len(r.data)) { // a value takes at least a byte
		r.fail(errForeignState)
		return nil
	}
	items := make([]boundary.Value, 0, min(n, 1024)) // a damaged length must not allocate the world
	for range n {
		v, rest, err := boundary.DecodeBinary(r.data)
		if err != nil {
			r.fail(fmt.Errorf("%w: %w", errForeignState, err))
			return nil
		}
		items, r.data = append(items, v), rest
	}
	return items
}

// done is the first mistake, or that something is left over.
func (r *stateReader) done() error {
	if r.err == nil && len(r.data) > 0 {
		r.err = errForeignState
	}
	return r.err
}
