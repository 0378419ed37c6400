package file

import (
	"bytes"
	"errors"
	"io"
)

const (
	// blockSize is how much is read at once: large enough that system calls cost little per event.
	blockSize = 256 << 10
	// prefixSize is how much is kept of a record that is too large, to recognise it by.
	prefixSize = 4 << 10
)

// errMore says that no complete record is there now.
var errMore = errors.New("no complete record yet")

// frame is one record of a stream.
type frame struct {
	data []byte // without the line ending; valid until the next call
	size int64  // the record's whole length without the line ending
	end  int64  // the offset after the record
	// over says that the record is larger than the limit; data is its beginning.
	over bool
	// quotes says that the record has a quote in it (CSV).
	quotes bool
}

// framer cuts a stream into records. Memory is bounded by the limit on a record.
type framer struct {
	src   io.Reader
	limit int
	block int                 // the usual size of buf
	find  func(f *framer) int // the index of the line feed that ends the record at r, -1 when not in buf[r:w]

	buf    []byte
	r, w   int   // buf[r:w] is read and not consumed
	seen   int   // buf[r:seen] has been searched
	offset int64 // of buf[r] in the stream

	before  func() // called before more is read; may be nil
	started bool   // past where a byte order mark can be
	dropped int64  // bytes of the record at r that were let go because it is too large
	prefix  []byte // its beginning
	csv     csvScan
}

// byteOrderMark may stand at the beginning of a file, and means nothing in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

func newFramer(src io.Reader, csv bool, limit int, offset int64) *framer {
	f := &framer{
		src: src, limit: limit, block: blockSize, find: findLine, offset: offset, started: offset > 0,
		buf: make([]byte, blockSize),
	}
	if csv {
		f.find = findRecord
	}
	return f
}

// findLine finds the end of a line.
func findLine(f *framer) int {
	i := bytes.IndexByte(f.buf[f.seen:f.w], '\n')
	if i < 0 {
		f.seen = f.w
		return -1
	}
	return f.seen + i
}

// next cuts the next record. It is errMore when the stream has none now, and io.EOF
// when it ended; with final, what is left at the end is a record.
func (f *framer) next(final bool) (frame, error) {
	for {
		if f.started = f.started || f.skipMark(); f.started && f.seen < f.w {
			if i := f.find(f); i >= 0 {
				return f.cut(i, i+1), nil
			}
		}
		// One more than the limit may be a carriage return.
		if n := f.w - f.r; n > f.limit+1 || f.dropped > 0 && n > 1 {
			f.drop()
		}
		n, err := f.fill()
		if n > 0 {
			continue
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return frame{}, err
		case final && !f.started:
			f.started = true
			continue
		case final && (f.w > f.r || f.dropped > 0):
			return f.cut(f.w, f.w), nil
		case final:
			return frame{}, io.EOF
		}
		return frame{}, errMore
	}
}

// cut takes the record that ends at i; the next begins at after.
func (f *framer) cut(i, after int) frame {
	data := f.buf[f.r:i]
	fr := frame{quotes: f.csv.quotes}
	if n := len(data); n > 0 && data[n-1] == '\r' {
		data = data[:n-1]
	}
	fr.data, fr.size = data, int64(len(data))
	if f.dropped > 0 {
		fr.over, fr.size = true, f.dropped+int64(len(data))
		fr.data = f.keepPrefix(data)
	} else if len(data) > f.limit {
		fr.over = true
		fr.data = data[:min(len(data), prefixSize)]
	}
	f.offset += f.dropped + int64(after-f.r)
	fr.end = f.offset
	f.r, f.seen = after, after
	f.dropped, f.prefix, f.csv = 0, nil, csvScan{}
	return fr
}

// skipMark skips a byte order mark, and is false while it cannot be told from the text.
func (f *framer) skipMark() bool {
	have := string(f.buf[f.r:min(f.w, f.r+len(byteOrderMark))])
	if have == byteOrderMark {
		f.r += len(byteOrderMark)
		f.seen = f.r
		f.offset += int64(len(byteOrderMark))
		return true
	}
	return have != byteOrderMark[:len(have)]
}

// drop lets go of the record at r but for its beginning: it is too large.
func (f *framer) drop() {
	// A carriage return at the very end may belong to the line ending: it stays.
	end := f.w
	if f.buf[end-1] == '\r' {
		end--
	}
	f.keepPrefix(f.buf[f.r:end])
	f.dropped += int64(end - f.r)
	f.r = end
}

// keepPrefix adds data to the kept beginning, as far as there is room.
func (f *framer) keepPrefix(data []byte) []byte {
	if room := prefixSize - len(f.prefix); room > 0 {
		f.prefix = append(f.prefix, data[:min(room, len(data))]...)
	}
	return f.prefix
}

// fill reads more, making room first.
func (f *framer) fill() (int, error) {
	if f.r == f.w {
		f.r, f.seen, f.w = 0, 0, 0
		if len(f.buf) > f.block { // it had to grow for one record
			f.buf = make([]byte, f.block)
		}
	}
	if f.w == len(f.buf) {
		switch {
		case f.r > 0:
			copy(f.buf, f.buf[f.r:f.w])
			f.w, f.seen, f.r = f.w-f.r, f.seen-f.r, 0
		default:
			// A record longer than the buffer, and within the limit: drop has seen to that.
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
	if f.before != nil {
		f.before()
	}
	n, err := f.src.Read(f.buf[f.w:])
	f.w += n
	return n, err
}

// read is how far the stream has been read.
func (f *framer) read() int64 { return f.offset + f.dropped + int64(f.w-f.r) }
