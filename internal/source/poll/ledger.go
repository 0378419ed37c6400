package poll

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// The parts of a ledger. A whole result is large and changes here and there; what is behind a
// greatest value is small.
const (
	wholeParts = 256
	afterParts = 16
)

// bound is from where rows are read by a column's value.
type bound struct {
	kind  byte   // nothing, fromValue or handed
	value string // as the reader has written it
}

const (
	nothing   = 'n' // every row
	fromValue = 'f' // rows of this value on; none was handed over
	handed    = 'h' // this is the greatest value that was handed over
)

// digest tells the contents of rows apart: two of a key are the same once in 2^64.
type digest [8]byte

func digestOf(parts ...[]byte) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:]) // a hash does not fail
		h.Write(p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// ledger is what was handed over of the rows that may be met again, and where to read on. The
// positions of its parts, which its events carry, are all that is kept of it.
type ledger struct {
	parts  []map[string]digest // by a row's id
	number int64               // of the last event or change
	bound  bound
}

func newLedger(parts int, first bound) *ledger {
	l := &ledger{parts: make([]map[string]digest, parts), bound: first}
	for i := range l.parts {
		l.parts[i] = map[string]digest{}
	}
	return l
}

// part is where a row's id is kept.
func (l *ledger) part(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id)) // a hash does not fail
	return int(h.Sum32() % uint32(len(l.parts)))
}

func (l *ledger) get(id string) (digest, bool) {
	d, ok := l.parts[l.part(id)][id]
	return d, ok
}

func (l *ledger) set(id string, d digest) { l.parts[l.part(id)][id] = d }

func (l *ledger) remove(id string) { delete(l.parts[l.part(id)], id) }

func (l *ledger) len() (n int) {
	for _, p := range l.parts {
		n += len(p)
	}
	return n
}

// ids are all there are, in their order.
func (l *ledger) ids() []string {
	all := make([]string, 0, l.len())
	for _, p := range l.parts {
		all = slices.AppendSeq(all, maps.Keys(p))
	}
	slices.Sort(all)
	return all
}

// position is the next, after a change of the row with this id. Its stream is the number of
// the row's part, and behind the #, which later ones replace, the bound and the part. All parts are
// of one partition: its events have one order.
func (l *ledger) position(id string) boundary.Position {
	l.number++
	at := l.part(id)
	var b []byte
	for _, id := range slices.Sorted(maps.Keys(l.parts[at])) {
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
		d := l.parts[at][id]
		b = append(b, d[:]...)
	}
	stream := fmt.Sprintf("rows~%02x#%c%s,%s", at, l.bound.kind, l.bound.value, base64.RawURLEncoding.EncodeToString(b))
	return boundary.Position{Stream: stream, Offset: l.number}
}

var errPosition = errors.New("the position is not one of a polled statement; have the source go on with rewind")

// restore makes the ledger what it was at some positions. Where to read on is what the newest
// says.
func (l *ledger) restore(positions []boundary.Position) error {
	for _, p := range positions {
		part, rest, ok := strings.Cut(strings.TrimPrefix(p.Stream, "rows~"), "#")
		at, err := strconv.ParseUint(part, 16, 16)
		comma := strings.LastIndexByte(rest, ',')
		if !ok || err != nil || comma < 1 || at >= uint64(len(l.parts)) {
			return errPosition
		}
		if p.Offset >= l.number {
			l.number, l.bound = p.Offset, bound{rest[0], rest[1:comma]}
		}
		if known := strings.IndexByte("nfh", rest[0]) >= 0; !known || (rest[0] == nothing) != (comma == 1) {
			return errPosition
		}
		b, err := base64.RawURLEncoding.DecodeString(rest[comma+1:])
		if err != nil {
			return errPosition
		}
		for len(b) > 0 {
			n, used := binary.Uvarint(b)
			if used <= 0 || n > uint64(len(b)-used) || uint64(len(b)-used)-n < uint64(len(digest{})) {
				return errPosition
			}
			b = b[used:]
			l.parts[at][string(b[:n])] = digest(b[n : n+8])
			b = b[n+8:]
		}
	}
	return nil
}
