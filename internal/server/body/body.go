// Package body reads the bodies of requests, within the limit of one and of all. Start at [Reader].
package body

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// firstRead is how much room a body gets before anything of it has come: a
// client that only announces a large body costs no more than this.
const firstRead = 64 << 10

// Reader reads bodies. Max bounds one, MaxAll those that are read at one time, in bytes, of which one who sends them
// has half at most. Safe for concurrent use.
type Reader struct {
	Max, MaxAll int64

	mu   sync.Mutex
	used int64
	each map[string]int64 // by who sends them
}

// Used is how many bytes of large bodies are in memory now.
func (all *Reader) Used() int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.used
}

// take reserves n bytes more of one who sends, and says whether they were to be had.
func (all *Reader) take(whose string, n int64) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.used+n > all.MaxAll || whose != "" && all.each[whose]+n > max(all.MaxAll/2, all.Max+1) {
		return false
	}
	all.used += n
	if whose == "" {
		return true
	}
	if all.each == nil {
		all.each = map[string]int64{}
	}
	all.each[whose] += n
	return true
}

func (all *Reader) give(whose string, n int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.used -= n
	if whose == "" {
		return
	}
	if all.each[whose] -= n; all.each[whose] == 0 {
		delete(all.each, whose)
	}
}

// Body is a request body in memory.
type Body struct {
	Data     []byte
	of       *Reader
	whose    string
	reserved int64 // of the budget for all bodies
}

// Free gives the body's share of the budget back.
func (b *Body) Free() {
	if b.reserved > 0 {
		b.of.give(b.whose, b.reserved)
		b.reserved = 0
	}
}

// reserve takes n more bytes of the budget for all bodies. The first 64 KiB are
// free, so that small requests pay nothing for it.
func (b *Body) reserve(n int64) error {
	if !b.of.take(b.whose, n) {
		return wire.Refuse(http.StatusServiceUnavailable, api.CodeBusy,
			"too many large requests are being read; try again")
	}
	b.reserved += n
	return nil
}

// TooLarge refuses a body of more than limit bytes.
func TooLarge(limit int64) *api.Error {
	return wire.Refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
		fmt.Sprintf("the body is larger than %d bytes: send it in parts", limit))
}

// Read reads the whole body of a request, decompressed; whose says who sends it, "" for nobody. The caller frees it.
func (all *Reader) Read(w http.ResponseWriter, r *http.Request, whose string) (Body, error) {
	b := Body{of: all, whose: whose}
	if r.ContentLength == 0 {
		return b, nil
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" && r.ContentLength > all.Max {
		w.Header().Set("Connection", "close") // not worth reading to the end
		return b, TooLarge(all.Max)
	}
	if encoding == "" && r.ContentLength > 0 && r.ContentLength <= firstRead {
		b.Data = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, b.Data); err != nil {
			return b, incomplete(err)
		}
		return b, nil
	}
	zipped := false
	var src io.Reader = http.MaxBytesReader(w, r.Body, all.Max)
	switch {
	case encoding == "" || strings.EqualFold(encoding, "identity"):
	case strings.EqualFold(encoding, "gzip"):
		zr, err := gzip.NewReader(src)
		if err != nil {
			return b, broken(err, true)
		}
		src, zipped = zr, true
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return b, wire.Refuse(http.StatusUnsupportedMediaType, api.CodeUnsupportedEncoding,
			fmt.Sprintf("Content-Encoding %q is not known: send gzip or none", wire.Clip(encoding)))
	}
	if err := b.readAll(src, r.ContentLength, zipped); err != nil {
		b.Data = nil
		b.Free()
		return b, err
	}
	return b, nil
}

// readAll reads src to its end, growing as bytes come.
func (b *Body) readAll(src io.Reader, announced int64, zipped bool) error {
	room := int64(firstRead)
	if announced > 0 {
		room = min(room, announced+1)
	}
	b.Data = make([]byte, 0, room)
	for {
		if len(b.Data) == cap(b.Data) {
			grown := min(2*int64(cap(b.Data)), b.of.Max+1)
			if err := b.reserve(grown - b.reserved); err != nil {
				return err
			}
			b.Data = append(make([]byte, 0, grown), b.Data...)
		}
		n, err := src.Read(b.Data[len(b.Data):cap(b.Data)])
		b.Data = b.Data[:len(b.Data)+n]
		if int64(len(b.Data)) > b.of.Max {
			return TooLarge(b.of.Max)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return broken(err, zipped)
		}
	}
}

// broken says what a body that could not be read to its end was.
func broken(err error, zipped bool) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge(tooLarge.Limit)
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		zipped && errors.Is(err, io.ErrUnexpectedEOF) {
		return wire.Refuse(http.StatusBadRequest, api.CodeInvalidEncoding, "the body is not whole gzip")
	}
	return incomplete(err)
}

// incomplete says that the client did not send what it announced.
func incomplete(err error) error {
	return wire.Refuse(http.StatusBadRequest, api.CodeIncompleteBody, "the body did not arrive whole: "+
		wire.Clip(err.Error()))
}
