package kafka

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
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

// errTooMuch says that a batch decompresses to more than is allowed.
var errTooMuch = errors.New("the batch decompresses to more than the limit")

// errShort says that a batch ends within a record.
var errShort = errors.New("the batch ends within a record")

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
		w.err = errShort
		return
	}
	if w.limit <= 0 {
		w.err = errTooMuch
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
			w.err = errShort
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

// zstdWindow bounds what a zstd decoder may hold: four times what encoders use by default.
const zstdWindow = 32 << 20

// decompressor reads the records of a batch. closer is called when they have been read.
func decompressor(b *batch, limit int) (src io.Reader, closer func(), err error) {
	raw := bytes.NewReader(b.body)
	nothing := func() {}
	switch code := b.attributes & compressionBits; code {
	case 1:
		z, err := gzip.NewReader(raw)
		return z, nothing, err
	case 2:
		return &snappyReader{rest: b.body, limit: limit}, nothing, nil
	case 3:
		return lz4.NewReader(raw), nothing, nil
	case 4:
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nothing, err
		}
		return z, z.Close, nil
	default:
		return nil, nothing, fmt.Errorf("compression %d is not known", code)
	}
}

// xerial begins what Java producers compress with snappy: blocks, each after its length.
const (
	xerial       = "\x82SNAPPY\x00"
	xerialHeader = 16
)

// snappyReader decompresses snappy, framed or one block. Blocks say how large they are,
// and are not believed beyond limit.
type snappyReader struct {
	rest   []byte // to be decompressed
	framed bool
	begun  bool
	limit  int
	out    []byte // decompressed, not read yet
	buf    []byte // reused
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

func (r *snappyReader) next() error {
	if !r.begun {
		r.begun = true
		if len(r.rest) >= xerialHeader && string(r.rest[:len(xerial)]) == xerial {
			r.framed, r.rest = true, r.rest[xerialHeader:]
		}
	}
	if len(r.rest) == 0 {
		return io.EOF
	}
	block := r.rest
	r.rest = nil
	if r.framed {
		if len(block) < 4 {
			return errShort
		}
		size := int64(binary.BigEndian.Uint32(block))
		if size > int64(len(block)-4) {
			return errShort
		}
		block, r.rest = block[4:4+size], block[4+size:]
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if n > r.limit {
		return errTooMuch
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.out, err = snappy.Decode(r.buf[:cap(r.buf)], block)
	return err
}
