package form

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// The kinds of cell a graph's state is kept in. A cell is written when what it holds has
// changed since the last seal, and only then (M28).
const (
	CellAccount = "acc"   // NAME: positions, fold state, counters
	CellPart    = "part"  // NAME/PART: a part of a fold state
	CellInput   = "in"    // NAME: cached value and version, newest boundary not yet cut
	CellQueue   = "queue" // NAME/SEQ: one waiting boundary
	CellKey     = "key"   // one key: its slots but for the queues, and its nodes
	CellLayout  = "keys"  // NUMBER: how key cells that bear this number are laid out
	// The plan's own cells are under its own kinds: graph.NodeCell and the like.
)

// Slot is one input of one key, but for its queue.
type Slot struct {
	Cur     boundary.Value
	Version uint64
	At      boundary.Position
	Pend    *boundary.Boundary
	Since   uint64 // in the cells of keys only, and
	Waits   bool   // that the key's guard was asked, and waits
	// Given says that Cur is what has arrived, or absent because a command has taken it away. Earlier releases do not
	// say it of what has no position, and write a default as if it had arrived.
	Given bool
	// Stands is the fingerprint of the default that stands for the value, for nothing has arrived; 0 for none.
	Stands uint32
}

// FirstPrint is the least fingerprint of a default that a slot can have.
const FirstPrint = 2

// given stands in the place of an offset where a value that was given has no position.
const given = 1

// place is what stands in the place of the position. What is none has no stream; earlier releases show it in records,
// and make nothing else of it.
func (s *Slot) place() boundary.Position {
	switch {
	case s.At != (boundary.Position{}):
		return s.At
	case s.Given:
		return boundary.Position{Offset: given}
	}
	return boundary.Position{Offset: int64(s.Stands)}
}

// placed takes in what place has said, when the value has been read.
func (s *Slot) placed(at boundary.Position) {
	switch {
	case at == (boundary.Position{}):
	case at == (boundary.Position{Offset: given}):
		s.Given = true
	case s.Cur.IsAbsent() && at.Stream == "":
		s.Stands = uint32(at.Offset)
	default:
		s.At, s.Given = at, true
	}
}

// AppendShared appends a slot as it stands in a cell of its own.
func (s *Slot) AppendShared(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, s.Version)
	dst = AppendPosition(dst, s.place())
	dst = s.Cur.AppendBinary(dst)
	if s.Pend == nil {
		return append(dst, 0)
	}
	return AppendBoundary(append(dst, 1), s.Pend)
}

// ReadShared reads what AppendShared wrote.
func ReadShared(data []byte) (Slot, error) {
	r := Reader{Rest: data}
	s := Slot{Version: r.Uint()}
	at := r.Position()
	s.Cur = r.Value()
	s.placed(at)
	if r.Uint() == 1 {
		s.Pend = r.Boundary()
	}
	return s, r.Done()
}

// What is in a slot of a key's cell.
const (
	hasValue = 1 << iota
	hasPosition
	hasPending
	keyWaits // the key's guard was asked, and waits
)

// Append appends a slot as it stands in the cell of a key.
func (s *Slot) Append(dst []byte) []byte {
	has, at := byte(0), s.place()
	if !s.Cur.IsAbsent() {
		has |= hasValue
	}
	if at != (boundary.Position{}) {
		has |= hasPosition
	}
	if s.Pend != nil {
		has |= hasPending
	}
	if s.Waits {
		has |= keyWaits
	}
	dst = binary.AppendUvarint(append(dst, has), s.Version)
	if has&hasPosition != 0 {
		dst = AppendPosition(dst, at)
	}
	if has&hasValue != 0 {
		dst = s.Cur.AppendBinary(dst)
	}
	if has&hasPending != 0 {
		dst = AppendBoundary(binary.AppendUvarint(dst, s.Since), s.Pend)
	}
	return dst
}

// Slot reads one slot of a key's cell.
func (r *Reader) Slot() (s Slot) {
	has := byte(r.Uint())
	s.Version, s.Waits = r.Uint(), has&keyWaits != 0
	var at boundary.Position
	if has&hasPosition != 0 {
		at = r.Position()
	}
	if has&hasValue != 0 {
		s.Cur = r.Value()
	}
	s.placed(at)
	if has&hasPending != 0 {
		s.Since, s.Pend = r.Uint(), r.Boundary()
	}
	return s
}

