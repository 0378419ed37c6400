package table

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Where rows are looked up as of an event's time (`as_of: event`), the table keeps what it was before each
// of the instants at which it was changed last. A change belongs to its own time; one that comes late
// changes nothing that was: it belongs to just after the present instant. So the table as of a time is one
// thing for good as soon as engine time is past it, whenever it is asked for.

// version is the table as it was until an instant.
type version struct {
	until int64 // nanoseconds of engine time
	root  *node
	// turned is how many bytes had been set aside in all when it was made.
	turned int64
}

// history is what a table was. A copy of it is an immutable handle: list is only ever appended to.
type history struct {
	list    []version // the oldest first
	dropped int64     // how many are forgotten: the first of the list has this number
	turned  int64     // bytes set aside for versions, in all
	stamp   int64     // the instant of the last change
	known   int64     // since when it is known what the table was
	most    int       // versions that there may be
}

const never = math.MinInt64

// changeBytes is about what a change takes beside the row that it replaces: the way to it is copied.
const changeBytes = 1024

// size is about how many bytes the versions hold on to.
func (h *history) size() int64 {
	if len(h.list) == 0 {
		return 0
	}
	return h.turned - h.list[0].turned
}

// next is the number of the version that comes next.
func (h *history) next() int64 { return h.dropped + int64(len(h.list)) }

// drop forgets the oldest version.
func (h *history) drop() {
	h.known = h.list[0].until
	h.list = h.list[1:]
	h.dropped++
}

// past keeps the table as it is, before row was is changed at an instant; late says that the change belongs
// to an earlier one. was is nil for a row that is new.
func (t *Table) past(at int64, late bool, was *row) {
	if t.p.versions == 0 {
		return
	}
	if late {
		at++
	}
	h := &t.history
	if at > h.stamp {
		h.list = append(h.list, version{at, t.root, h.turned})
		h.stamp, t.gen = at, new(fold.Generation)
	}
	h.turned += changeBytes
	if was != nil {
		h.turned += was.bytes
	}
	t.bound()
}

// bound forgets what is more than may be kept of the past.
func (t *Table) bound() {
	h := &t.history
	for len(h.list) > t.p.versions || len(h.list) > 0 && t.bytes+h.size() > t.p.maxBytes {
		h.drop()
	}
}

// then is the table as of a time, and h itself for one since when nothing has changed.
func (h *handle) then(at int64) *handle {
	if h.past == nil {
		return h
	}
	list := h.past.list
	i := sort.Search(len(list), func(i int) bool { return list[i].until > at })
	switch {
	case at < h.past.known:
		return &handle{most: h.most, forgotten: true}
	case i == len(list):
		return h
	}
	return &handle{root: list[i].root, most: h.most}
}

// Forgotten implements [boundary.Forgetful].
func (h *handle) Forgotten() bool { return h.forgotten }

// AsOf implements [fold.Rows].
func (p *program) AsOf(v boundary.Value, at int64) boundary.Value {
	rows, _ := v.AsTable()
	h, ok := rows.(*handle)
	if !ok {
		return v
	}
	if then := h.then(at); then != h {
		return p.Value(then)
	}
	return v
}

// History implements [fold.Historied].
func (h *handle) History() (past fold.History, ok bool) {
	if h.past == nil {
		return past, false
	}
	past = fold.History{Versions: len(h.past.list), Max: h.past.most, Bytes: h.past.size()}
	if h.past.known != never {
		past.Since = time.Unix(0, h.past.known).UTC()
	}
	return past, true
}

// snapshot is the history as of now; nil where none is kept.
func (t *Table) snapshot() *history {
	if t.p.versions == 0 {
		return nil
	}
	h := t.history
	h.most = t.p.versions
	return &h
}

// resume goes on from a history, whose list others may have appended to since.
func (t *Table) resume(h *history) {
	t.history = history{stamp: never, known: never}
	if h != nil && t.p.versions > 0 {
		t.history = *h
		t.list = slices.Clip(h.list)
	}
}

// restart has the history begin anew where it is of times that are to come: of the other clock, or of
// one that was wrong.
func (t *Table) restart(now int64) {
	if t.p.versions > 0 && t.stamp > now+1 {
		t.dropped += int64(len(t.list))
		t.list, t.stamp, t.known = nil, now, now
		t.now, t.dirty = nil, true
	}
}
