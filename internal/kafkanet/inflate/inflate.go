// Package inflate decompresses the record batches of Kafka, piece by piece and within bounds.
package inflate

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

// ErrTooMuch says that a batch decompresses to more than is allowed.
var ErrTooMuch = errors.New("the batch decompresses to more than the limit")

// ErrShort says that a batch ends within a record.
var ErrShort = errors.New("the batch ends within a record")

// zstdWindow bounds what a zstd decoder may hold: four times what encoders use by default.
const zstdWindow = 32 << 20

// New reads the records of a batch that are compressed in body, as its attributes say by a code, and gives no block of
// more than limit bytes. closer is called when they have been read.
func New(code int16, body []byte, limit int) (src io.Reader, closer func(), err error) {
	raw := bytes.NewReader(body)
	nothing := func() {}
	switch code {
	case 1:
		z, err := gzip.NewReader(raw)
		return z, nothing, err
	case 2:
		return &snappyReader{rest: body, limit: limit}, nothing, nil
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
			return ErrShort
		}
		size := int64(binary.BigEndian.Uint32(block))
		if size > int64(len(block)-4) {
			return ErrShort
		}
		block, r.rest = block[4:4+size], block[4+size:]
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if n > r.limit {
		return ErrTooMuch
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.out, err = snappy.Decode(r.buf[:cap(r.buf)], block)
	return err
}
