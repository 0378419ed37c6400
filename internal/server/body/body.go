// Package body reads the bodies of requests, within the limit of one and of all. Start at [Reader].
package body

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// firstRead is how much room a body gets before anything of it has come: a
// client that only announces a large body costs no more than this.
const firstRead = 64 << 10

// Reader reads bodies. Max bounds one, MaxAll those that are read at one time, in bytes, of which one who sends them
// has half at most, and a tenant three quarters. Safe for concurrent use.
type Reader struct {
	Max, MaxAll int64

	mu   sync.Mutex
	used int64
	each map[sender]int64 // by tenant and who sends them, and by tenant
}

// sender is who sends a body. who is "" where nobody vouches for it, and counts for the tenant alone.
type sender struct{ tenant, who string }

const (
	// mostAll is the room for all bodies where there is no limit of memory, and memoryShare the part of that limit
	// otherwise, one in so many: with what is made of them, and the garbage of it, bodies take several times as much.
	mostAll     = 256 << 20
	memoryShare = 16
)

// Room is how much there is for all bodies within the process's limit of memory where each may have so much: two of
// them at least.
func Room(each int64) int64 { return room(debug.SetMemoryLimit(-1), each) }

func room(memory, each int64) int64 { return max(min(mostAll, memory/memoryShare), 2*(each+1)) }

// Used is how many bytes of large bodies are in memory now.
func (all *Reader) Used() int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.used
}

// take reserves n bytes more of one who sends, and says whether they were to be had.
func (all *Reader) take(by sender, n int64) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	tenant := sender{tenant: by.tenant}
	if all.used+n > all.MaxAll || all.each[tenant]+n > max(all.MaxAll/4*3, all.Max+1) ||
		by != tenant && all.each[by]+n > max(all.MaxAll/2, all.Max+1) {
		return false
	}
	all.add(by, n)
	return true
}

// fits says whether n bytes are to be had now.
func (all *Reader) fits(by sender, n int64) bool {
	if !all.take(by, n) {
		return false
	}
	all.give(by, n)
	return true
}

// add counts n bytes more. all.mu is held.
func (all *Reader) add(by sender, n int64) {
	all.used += n
	if all.each == nil {
		all.each = map[sender]int64{}
	}
	for _, s := range []sender{{tenant: by.tenant}, by} {
		if all.each[s] += n; all.each[s] == 0 {
			delete(all.each, s)
		}
		if by.who == "" {
			return // which is the tenant
		}
	}
}

func (all *Reader) give(by sender, n int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.add(by, -n)
}

// Body is a request body in memory.
type Body struct {
	Data     []byte
	of       *Reader
	by       sender
	reserved int64 // of the budget for all bodies
}

// Free gives the body's share of the budget back.
func (b *Body) Free() {
	if b.reserved > 0 {
		b.of.give(b.by, b.reserved)
		b.reserved = 0
	}
}

// reserve takes n more bytes of the budget for all bodies. The first 64 KiB are
// free, so that small requests pay nothing for it.
func (b *Body) reserve(n int64) error {
	if !b.of.take(b.by, n) {
		return busy()
	}
	b.reserved += n
	return nil
}

func busy() *api.Error {
	return wire.Refuse(http.StatusServiceUnavailable, api.CodeBusy,
		"too many large requests are being read; try again, or send smaller ones")
}

// TooLarge refuses a body of more than limit bytes.
func TooLarge(limit int64) *api.Error {
	return wire.Refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
		fmt.Sprintf("the body is larger than %d bytes: send it in parts", limit))
}

// Read reads the whole body of a request, decompressed. The caller frees it.
func (all *Reader) Read(w http.ResponseWriter, r *http.Request, by *access.Principal) (Body, error) {
	b := Body{of: all, by: sender{by.Tenant, by.Holder()}}
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
	if r.ContentLength > firstRead && !all.fits(b.by, r.ContentLength) {
		w.Header().Set("Connection", "close") // likewise; what it announces is not kept for it, for it may never come
		return b, busy()
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