// KeyHead is what stands before the slots of a key.
type KeyHead struct {
	Layout, Arrival uint64
	// At are when it was seen last, and its times: the start of its last epoch, and when the first and the last
	// boundary came that trigger and wait.
	At [4]int64
}

// Append appends the head.
func (h *KeyHead) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, h.Layout), h.Arrival)
	for _, at := range h.At {
		dst = binary.AppendVarint(dst, Stored(at))
	}
	return dst
}

// KeyHead reads what stands before the slots of a key.
func (r *Reader) KeyHead() (h KeyHead) {
	h.Layout, h.Arrival = r.Uint(), r.Uint()
	for i := range h.At {
		h.At[i] = Stored(r.Int())
	}
	return h
}

// Queued is one waiting boundary.
type Queued struct {
	B *boundary.Boundary
	// Seq is its place in the admission order. Since and At are the place and the engine time of what has waited here
	// first: of the boundary itself, or of the oldest that it has overwritten.
	Seq, Since uint64
	At         int64
}

// QueueName is the name of the cell of a boundary that waits for an input.
func QueueName(input string, seq uint64) string {
	text := strconv.FormatUint(seq, 16)
	return input + "/" + strings.Repeat("0", max(16-len(text), 0)) + text
}

// Append appends what a queue's cell holds.
func (q *Queued) Append(dst []byte) []byte {
	return binary.AppendVarint(binary.AppendUvarint(AppendBoundary(dst, q.B), q.Since), q.At)
}

// ReadQueued reads the cell of a waiting boundary, and the name of its input.
func ReadQueued(cell *checkpoint.Cell) (q Queued, input string, err error) {
	input, seq, ok := strings.Cut(cell.Name, "/")
	n, err := strconv.ParseUint(seq, 16, 64)
	if !ok || err != nil {
		return q, "", errors.New("its name has no sequence number")
	}
	r := Reader{Rest: cell.Data}
	q = Queued{B: r.Boundary(), Seq: n, Since: n, At: Never}
	if len(r.Rest) > 0 { // before format 2 there is no more
		q.Since, q.At = r.Uint(), r.Int()
	}
	return q, input, r.Done()
}

// Account is what is kept of one accumulator. Its state is that of the mark, or, where that has none, State as loaded.
type Account struct {
	Identity string
	Mark     accumulator.Mark
	State    []byte
}

// Append appends an account; whole says that a state in parts is written in one piece, for where there are no cells
// for them.
func (a *Account) Append(dst []byte, whole bool) []byte {
	m := &a.Mark
	dst = AppendText(dst, a.Identity)
	c := &m.Counters
	for _, n := range [...]int64{c.Received, c.Filtered, c.Rejected, c.DeadLettered, c.Open} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = AppendTime(dst, m.LastEventAt)
	dst = binary.AppendUvarint(dst, uint64(len(m.Positions)))
	for _, p := range m.Positions {
		dst = AppendPosition(dst, p)
	}
	if parted, ok := m.State.(accumulator.PartedState); ok && !whole {
		return parted.AppendHead(dst)
	}
	if m.State != nil {
		return m.State.AppendBinary(dst)
	}
	return append(dst, a.State...)
}

// ReadAccount reads what Append wrote; the state stays as it is.
func ReadAccount(data []byte) (a Account, err error) {
	r := Reader{Rest: data}
	a.Identity = r.Text()
	c := accumulator.Counters{Received: r.Int(), Filtered: r.Int(), Rejected: r.Int(), DeadLettered: r.Int(),
		Open: r.Int()}
	a.Mark = accumulator.Mark{Counters: c, LastEventAt: r.Time()}
	// A position takes two bytes at least: what cannot fit is not allocated for.
	if n := r.Uint(); n <= uint64(len(r.Rest)/2) {
		for range n {
			a.Mark.Positions = append(a.Mark.Positions, r.Position())
		}
	} else {
		r.Fail()
	}
	if len(r.Rest) > 0 {
		a.State = r.Rest
	}
	return a, r.Err
}
