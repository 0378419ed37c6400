package batch

import (
	"encoding/binary"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
)

// batchState begins a state: its kind and the version of its form.
const batchState = "B\x01"

// batch collects events and hands them over as one list: when so many are in, so long
// after the first, or when they have grown to the accumulator's capacity in bytes,
// which is what bounds a batch that has only an interval.
type batch struct {
	rule     Declared
	maxBytes int64
	batchOpen
}

// batchOpen is an open batch. It is a state too: items is only ever appended to, so a
// copy of this struct is an immutable handle on the batch as of then.
type batchOpen struct {
	items       []boundary.Value
	bytes       int64
	first, last boundary.Position
	since       time.Time // when the first event came in
	at          time.Time // of the newest, see [fold.Input]
	links       *traced.Links
}

func (b *batch) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	v, ev := in.Value, in.Event
	size := int64(v.Size())
	if len(b.items) == 0 {
		b.since, b.first = now, ev.Pos
	}
	b.items = append(b.items, v)
	b.bytes += size
	b.links = b.links.Join(ev.Links)
	if b.last = ev.Pos; in.At.After(b.at) {
		b.at = in.At
	}
	if b.rule.Size > 0 && len(b.items) >= b.rule.Size || b.bytes >= b.maxBytes {
		return b.End(out), fold.Folded
	}
	return out, fold.Folded
}

// Restarted implements [fold.Restarter]: a batch that began under a clock that was wrong, or under the
// other one, waits no longer than its interval.
func (b *batch) Restarted(now time.Time) {
	if b.since.After(now) {
		b.since = now
	}
}

func (b *batch) Due() (time.Time, bool) {
	if b.rule.Interval <= 0 || len(b.items) == 0 {
		return time.Time{}, false
	}
	return b.since.Add(b.rule.Interval), true
}

// LastDue implements [fold.Lasting].
func (b *batch) LastDue(time.Time) (time.Time, bool) { return b.Due() }

func (b *batch) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return b.End(out) }

func (b *batch) End(out []boundary.Boundary) []boundary.Boundary {
	n := len(b.items)
	if n == 0 {
		return out
	}
	out = append(out, boundary.Boundary{
		Value: boundary.List(b.items[:n:n]),
		First: b.first, Last: b.last, At: b.at, Events: int64(n), Size: int(b.bytes), Links: b.links,
	})
	b.batchOpen = batchOpen{}
	return out
}

func (b *batch) Open() int64 { return int64(len(b.items)) }

func (b *batch) State() fold.State {
	open := b.batchOpen
	open.items = open.items[:len(open.items):len(open.items)]
	return &open
}

func (b *batch) Resume(s fold.State) { b.batchOpen = *s.(*batchOpen) }

// AppendBinary implements [fold.State].
func (o *batchOpen) AppendBinary(dst []byte) []byte {
	dst = append(dst, batchState...)
	dst = o.first.AppendBinary(dst)
	dst = o.last.AppendBinary(dst)
	dst = fold.AppendTime(dst, o.since)
	dst = fold.AppendTime(dst, o.at)
	dst = binary.AppendVarint(dst, o.bytes)
	return fold.AppendValues(dst, o.items)
}

func (b *batch) Decode(data []byte) (fold.State, error) {
	if len(data) == 0 {
		return &batchOpen{}, nil
	}
	r := fold.Read(data, batchState)
	o := &batchOpen{first: r.Position(), last: r.Position(), since: r.Time(), at: r.Time()}
	o.bytes = r.Varint()
	o.items = r.Values()
	return o, r.Done()
}

// Weight implements [fold.Weighed]: the list has room to grow.
func (o *batchOpen) Weight() int64 { return o.bytes + o.bytes/8 + int64(len(o.items))*4 }
