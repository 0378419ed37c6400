package table

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Table keeps the newest row of every key (M3).
type Table struct {
	p *program
	counts
	history
	root  *node
	gen   *fold.Generation
	log   changeLog
	now   *handle // of what there is; nil when something has happened since
	dirty bool    // something has, since it was handed over last

	at          time.Time // arrival of the last event
	first, last boundary.Position
	links       *traced.Links
	text        []byte // scratch
	encoded     []byte // scratch
}

func newTable(p *program) *Table {
	t := &Table{p: p, gen: new(fold.Generation), now: p.empty}
	t.resume(nil)
	return t
}

// Add implements [fold.Folder].
func (t *Table) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	var err error
	if t.text, err = appendKey(t.text[:0], in.Facts.Key); err != nil {
		in.Bad = &fold.BadEvent{Stage: "key", Code: "bad_key", Text: decode.OneLine(err.Error())}
		return out, fold.Refused
	}
	hash := hashOf(t.text)
	was := t.root.find(hash, t.text)
	if in.Facts.Deletes || in.Value.IsNull() {
		t.took(in)
		if was != nil {
			t.past(now.UnixNano(), in.At.Before(now), was)
			t.remove(hash, was)
		}
		return out, fold.Folded
	}
	t.encoded = in.Value.AppendBinary(t.encoded[:0])
	if in.Bad = t.p.tooLarge(len(t.encoded)); in.Bad != nil {
		return out, fold.Refused
	}
	t.took(in)
	if was == nil || t.p.ttl > 0 || !boundary.Equal(was.value, in.Value) {
		t.past(now.UnixNano(), in.At.Before(now), was)
		t.set(hash, was, in.Value.Compact(), now)
	}
	return out, fold.Folded
}

// took counts an event in.
func (t *Table) took(in *fold.Input) {
	t.now, t.dirty = nil, true
	if t.owed++; t.owed == 1 {
		t.first = in.Event.Pos
	}
	t.last, t.at, t.links = in.Event.Pos, in.At, t.links.Join(in.Event.Links)
}

// set puts a row in the place of the one with its key, whose text is at hand, and evicts what is too much.
func (t *Table) set(hash uint64, was *row, v boundary.Value, now time.Time) {
	t.seq++
	r := &row{value: v, changed: now.UnixNano(), seq: t.seq, bytes: int64(len(t.encoded) + len(t.text))}
	if was != nil {
		r.key = was.key
		t.bytes -= was.bytes
	} else {
		r.key = string(t.text)
	}
	t.bytes += r.bytes
	t.root, _ = t.root.set(hash, r, 0, t.gen)
	for t.root.len() > 1 && (t.root.len() > t.p.maxRows || t.bytes > t.p.maxBytes) {
		hash, oldest := t.log.oldest(t.root)
		t.evicted++
		t.past(t.stamp, false, oldest)
		t.remove(hash, oldest)
	}
	if t.log.push(change{hash, t.seq}, t.root.len()) {
		t.log.clean(t.root)
	}
}

func (t *Table) remove(hash uint64, r *row) {
	t.bytes -= r.bytes
	t.root = t.root.remove(hash, r.key, 0, t.gen)
}

// Due implements [fold.Folder]: when the row that was changed least recently has been so for the ttl.
func (t *Table) Due() (time.Time, bool) {
	if t.p.ttl == 0 {
		return time.Time{}, false
	}
	_, r := t.log.oldest(t.root)
	if r == nil {
		return time.Time{}, false
	}
	return time.Unix(0, r.changed).UTC().Add(t.p.ttl), true
}

// Tick implements [fold.Folder].
func (t *Table) Tick(now time.Time, out []boundary.Boundary) []boundary.Boundary {
	for {
		due, ok := t.Due()
		if !ok || due.After(now) {
			return out
		}
		hash, r := t.log.oldest(t.root)
		t.past(now.UnixNano(), false, r)
		t.remove(hash, r)
		t.expired++
		t.now, t.dirty, t.at = nil, true, now
	}
}

// End implements [fold.Folder].
func (t *Table) End(out []boundary.Boundary) []boundary.Boundary { return out }

// Hand implements [fold.Handing].
func (t *Table) Hand(out []boundary.Boundary) []boundary.Boundary {
	if !t.dirty {
		return out
	}
	b := boundary.Boundary{First: t.first, Last: t.last, At: t.at, Events: t.owed, Links: t.links}
	t.owed, t.dirty, t.now, t.links = 0, false, nil, nil
	b.Value = t.p.Value(t.State())
	b.Size = b.Value.Size()
	return append(out, b)
}

// State implements [fold.Keeper].
func (t *Table) State() fold.State {
	if t.now == nil {
		t.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
		t.now = &handle{
			counts: t.counts, root: t.root, most: t.p.maxRows, dirty: t.dirty, past: t.snapshot(),
			logGen: t.log.gen, logFrom: t.log.head, logN: len(t.log.list), of: t,
		}
	}
	return t.now
}

// Resume implements [fold.Keeper].
func (t *Table) Resume(s fold.State) {
	h := t.p.handle(s)
	t.counts, t.root, t.gen, t.now, t.dirty = h.counts, h.root, new(fold.Generation), h, h.dirty
	t.resume(h.past)
	if h.of == t && h.logGen == t.log.gen {
		t.log.list, t.log.head = t.log.list[:h.logN], h.logFrom
		t.log.gen++ // what comes now is not what handles of after h know
		t.now = nil
		return
	}
	t.log.renew(t.root)
}

// Open implements [fold.Keeper].
func (t *Table) Open() int64 { return t.owed }

// Restarted implements [fold.Restarter]: no row was changed later than now, whatever clock has said so.
func (t *Table) Restarted(now time.Time) {
	at := now.UnixNano()
	t.restart(at)
	if t.p.ttl == 0 {
		return
	}
	var ahead []slot
	t.root.each(func(s slot) bool {
		if s.row.changed > at {
			ahead = append(ahead, s)
		}
		return true
	})
	for _, s := range ahead {
		r := *s.row
		r.changed = at
		t.root, _ = t.root.set(s.hash, &r, 0, t.gen)
		t.now, t.dirty = nil, true
	}
}

// tooLarge says why a row of so many bytes cannot be kept; nil when it can.
func (p *program) tooLarge(bytes int) *fold.BadEvent {
	if int64(bytes) <= p.rowMost {
		return nil
	}
	return &fold.BadEvent{Stage: stage, Code: expression.CodeLimitExceeded, Text: fmt.Sprintf(
		"the row would have %d bytes, at most %d fit; keep less of each event with emit", bytes, p.rowMost)}
}

// stage names what fails when an event cannot be a row.
const stage = "table"
