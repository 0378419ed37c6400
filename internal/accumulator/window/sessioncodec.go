package window

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
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
	kept    pane.Snapshot[*session]
}

// State implements [fold.Keeper].
func (s *Sessions) State() fold.State {
	h := &sessionsHandle{p: s.p, seed: s.seed, wm: s.wm.Clone(), earlyAt: s.earlyAt, astray: s.astray, owed: s.owed,
		kept: s.shelf.Snapshot()}
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
	s.shelf.Adopt(&h.kept)
	s.ends, s.gones = nil, nil
	for slot := range s.shelf.Slots() {
		x := s.shelf.At(slot)
		q := &s.ends
		if x.closed {
			q = &s.gones
		}
		q.push(ending{x.end, slot})
	}
}

// AppendBinary implements [fold.State].
func (h *sessionsHandle) AppendBinary(dst []byte) []byte {
	return h.kept.AppendPages(h.appendHead(append(dst, wholeSessions, sessionsFormat)), h.append)
}

// AppendHead implements [fold.Parted].
func (h *sessionsHandle) AppendHead(dst []byte) []byte {
	return h.appendHead(append(dst, headedSessions, sessionsFormat))
}

func (h *sessionsHandle) appendHead(dst []byte) []byte {
	return h.kept.AppendSize(binary.AppendVarint(h.wm.Append(dst), h.earlyAt))
}

// Parts implements [fold.Parted].
func (h *sessionsHandle) Parts() func(yield func(fold.Part) bool) { return h.kept.Parts(h.append) }

func (h *sessionsHandle) append(dst []byte, x *session) []byte {
	dst = binary.AppendVarint(dst, x.start)
	dst = binary.AppendVarint(dst, x.end)
	dst = append(dst, fold.BoolByte(x.handed)|fold.BoolByte(x.closed)<<1)
	return x.Pane.Append(dst, &h.p.calls)
}

// Decode implements [fold.Keeper].
func (s *Sessions) Decode(data []byte) (fold.State, error) {
	h := &sessionsHandle{p: s.p, seed: s.seed, wm: watermark.New(s.p.Lateness, s.p.Idle), earlyAt: watermark.NoTime}
	if len(data) == 0 {
		return h, nil
	}
	r, parts, err := pane.ReadParts(data, wholeSessions, headedSessions, sessionsFormat)
	if err != nil {
		return nil, err
	}
	h.wm.Read(r, true)
	if h.earlyAt = r.Varint(); s.p.Early == 0 {
		h.earlyAt = watermark.NoTime
	}
	return h, h.kept.Read(r, parts, MaxPanes, func(r *fold.Reader) *session {
		x := &session{start: r.Varint(), end: r.Varint()}
		flags := r.Uvarint()
		x.handed, x.closed, x.Pane = flags&1 != 0, flags&2 != 0, s.readPane(r)
		h.owed += x.Owes
		return x
	})
}

// sessionBytes is about what a session takes beside its key and its cells: itself, its slot and what finds it.
const sessionBytes = 208 + 8 + 4 + 24 + 16

// Weight implements [fold.Weighed].
func (h *sessionsHandle) Weight() int64 {
	return h.kept.Weigh(sessionBytes, func(*session) int64 { return 0 })
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
		for x := range state.(*sessionsHandle).kept.All {
			if x.closed != (x.end <= made.wm.Mark) {
				return nil, fold.ErrNotInStep
			}
			if !mine(x.Key) {
				continue
			}
			x = new(*x)
			x.Gen, x.Hash = nil, pane.Hash(made.seed, x.Key)
			made.shelf.Add(x, made.gen)
			made.owed += x.Owes
		}
	}
	if n := made.shelf.Len(); n > MaxPanes {
		return nil, fmt.Errorf("%w: %d sessions, and it may have %d", fold.ErrTooMany, n, MaxPanes)
	}
	return made.State(), nil
}
