package join

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// stage is where an event that cannot be joined fails.
const stage = "join"

// Join keeps the events of two inputs for their partners, and hands over the pairs (M3).
type Join struct {
	p      *Program
	gen    *fold.Generation
	made   *boundary.Builder
	pages  []*page  // in the order of their numbers
	open   [2]*page // by side, which its next row comes to; nil for none
	empty  int      // of them, those that have no rows any more
	next   uint64   // the number of the next page
	groups map[boundary.Key]*group
	queues [2]queue

	mark  int64    // the time of the join: what comes from before it is late
	most  [2]int64 // by side the greatest time that has come; noTime for none
	rows  int
	bytes int64
	owed  int64 // events that no boundary accounts for yet

	failures fold.Failures
	lateness fold.Lateness
}

// New makes a join that has seen nothing.
func New(p *Program) *Join {
	return &Join{
		p: p, gen: new(fold.Generation), made: boundary.NewBuilder(p.shape), groups: map[boundary.Key]*group{},
		mark: noTime, most: [2]int64{noTime, noTime},
	}
}

// rowBytes is about what a row takes beside its key and its value: itself, and what finds it by key and by time.
const rowBytes = 136 + 3*24 + 64

// Join implements [fold.Joining].
func (j *Join) Join(side int, b *boundary.Boundary, out []boundary.Boundary) (
	[]boundary.Boundary, fold.Verdict, *fold.BadEvent) {
	e := row{at: b.At.UnixNano(), key: b.Key, pos: b.Last, links: b.Links, owes: b.Events, side: uint8(side)}
	if j.late(side, e.at) {
		// What is replayed had been refused, and is known to have come: it does not go without a word.
		again := b.Origin != "" && j.p.Late != "dead_letter"
		if !again {
			j.noteLate(side, e.at)
		}
		if again || j.p.Late == "dead_letter" {
			return out, fold.Refused, &fold.BadEvent{Stage: stage, Code: "late_event", Text: "what it could be " +
				"joined with is no longer waited for: it is of " + b.At.UTC().Format(time.RFC3339Nano)}
		}
		return out, fold.Dropped, nil
	}
	j.most[side] = max(j.most[side], e.at) // also by what there is no room for: who has other keys hears of that
	e.size = rowBytes + len(e.key) + b.Size
	if j.rows >= j.p.MaxRows || j.rows > 0 && j.bytes+int64(e.size) > j.p.MaxBytes {
		return out, fold.Refused, &fold.BadEvent{Stage: stage, Code: "join_full", Text: fmt.Sprintf(
			"%d events with %d bytes wait for partners, and %d or %d bytes may: raise max_rows or max_bytes, or join "+
				"within less", j.rows, j.bytes, j.p.MaxRows, j.p.MaxBytes)}
	}
	e.value = b.Value.Compact() // it is kept for long
	g := j.group(e.key)
	low, high := j.p.span(side, e.at)
	for _, found := range g.between(1-side, low, high) {
		found.page.own(j.gen)
		partner := found.row()
		partner.matches++
		e.matches++
		l, r := &e, partner
		if side == Right {
			l, r = partner, &e
		}
		out = append(out, j.pair(l, r))
		j.owed -= partner.owes
		partner.owes, e.owes = 0, 0
	}
	j.keep(g, &e)
	return out, fold.Folded, nil
}

// group is the rows of a key.
func (j *Join) group(key boundary.Key) *group {
	g := j.groups[key]
	if g == nil {
		g = &group{}
		j.groups[key] = g
	}
	return g
}

// Heard implements [fold.Joining].
func (j *Join) Heard(side int, at int64) { j.most[side] = max(j.most[side], at) }

// late says that an event comes later than it may: behind others of its side by more than the lateness, or behind what
// the join is through with. What another join hands over never does: this one is through with what is older where that
// one has begun to hand over alone, or to keep for longer, what it has had since before.
func (j *Join) late(side int, at int64) bool {
	return !j.p.joined[side] && (at < j.mark || at < before(j.most[side], int64(j.p.Lateness)))
}

// keep takes in a row. Those of a side have pages of their own: one side may be kept for much longer than the other,
// and a page with a few rows costs what a full one does.
func (j *Join) keep(g *group, e *row) {
	p := j.open[e.side]
	if p == nil || len(p.rows) == pageRows {
		p = &page{number: j.next, gen: j.gen, rows: make([]row, 0, pageRows)}
		j.pages, j.open[e.side] = append(j.pages, p), p
		j.next++
	}
	p.own(j.gen)
	p.rows = append(p.rows, *e)
	p.live++
	j.rows++
	j.bytes += int64(e.size)
	j.owed += e.owes
	at := place{at: e.at, page: p, i: len(p.rows) - 1}
	g.add(int(e.side), at)
	j.queues[e.side].push(at)
}

