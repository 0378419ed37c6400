package pane

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
)

// Snapshot is an immutable handle on a shelf: the pages are shared.
type Snapshot[T Shelved[T]] struct {
	pages []*shelfPage[T]
	n     int
}

// Snapshot is the shelf as it is. Who takes it begins a generation.
func (t *Shelf[T]) Snapshot() Snapshot[T] { return Snapshot[T]{pages: t.pages, n: t.n} }

// All goes through what is on the shelf.
func (h *Snapshot[T]) All(yield func(x T) bool) {
	var none T
	for _, pg := range h.pages {
		for _, x := range pg.all {
			if x != none && !yield(x) {
				return
			}
		}
	}
}

// AppendSize appends what has to be known before the pages.
func (h *Snapshot[T]) AppendSize(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.n))
	return binary.AppendUvarint(dst, uint64(len(h.pages)))
}

// AppendPages appends all pages, and with each one what is in it.
func (h *Snapshot[T]) AppendPages(dst []byte, one func(dst []byte, x T) []byte) []byte {
	for _, pg := range h.pages {
		dst = pg.append(dst, one)
	}
	return dst
}

// Parts are the pages that have anything.
func (h *Snapshot[T]) Parts(one func(dst []byte, x T) []byte) func(yield func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		for k, pg := range h.pages {
			if pg.len() > 0 && !yield(fold.Part{Name: strconv.Itoa(k), Same: pg,
				Append: func(dst []byte) []byte { return pg.append(dst, one) }}) {
				return
			}
		}
	}
}

func (pg *shelfPage[T]) len() (n int) {
	var none T
	for _, x := range pg.all {
		if x != none {
			n++
		}
	}
	return n
}

func (pg *shelfPage[T]) append(dst []byte, one func(dst []byte, x T) []byte) []byte {
	var none T
	dst = binary.AppendUvarint(dst, uint64(pg.len()))
	for _, x := range pg.all {
		if x != none {
			dst = one(dst, x)
		}
	}
	return dst
}

// ReadParts begins to read a state that has a head and pages: in one piece, which begins with the byte whole, or
// joined of parts, where the head begins with headed. The parts are nil where it is in one piece.
func ReadParts(data []byte, whole, headed, format byte) (r *fold.Reader, parts map[string][]byte, err error) {
	first := whole
	switch {
	case fold.IsJoined(data):
		if data, parts, err = fold.Split(data); err != nil {
			return nil, nil, err
		}
		first = headed
	case data[0] == headed: // nothing was there
		parts, first = map[string][]byte{}, headed
	}
	return fold.Read(data, string([]byte{first, format})), parts, nil
}

// Read reads a shelf of at most so many, behind its head.
func (h *Snapshot[T]) Read(r *fold.Reader, parts map[string][]byte, most int, one func(r *fold.Reader) T) error {
	n, pages := r.Uvarint(), r.Uvarint()
	if n > uint64(most) || pages > uint64(most)/PerPage+1 {
		r.Fail(fold.ErrForeign)
	}
	for k := 0; k < int(pages) && r.Err() == nil; k++ {
		page := r
		if parts != nil {
			part, kept := parts[strconv.Itoa(k)]
			if !kept {
				h.pages = append(h.pages, &shelfPage[T]{})
				continue
			}
			page = fold.NewReader(part)
		}
		h.readPage(page, one)
		if parts != nil {
			if err := page.Done(); err != nil {
				return fmt.Errorf("page %d of what is open: %w", k, err)
			}
		}
	}
	if r.Err() == nil && h.n != int(n) {
		r.Fail(fold.ErrForeign)
	}
	return r.Done()
}

func (h *Snapshot[T]) readPage(r *fold.Reader, one func(r *fold.Reader) T) {
	pg := &shelfPage[T]{}
	h.pages = append(h.pages, pg)
	n := r.Count()
	if n > PerPage {
		r.Fail(fold.ErrForeign)
	}
	for i := 0; i < int(n) && r.Err() == nil; i++ {
		pg.all[i] = one(r)
		h.n++
	}
}

// Weigh is about how many bytes all take: each so many beside its key and its cells, and what more says.
func (h *Snapshot[T]) Weigh(each int64, more func(x T) int64) int64 {
	var none T
	looked, bytes := 0, int64(0)
	for k := 0; k < len(h.pages) && looked < fold.Looks; k += 1 + len(h.pages)/fold.Looks {
		for _, x := range h.pages[k].all {
			if x != none {
				looked++
				g := x.Head()
				bytes += each + g.Key.Held(nil, nil) + aggregate.Weight(g.Cells) + more(x)
			}
		}
	}
	if looked == 0 {
		return int64(len(h.pages)) * PerPage * 16
	}
	return int64(float64(bytes) / float64(looked) * float64(h.n))
}
