package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet/inflate"
	"github.com/graphd/graphd/internal/kafkanet/room"
)

// Batches that are handed over are bounded in events and bytes: large enough that one
// costs little per event, small enough to stay in the processor's cache.
const (
	handoffEvents = 256
	handoffBytes  = 64 << 10
)

// headerRoom is what a record may take beside its value: key and headers.
const headerRoom = 64 << 10

// keptBytes is how much of what is too large a dead letter shows.
const keptBytes = 4 << 10

// events makes events of the records of one partition, and hands them over.
type events struct {
	cfg    *Config
	out    accumulator.Out
	topic  string
	id     int32
	stream string // with its generation
	one    bool   // no more than the first that is wanted is
	from   int64  // records before are not wanted: a batch may begin earlier

	list  []boundary.Event
	room  *room.Room
	many  int // as many records there may be; 0 where that is not known
	bytes int
	buf   []byte // of the window, reused
	now   time.Time
	last  witness // the record that was read last
}

// record is one record as it is read. The slices are valid until the next is read.
type record struct {
	offset int64
	at     time.Time
	millis int64 // the same, as the broker has it
	key    []byte
	value  []byte
	null   bool // there is no value: a tombstone
	size   int64
	// headers is nil when there are none.
	headers map[string]string
}

// batch hands over the records of one batch.
func (e *events) batch(ctx context.Context, b *batch) error {
	e.now = time.Now()
	if b.body == nil {
		return e.tooLarge(ctx, b, b.base, nil, fmt.Sprintf("the batch of %d records has %d bytes", b.count, b.size))
	}
	if err := b.check(); err != nil {
		return err
	}
	w := &window{buf: b.body, limit: e.cfg.MaxBatchBytes}
	if b.attributes&compressionBits != 0 {
		src, closer, err := inflate.New(b.attributes&compressionBits, b.body, e.cfg.MaxBatchBytes)
		if err != nil {
			return fmt.Errorf("decompress the batch at offset %d: %w", b.base, err)
		}
		defer closer()
		w.src, w.buf = src, e.buf[:0]
		defer func() {
			if cap(w.buf) <= 4*step {
				e.buf = w.buf
			}
		}()
	}
	next := b.base
	for range b.count {
		r, bad := e.read(w, b)
		if errors.Is(w.err, inflate.ErrTooMuch) {
			return e.tooLarge(ctx, b, next, w.buf[:min(len(w.buf), keptBytes)],
				fmt.Sprintf("the batch decompresses to more than %d bytes; its records from offset %d on are left out",
					e.cfg.MaxBatchBytes, next))
		}
		if w.err != nil {
			return fmt.Errorf("read the batch at offset %d of %s: %w", b.base, e.stream, w.err)
		}
		next = r.offset + 1
		e.last = witness{known: true, offset: r.offset, epoch: b.epoch, millis: r.millis}
		if r.offset < e.from {
			continue
		}
		if err := e.add(ctx, &r, bad); err != nil || e.one {
			return err
		}
	}
	return nil
}

// tooLarge refuses what is left of a batch, from an offset on, as one event.
func (e *events) tooLarge(ctx context.Context, b *batch, from int64, head []byte, text string) error {
	if b.last < e.from {
		return nil
	}
	if err := e.flush(ctx); err != nil {
		return err
	}
	ev := boundary.Event{Raw: append([]byte{}, head...), Pos: e.position(b.last), At: e.now, Meta: &boundary.Meta{
		Topic: e.topic, Partition: e.id, Offset: from, Timestamp: timeOf(b.millis(0)),
	}}
	return e.out.Refuse(ctx, ev, &accumulator.BadEvent{Stage: "size", Code: "batch_too_large", Text: text})
}

// position is the one just after a record.
func (e *events) position(offset int64) boundary.Position {
	return boundary.Position{Stream: e.stream, Offset: offset + 1}
}

// read reads one record. One that is too large is bad, and its value the beginning of it.
func (e *events) read(w *window, b *batch) (r record, bad *accumulator.BadEvent) {
	size := w.varint()
	if w.err == nil && size < 0 {
		w.err = inflate.ErrShort
	}
	if size > int64(e.cfg.MaxEventBytes+headerRoom) {
		return e.readHead(w, b, size)
	}
	if size > 0 && !w.need(int(size)) {
		return r, nil
	}
	end := w.at + int(size)
	e.readKey(w, b, &r)
	n := w.varint()
	r.size, r.null = n, n < 0
	r.value = inside(w, end, n)
	count := w.varint()
	if w.err == nil && count > size {
		w.err = inflate.ErrShort
	}
	for i := int64(0); i < count && w.err == nil; i++ {
		if r.headers == nil {
			r.headers = make(map[string]string, min(count, 16))
		}
		name := text(inside(w, end, w.varint()))
		r.headers[name] = text(inside(w, end, w.varint()))
	}
	if w.err == nil && w.at != end {
		w.err = inflate.ErrShort
	}
	if n > int64(e.cfg.MaxEventBytes) {
		r.value = r.value[:min(len(r.value), keptBytes)]
		return r, e.oversize(n)
	}
	return r, nil
}