// first is the side of the row whose time is up first, and from when on it is; ok is false when there are no rows.
func (j *Join) first() (side int, end int64, ok bool) {
	for s := range j.queues {
		if len(j.queues[s]) == 0 {
			continue
		}
		if _, at := j.p.span(s, j.queues[s][0].at); !ok || at < end {
			side, end, ok = s, at, true
		}
	}
	return side, end, ok
}

// expire lets go of the rows that could only be joined with what happened before the time of the join, in the order of
// when that is so, and hands over those that have found no partner where they count.
func (j *Join) expire(out []boundary.Boundary) ([]boundary.Boundary, bool) {
	for went := false; ; went = true {
		side, end, ok := j.first()
		if !ok || end >= j.mark {
			return out, went
		}
		at := j.queues[side].pop()
		e := at.row()
		switch {
		case e.matches > 0:
		case j.p.outer(side):
			out = append(out, j.alone(e))
		case e.owes > 0:
			j.failures.Forget(e.owes)
		}
		j.owed -= e.owes
		j.rows--
		j.bytes -= int64(e.size)
		g := j.groups[e.key]
		if g.pop(side); len(g.sides[Left])+len(g.sides[Right]) == 0 {
			delete(j.groups, e.key)
		}
		j.leave(at)
	}
}

// leave empties the place of a row.
func (j *Join) leave(at place) {
	p, side := at.page, at.row().side
	if p.live--; p.live > 0 {
		p.own(j.gen)
		p.rows[at.i] = row{side: side, gone: true}
		return
	}
	if p == j.open[side] {
		if p.gen == j.gen { // no snapshot has it: a side whose events go at once needs no other page
			clear(p.rows)
			p.rows = p.rows[:0]
			return
		}
		j.open[side] = nil
	}
	p.rows = nil
	if j.empty++; 2*j.empty < len(j.pages) {
		return // they are looked at again when that makes half of them go
	}
	j.empty = 0
	kept := j.pages[:0]
	for _, p := range j.pages {
		if p.live > 0 || p == j.open[Left] || p == j.open[Right] {
			kept = append(kept, p)
		}
	}
	clear(j.pages[len(kept):])
	j.pages = kept
}

// pair is what is handed over of two events.
func (j *Join) pair(l, r *row) boundary.Boundary {
	slots := j.result(l, l.value, r.value, max(l.at, r.at))
	slots[0], slots[1] = boundary.Int(l.matches), boundary.Int(r.matches)
	b := boundary.Boundary{
		Value: j.made.Object(), First: l.pos, Last: r.pos, At: time.Unix(0, max(l.at, r.at)).UTC(),
		Events: l.owes + r.owes, Size: l.weight() + r.weight() + 64, Links: l.links.Join(r.links),
	}
	if j.p.givesKey {
		b.Key = l.key
	}
	return b
}

// alone is what is handed over of an event that has found no partner.
func (j *Join) alone(e *row) boundary.Boundary {
	l, r := e.value, boundary.Null()
	if e.side == Right {
		l, r = r, l
	}
	slots := j.result(e, l, r, e.at)
	slots[0], slots[1] = boundary.Int(0), boundary.Int(0)
	b := boundary.Boundary{
		Value: j.made.Object(), First: e.pos, Last: e.pos, At: time.Unix(0, e.at).UTC(), Events: e.owes,
		Size: e.weight() + 64, Links: e.links,
	}
	if j.p.givesKey {
		b.Key = e.key
	}
	return b
}

// result fills in what the next object has of e, which is one of the two or the only one; the last fields are for the
// caller to set.
func (j *Join) result(e *row, l, r boundary.Value, at int64) (rest []boundary.Value) {
	slots := j.made.Slots()
	if bare := j.p.bare[e.side]; bare != "" {
		slots[0] = e.value.Field(bare)
	} else {
		slots[0] = e.key.ValueOf(j.p.times)
	}
	n := 1
	for _, name := range j.p.named {
		slots[n] = e.value.Field(name)
		n++
	}
	slots[n], slots[n+1] = l, r
	slots[n+2] = boundary.Bool(!l.IsNull() && !r.IsNull())
	slots[n+3] = boundary.Time(time.Unix(0, at))
	if j.p.Tumbling > 0 {
		start, last := j.p.span(int(e.side), e.at)
		slots[n+6], slots[n+7] = boundary.Time(time.Unix(0, start)), boundary.Time(time.Unix(0, after(last, 1)))
	}
	return slots[n+4:]
}

