package server

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// firstRead is how much room a body gets before anything of it has come: a
// client that only announces a large body costs no more than this.
const firstRead = 64 << 10

// body is a request body in memory, within the limit of one and of all.
type body struct {
	data     []byte
	s        *Server
	reserved int64 // of the budget for all bodies
}

// free gives the body's share of the budget back.
func (b *body) free() {
	if b.reserved > 0 {
		b.s.bodyBytes.Add(-b.reserved)
		b.reserved = 0
	}
}

// reserve takes n more bytes of the budget for all bodies. The first 64 KiB are
// free, so that small requests pay nothing for it.
func (b *body) reserve(n int64) error {
	if b.s.bodyBytes.Add(n) > b.s.cfg.MaxBodies {
		b.s.bodyBytes.Add(-n)
		return wire.Refuse(http.StatusServiceUnavailable, api.CodeBusy,
			"too many large requests are being read; try again")
	}
	b.reserved += n
	return nil
}

func bodyTooLarge(limit int64) *api.Error {
	return wire.Refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
		fmt.Sprintf("the body is larger than %d bytes: send it in parts", limit))
}

// readBody reads the whole request body, decompressed. The caller frees it.
func (s *Server) readBody(w http.ResponseWriter, r *request) (body, error) {
	b := body{s: s}
	if r.ContentLength == 0 {
		return b, nil
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" && r.ContentLength > s.cfg.MaxBody {
		w.Header().Set("Connection", "close") // not worth reading to the end
		return b, bodyTooLarge(s.cfg.MaxBody)
	}
	if encoding == "" && r.ContentLength > 0 && r.ContentLength <= firstRead {
		b.data = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, b.data); err != nil {
			return b, incomplete(err)
		}
		return b, nil
	}
	zipped := false
	var src io.Reader = http.MaxBytesReader(w, r.Body, s.cfg.MaxBody)
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
		b.data = nil
		b.free()
		return b, err
	}
	return b, nil
}

// readAll reads src to its end, growing as bytes come.
func (b *body) readAll(src io.Reader, announced int64, zipped bool) error {
	room := int64(firstRead)
	if announced > 0 {
		room = min(room, announced+1)
	}
	b.data = make([]byte, 0, room)
	for {
		if len(b.data) == cap(b.data) {
			grown := min(2*int64(cap(b.data)), b.s.cfg.MaxBody+1)
			if err := b.reserve(grown - b.reserved); err != nil {
				return err
			}
			b.data = append(make([]byte, 0, grown), b.data...)
		}
		n, err := src.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if int64(len(b.data)) > b.s.cfg.MaxBody {
			return bodyTooLarge(b.s.cfg.MaxBody)
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
		return bodyTooLarge(tooLarge.Limit)
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
