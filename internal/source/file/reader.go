package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

const (
	// chunkSize is how much memory events are cut from at a time: it makes the cost of
	// allocating them small, and one kept event holds on to no more than this.
	chunkSize = 4 << 10
	// ownSize is from where on an event has memory of its own.
	ownSize = chunkSize / 4
)

// ReaderConfig says how to read a stream.
type ReaderConfig struct {
	Format        string // "ndjson" or "csv"
	MaxEventBytes int    // a larger record is refused; 0: the accumulator's default
	Schema        any    // a JSON Schema that names the types of CSV columns; may be nil
}

func (c *ReaderConfig) check() error {
	if c.Format != "ndjson" && c.Format != "csv" {
		return fmt.Errorf("format %q is not known: write ndjson or csv", c.Format)
	}
	return nil
}

// Reader cuts a stream into events. It belongs to one goroutine.
type Reader struct {
	f       *framer
	columns *columns // nil for NDJSON
	stream  string   // of the positions
	chunk   []byte
	scratch []byte
	line    int64 // of the last record
	below   int64 // the lines of that record
}

// NewReader reads events from src, whose first byte has offset 0.
func NewReader(src io.Reader, cfg ReaderConfig) (*Reader, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newReader(src, cfg, 0, newColumns(cfg.Schema)), nil
}

func newReader(src io.Reader, cfg ReaderConfig, offset int64, c *columns) *Reader {
	limit := cfg.MaxEventBytes
	if limit <= 0 {
		limit = accumulator.DefaultMaxEventBytes
	}
	csv := cfg.Format == "csv"
	if !csv {
		c = nil
	}
	return &Reader{f: newFramer(src, csv, limit, offset), columns: c}
}

// Next makes *ev the next event; its time of arrival is the caller's to set. The error is
// io.EOF at the end. A *[accumulator.BadEvent] says that this record cannot be an event: it comes
// with the event's bytes and position, and reading goes on with the next call. Every
// other error is final.
func (r *Reader) Next(ev *boundary.Event) error {
	*ev = boundary.Event{}
	return r.next(ev, true)
}

// next is Next into ev, which is zero; without final a partial record at the end is not an
// event yet, and there being no more is errMore.
func (r *Reader) next(ev *boundary.Event, final bool) error {
	if r.columns == nil && r.wholeLine(ev) {
		return nil
	}
	for {
		fr, err := r.f.next(final)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, errMore) {
				err = fmt.Errorf("read after byte %d: %w", r.f.offset, err)
			}
			return err
		}
		r.count(fr)
		if r.columns != nil && r.columns.heads == nil {
			if err := r.columns.header(fr); err != nil {
				return err
			}
			continue
		}
		if !fr.over && isBlank(fr.data, r.columns != nil) {
			continue
		}
		return r.event(ev, fr)
	}
}

// wholeLine is next for what nearly all records of NDJSON are: a line that is here whole, with nothing about it. It is
// false, and has consumed nothing, for every other.
func (r *Reader) wholeLine(ev *boundary.Event) bool {
	f := r.f
	if !f.started || f.dropped > 0 || f.seen != f.r {
		return false
	}
	n := bytes.IndexByte(f.buf[f.r:f.w], '\n')
	if n <= 0 || n > ownSize || n > f.limit {
		return false
	}
	data := f.buf[f.r : f.r+n]
	if data[0] <= ' ' || data[n-1] == '\r' {
		return false
	}
	f.r += n + 1
	f.seen = f.r
	f.offset += int64(n) + 1
	r.line += max(r.below, 1)
	r.below = 1
	ev.Pos.Stream, ev.Pos.Offset = r.stream, f.offset
	ev.Raw = r.keep(data)
	return true
}

// count keeps the line. Only records of CSV have line feeds within; one that is too large is
// taken for a line.
func (r *Reader) count(fr frame) {
	r.line += max(r.below, 1)
	r.below = 1
	if fr.quotes {
		r.below += int64(bytes.Count(fr.data, []byte{'\n'}))
	}
}

// isBlank reports whether a record is no event: an empty line, and in NDJSON white space too.
func isBlank(data []byte, csv bool) bool {
	if csv {
		return len(data) == 0
	}
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// event makes an event of a record.
func (r *Reader) event(ev *boundary.Event, fr frame) error {
	ev.Pos.Stream, ev.Pos.Offset = r.stream, fr.end
	if fr.over {
		ev.Raw = append([]byte(nil), fr.data...)
		return &accumulator.BadEvent{
			Stage: "size", Code: "too_large",
			Text: fmt.Sprintf("the record has %d bytes, the limit is %d; its beginning is kept", fr.size, r.f.limit),
		}
	}
	if r.columns == nil {
		ev.Raw = r.keep(fr.data)
		return nil
	}
	var bad *accumulator.BadEvent
	r.scratch, bad = r.columns.object(r.scratch[:0], fr)
	if bad != nil {
		ev.Raw = r.keep(fr.data)
		return bad
	}
	ev.Raw = r.keep(r.scratch)
	return nil
}

// keep copies b into memory that is the event's.
func (r *Reader) keep(b []byte) []byte {
	n := len(b)
	if n > ownSize {
		return append(make([]byte, 0, n), b...)
	}
	if n > cap(r.chunk)-len(r.chunk) {
		r.chunk = make([]byte, 0, chunkSize)
	}
	from := len(r.chunk)
	r.chunk = append(r.chunk, b...)
	return r.chunk[from:len(r.chunk):len(r.chunk)]
}

// skipHeader reads the names of the columns and nothing else.
func (r *Reader) skipHeader() error {
	for r.columns.heads == nil {
		fr, err := r.f.next(true)
		if err != nil {
			return fmt.Errorf("read the header: %w", err)
		}
		if err := r.columns.header(fr); err != nil {
			return err
		}
	}
	return nil
}

// BeforeRead has f called whenever more of the stream is read, which may have to be waited for.
func (r *Reader) BeforeRead(f func()) { r.f.before = f }

// Line is the line on which the event that Next gave last begins, from 1.
func (r *Reader) Line() int64 { return r.line }
