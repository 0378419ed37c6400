package window

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
)

// The first byte of the state of sessions, and the format behind it; see [whole].
const (
	wholeSessions  = 'S'
	headedSessions = 's'

	sessionsFormat = 1
)

// sessionsHandle is an immutable handle on sessions: they are shared.
type sessionsHandle struct {
	p       *Program
	seed    maphash.Seed // of the hashes
	wm      watermark.Watermark
	earlyAt int64
	astray  bool
	owed    int64
	n       int
	pages   []*shelfPage
}

// State implements [fold.Keeper].
func (s *Sessions) State() fold.State {
	h := &sessionsHandle{p: s.p, seed: s.seed, wm: s.wm.Clone(), earlyAt: s.earlyAt, astray: s.astray, owed: s.owed,
		n: s.n, pages: s.pages}
	s.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
	return h
}

// Resume implements [fold.Keeper].
func (s *Sessions) Resume(state fold.State) {
	h := state.(*sessionsHandle)
	s.gen, s.seed = new(fold.Generation), h.seed
	s.wm.Resume(&h.wm)
	s.earlyAt, s.astray, s.owed = h.earlyAt, h.astray, h.owed
	s.failures.Take()
	s.adopt(h.pages)
	s.ends, s.gones = nil, nil
	for slot := range s.slots() {
		x := s.at(slot)
		q := &s.ends
		if x.closed {
			q = &s.gones
		}
		q.push(ending{x.end, slot})
	}
}

// AppendBinary implements [fold.State].
func (h *sessionsHandle) AppendBinary(dst []byte) []byte {
	dst = h.appendHead(append(dst, wholeSessions, sessionsFormat))
	for _, pg := range h.pages {
		dst = h.appendPage(dst, pg)
	}
	return dst
}

// AppendHead implements [fold.Parted].
func (h *sessionsHandle) AppendHead(dst []byte) []byte {
	return h.appendHead(append(dst, headedSessions, sessionsFormat))
}

func (h *sessionsHandle) appendHead(dst []byte) []byte {
	dst = h.wm.Append(dst)
	dst = binary.AppendVarint(dst, h.earlyAt)
	dst = binary.AppendUvarint(dst, uint64(h.n))
	return binary.AppendUvarint(dst, uint64(len(h.pages)))
}

// Parts implements [fold.Parted]: the pages that have sessions.
func (h *sessionsHandle) Parts() func(yield func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		for k, pg := range h.pages {
			if !slices.ContainsFunc(pg.sessions[:], func(x *session) bool { return x != nil }) {
				continue
			}
			if !yield(fold.Part{Name: strconv.Itoa(k), Same: pg,
				Append: func(dst []byte) []byte { return h.appendPage(dst, pg) }}) {
				return
			}
		}
	}
}

func (h *sessionsHandle) appendPage(dst []byte, pg *shelfPage) []byte {
	n := uint64(0)
	for _, x := range pg.sessions {
		if x != nil {
			n++
		}
	}
	dst = binary.AppendUvarint(dst, n)
	for _, x := range pg.sessions {
		if x == nil {
			continue
		}
		dst = binary.AppendVarint(dst, x.start)
		dst = binary.AppendVarint(dst, x.end)
		dst = append(dst, fold.BoolByte(x.handed)|fold.BoolByte(x.closed)<<1)
		dst = x.append(dst, h.p)
	}
	return dst
}

// Decode implements [fold.Keeper].
func (s *Sessions) Decode(data []byte) (fold.State, error) {
	h := &sessionsHandle{p: s.p, seed: s.seed, wm: watermark.New(s.p.Lateness, s.p.Idle), earlyAt: watermark.NoTime}
	if len(data) == 0 {
		return h, nil
	}
	parts := map[string][]byte(nil)
	if fold.IsJoined(data) {
		var err error
		if data, parts, err = fold.Split(data); err != nil {
			return nil, err
		}
	} else if data[0] == headedSessions {
		parts = map[string][]byte{} // there were none
	}
	head := []byte{wholeSessions, sessionsFormat}
	if parts != nil {
		head[0] = headedSessions
	}
	r := fold.Read(data, string(head))
	h.wm.Read(r, true)
	if h.earlyAt = r.Varint(); s.p.Early == 0 {
		h.earlyAt = watermark.NoTime
	}
	n, pages := r.Uvarint(), r.Uvarint()
	if n > MaxPanes || pages > MaxPanes/pagePanes+1 {
		r.Fail(fold.ErrForeign)
	}
	for k := 0; k < int(pages) && r.Err() == nil; k++ {
		page := r
		if parts != nil {
			part, kept := parts[strconv.Itoa(k)]
			if !kept {
				h.pages = append(h.pages, &shelfPage{})
				continue
			}
			page = fold.NewReader(part)
		}
		h.pages = append(h.pages, s.decodePage(page, h))
		if parts != nil {
			if err := page.Done(); err != nil {
				return nil, fmt.Errorf("page %d of the sessions: %w", k, err)
			}
		}
	}
	if r.Err() == nil && h.n != int(n) {
		r.Fail(fold.ErrForeign)
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return h, nil
}

func (s *Sessions) decodePage(r *fold.Reader, h *sessionsHandle) *shelfPage {
	pg := &shelfPage{}
	n := r.Count()
	if n > pagePanes {
		r.Fail(fold.ErrForeign)
	}
	for i := 0; i < int(n) && r.Err() == nil; i++ {
		x := &session{start: r.Varint(), end: r.Varint()}
		flags := r.Uvarint()
		x.handed, x.closed, x.pane = flags&1 != 0, flags&2 != 0, s.readPane(r)
		h.owed += x.owes
		h.n++
		pg.sessions[i] = x
	}
	return pg
}

// sessionBytes is about what a session takes beside its key and its cells: itself, its slot and what finds it.
const sessionBytes = 208 + 8 + 4 + 24 + 16

// Weight implements [fold.Weighed].
func (h *sessionsHandle) Weight() int64 {
	looked, bytes := 0, int64(0)
	for k := 0; k < len(h.pages) && looked < fold.Looks; k += 1 + len(h.pages)/fold.Looks {
		for _, x := range h.pages[k].sessions {
			if x != nil {
				looked++
				bytes += sessionBytes + x.key.Held(nil, nil) + aggregate.Weight(x.cells)
			}
		}
	}
	if looked == 0 {
		return int64(len(h.pages)) * pagePanes * 16
	}
	return int64(float64(bytes) / float64(looked) * float64(h.n))
}

// Deal implements [fold.Dealt], as [Window.Deal] does.
func (s *Sessions) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := NewSessions(s.p)
	for _, state := range states {
		h := state.(*sessionsHandle)
		made.wm.Join(&h.wm)
		if h.earlyAt != watermark.NoTime && (made.earlyAt == watermark.NoTime || h.earlyAt < made.earlyAt) {
			made.earlyAt = h.earlyAt
		}
		made.astray = made.astray || h.astray
	}
	for _, state := range states {
		for _, pg := range state.(*sessionsHandle).pages {
			for _, x := range pg.sessions {
				if x == nil {
					continue
				}
				if x.closed != (x.end <= made.wm.Mark) {
					return nil, fold.ErrNotInStep
				}
				if !mine(x.key) {
					continue
				}
				x = new(*x)
				x.gen, x.hash = nil, hashKey(made.seed, x.key)
				made.add(x, made.gen)
				made.owed += x.owes
			}
		}
	}
	if made.n > MaxPanes {
		return nil, fold.ErrForeign
	}
	return made.State(), nil
}