// readKey reads a record up to its value.
func (e *events) readKey(w *window, b *batch, r *record) {
	w.skip(1) // attributes: none are defined
	r.millis = b.millis(w.varint())
	r.at = timeOf(r.millis)
	r.offset = b.base + w.varint()
	n := w.varint()
	if w.err == nil && n > int64(len(w.buf)-w.at) {
		w.err = inflate.ErrShort
		return
	}
	r.key = w.take(int(max(n, 0)))
}

// inside reads n bytes of a record that ends at end.
func inside(w *window, end int, n int64) []byte {
	if n > int64(end-w.at) {
		w.err = inflate.ErrShort
		return nil
	}
	return w.take(int(max(n, 0)))
}

// readHead reads the beginning of a record that is too large to be held.
func (e *events) readHead(w *window, b *batch, size int64) (r record, bad *accumulator.BadEvent) {
	const head = headerRoom + keptBytes // the limit of an event is more
	if !w.need(int(min(size, head))) {
		return r, nil
	}
	begin := w.at
	e.readKey(w, b, &r)
	if errors.Is(w.err, inflate.ErrShort) && w.src != nil {
		// The key alone is larger than what is held.
		w.err, r.size = nil, size
		w.skip(size - int64(w.at-begin))
		return r, e.oversize(size)
	}
	if w.err != nil {
		return r, nil
	}
	r.size = w.varint()
	kept := w.take(int(min(keptBytes, int64(len(w.buf)-w.at), r.size)))
	r.value = append([]byte{}, kept...) // moving on overwrites it
	r.key = append([]byte{}, r.key...)
	w.skip(size - int64(w.at-begin))
	return r, e.oversize(max(r.size, size-headerRoom))
}

func (e *events) oversize(n int64) *accumulator.BadEvent {
	return &accumulator.BadEvent{
		Stage: "size", Code: "too_large", Text: fmt.Sprintf("the event has %d bytes, the limit is %d", n,
			e.cfg.MaxEventBytes),
	}
}

// add takes one record in.
func (e *events) add(ctx context.Context, r *record, bad *accumulator.BadEvent) error {
	if bad == nil && e.cfg.Format == "raw" && !utf8.Valid(r.value) {
		bad = &accumulator.BadEvent{
			Stage: "decode", Code: "invalid_utf8", Text: "the value is not UTF-8; a raw event is text",
		}
	}
	if bad != nil {
		if err := e.flush(ctx); err != nil {
			return err
		}
		ev := boundary.Event{Raw: append([]byte{}, r.value...), Pos: e.position(r.offset), At: e.now, Meta: e.meta(r)}
		return e.out.Refuse(ctx, ev, bad)
	}
	if len(e.list) > 0 && (len(e.list) == handoffEvents || e.bytes+len(r.value) > handoffBytes) {
		if err := e.flush(ctx); err != nil {
			return err
		}
	}
	if e.list == nil {
		n := handoffEvents
		if e.many > 0 {
			n = min(n, e.many)
		}
		e.list = accumulator.NewBatch(e.out, n)
	}
	raw := e.raw(r)
	e.bytes += len(raw)
	e.list = append(e.list, boundary.Event{Raw: raw, Pos: e.position(r.offset), At: e.now, Meta: e.meta(r),
		Links: e.cfg.Traced.From(r.headers)})
	return nil
}

// raw is the event's JSON, in memory of its own: that of the record will be read over. A
// tombstone is null.
func (e *events) raw(r *record) []byte {
	value := r.value
	switch {
	case r.null:
		return []byte("null")
	case e.cfg.Format == "raw":
		return boundary.String(string(value)).AppendJSON(nil)
	}
	return e.room.Value(value)
}

// meta is what expressions read as `meta`.
func (e *events) meta(r *record) *boundary.Meta {
	return e.room.Meta(boundary.Meta{
		Key: text(r.key), Headers: r.headers, Topic: e.topic, Partition: e.id, Offset: r.offset, Timestamp: r.at,
	})
}

// text is what a key or header says; bytes that are not UTF-8 are shown as U+FFFD.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// flush hands over what there is.
func (e *events) flush(ctx context.Context) error {
	if len(e.list) == 0 {
		return nil
	}
	list := e.list
	e.list, e.bytes = nil, 0
	return e.out.Emit(ctx, list)
}
