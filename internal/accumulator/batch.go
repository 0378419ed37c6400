package accumulator

import (
	"encoding/binary"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// batch collects events and hands them over as one list: when so many are in, so long
// after the first, or when they have grown to the accumulator's capacity in bytes,
// which is what bounds a batch that has only an interval.
type batch struct {
	rule     spec.Batch
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
	at          time.Time // when the last one arrived
}

func (b *batch) add(now time.Time, in *input, out []boundary.Boundary) ([]boundary.Boundary, verdict) {
	v, ev := in.value, in.ev
	size := int64(v.Size())
	if len(b.items) == 0 {
		b.since, b.first = now, ev.Pos
	}
	b.items = append(b.items, v)
	b.bytes += size
	b.last, b.at = ev.Pos, arrival(now, ev)
	if b.rule.Size > 0 && len(b.items) >= b.rule.Size || b.bytes >= b.maxBytes {
		return b.end(out), verdictFolded
	}
	return out, verdictFolded
}

func (b *batch) due() (time.Time, bool) {
	if b.rule.Interval <= 0 || len(b.items) == 0 {
		return time.Time{}, false
	}
	return b.since.Add(b.rule.Interval), true
}

func (b *batch) tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return b.end(out) }

func (b *batch) end(out []boundary.Boundary) []boundary.Boundary {
	n := len(b.items)
	if n == 0 {
		return out
	}
	out = append(out, boundary.Boundary{
		Value: boundary.List(b.items[:n:n]),
		First: b.first, Last: b.last, At: b.at, Events: int64(n), Size: int(b.bytes),
	})
	b.batchOpen = batchOpen{}
	return out
}

func (b *batch) open() int64 { return int64(len(b.items)) }

func (b *batch) state() FoldState {
	open := b.batchOpen
	open.items = open.items[:len(open.items):len(open.items)]
	return &open
}

func (b *batch) resume(s FoldState) { b.batchOpen = *s.(*batchOpen) }

// AppendBinary implements [FoldState].
func (o *batchOpen) AppendBinary(dst []byte) []byte {
	dst = append(dst, batchState...)
	dst = o.first.AppendBinary(dst)
	dst = o.last.AppendBinary(dst)
	dst = appendTime(dst, o.since)
	dst = appendTime(dst, o.at)
	dst = binary.AppendVarint(dst, o.bytes)
	return appendValues(dst, o.items)
}

func (b *batch) decode(data []byte) (FoldState, error) {
	if len(data) == 0 {
		return &batchOpen{}, nil
	}
	r := readState(data, batchState)
	o := &batchOpen{first: r.position(), last: r.position(), since: r.time(), at: r.time()}
	o.bytes = r.varint()
	o.items = r.values()
	return o, r.done()
}