// Quiet implements [fold.Watching]: engine time has come to now, and nothing is on its way any more that is not late.
func (j *Join) Quiet(now time.Time, out []boundary.Boundary) ([]boundary.Boundary, bool) {
	j.mark = max(j.mark, before(now.UnixNano(), int64(j.p.Lateness)))
	return j.expire(out)
}

// QuietDue implements [fold.Watching]: when the time of a row is past the last partner that it could have.
func (j *Join) QuietDue() (time.Time, bool) {
	_, end, ok := j.first()
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(0, after(after(end, 1), int64(j.p.Lateness))).UTC(), true
}

// LastDue implements [fold.Lasting]: of what goes alone. What else goes then says nothing, and counts where it holds
// back what is behind, see [Join.OpenUntil].
func (j *Join) LastDue(behind time.Time) (at time.Time, ok bool) {
	last, until := int64(noTime), int64(noTime)
	if !behind.IsZero() {
		until = behind.UnixNano()
	}
	for side := range j.queues {
		for _, e := range j.queues[side] {
			if j.p.outer(side) && (e.row().matches == 0 || e.at < until) {
				_, end := j.p.span(side, e.at)
				last, ok = max(last, end), true
			}
		}
	}
	return time.Unix(0, after(after(last, 1), int64(j.p.Lateness))).UTC(), ok
}

// OpenUntil implements [fold.Watching]: what has found no partner is handed over as of its own time, and nothing behind
// a join is complete before it.
func (j *Join) OpenUntil() (time.Time, bool) {
	at, ok := int64(math.MaxInt64), false
	for side := range j.queues {
		if q := j.queues[side]; len(q) > 0 && j.p.outer(side) {
			at, ok = min(at, after(q[0].at, 1)), true
		}
	}
	return time.Unix(0, at).UTC(), ok
}

// Add implements [fold.Folder]. A join has no events of its own.
func (j *Join) Add(_ time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	in.Bad = &fold.BadEvent{Stage: stage, Code: "no_event", Text: "a join takes what its two inputs hand over: send " +
		"it to " + j.p.Sides.Names[Left] + " or " + j.p.Sides.Names[Right]}
	return out, fold.Refused
}

// Due implements [fold.Folder].
func (j *Join) Due() (time.Time, bool) { return time.Time{}, false }

// Tick implements [fold.Folder].
func (j *Join) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }

// End implements [fold.Folder]: no partner comes any more.
func (j *Join) End(out []boundary.Boundary) []boundary.Boundary {
	j.mark = math.MaxInt64
	out, _ = j.expire(out)
	return out
}

// Open implements [fold.Keeper].
func (j *Join) Open() int64 { return j.owed }

// Failures implements [fold.Failing]: what is filtered without having been handed over.
func (j *Join) Failures() *fold.Failures { return &j.failures }

// Lateness implements [fold.Dropping].
func (j *Join) Lateness() (l fold.Lateness, ok bool) {
	return j.lateness, j.lateness.Events > 0 && j.p.Late != "dead_letter"
}

// noteLate takes note of a late event. Of several that are as far behind, it is the earliest, in whatever order they
// are looked at.
func (j *Join) noteLate(side int, at int64) {
	l, of := &j.lateness, j.p.Sides.Names[side]
	behind, when := time.Duration(max(j.most[side], j.mark)-at), time.Unix(0, at).UTC()
	worst := l.MoverAt.Sub(l.WorstAt)
	if l.Events++; l.Events > 1 && (behind < worst || behind == worst &&
		cmp.Or(when.Compare(l.WorstAt), cmp.Compare(of, l.Of)) >= 0) {
		return
	}
	l.WorstAt, l.MoverAt, l.Of = when, when.Add(behind), of
}

// Order implements [fold.Ordering]: what goes at once is in the order of when its time is up, then of the sides, of
// their own times, and then of the keys.
func (j *Join) Order(a, b boundary.Value) int {
	x, xEnd := j.goes(a)
	y, yEnd := j.goes(b)
	return cmp.Or(cmp.Compare(xEnd, yEnd), cmp.Compare(x.side, y.side), cmp.Compare(x.at, y.at),
		cmp.Compare(x.key, y.key))
}

// goes is an event that was handed over alone, and when its time was up.
func (j *Join) goes(v boundary.Value) (e row, end int64) {
	if v.Field("left").IsNull() {
		e.side = Right
	}
	at, _ := v.Field("at").AsTime()
	e.at, e.key = at.UnixNano(), boundary.KeyOf(fold.Whole(v.Field("key")))
	_, end = j.p.span(int(e.side), e.at)
	return e, end
}
