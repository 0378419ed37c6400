package kafka

import (
	"errors"
	"io"

	"github.com/graphd/graphd/internal/kafkanet/inflate"
)

// window is a sliding view of a batch's records: those of a compressed batch are
// decompressed as it moves on. After an error everything reads as zero.
type window struct {
	buf []byte
	at  int       // what is before has been read
	src io.Reader // nil when all is in buf
	// limit is how many bytes may still be read of the batch, buf included.
	limit int
	err   error
}

// step is how much is decompressed at a time, where a record needs no more.
const step = 64 << 10

// need makes n bytes there to be read.
func (w *window) need(n int) bool {
	for w.err == nil && len(w.buf)-w.at < n {
		w.fill(n)
	}
	return w.err == nil
}

func (w *window) fill(n int) {
	if w.src == nil {
		w.err = inflate.ErrShort
		return
	}
	if w.limit <= 0 {
		w.err = inflate.ErrTooMuch
		return
	}
	rest := copy(w.buf, w.buf[w.at:])
	w.buf, w.at = w.buf[:rest], 0
	if cap(w.buf) < max(n, step) {
		w.buf = append(make([]byte, 0, max(n, step)), w.buf...)
	}
	got, err := w.src.Read(w.buf[rest:min(cap(w.buf), rest+w.limit)])
	w.buf = w.buf[:rest+got]
	w.limit -= got
	if got == 0 && err != nil {
		w.err = err
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			w.err = inflate.ErrShort
		}
	}
}

// varint reads a zigzag number.
func (w *window) varint() int64 {
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if !w.need(1) {
			return 0
		}
		c := w.buf[w.at]
		w.at++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	w.err = errors.New("a number in the batch is too long")
	return 0
}

// take reads n bytes. They are valid until the next call.
func (w *window) take(n int) []byte {
	if n <= 0 || !w.need(n) {
		return nil
	}
	w.at += n
	return w.buf[w.at-n : w.at]
}

// skip leaves n bytes out, without ever holding them.
func (w *window) skip(n int64) {
	for n > 0 && w.need(1) {
		here := min(n, int64(len(w.buf)-w.at))
		w.at += int(here)
		n -= here
	}
}
