package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// simSink is the receiver behind an output. How a delivery goes is decided by who steps it.
type simSink struct {
	o      *owner
	output int
	how    int
}

// The ways of a delivery. The receivers of box_a and direct_a refuse some values for good, whatever the way.
const (
	goesThrough  = iota
	failsFirst   // nothing arrives
	failsLate    // everything arrives, and the answer is lost
	failsHalfway // half of it arrives, and the answer is lost
)

var errAway = errors.New("the receiver is away")

func (s *simSink) Deliver(_ context.Context, batch []sink.Message) error {
	n := len(batch)
	switch s.how {
	case failsFirst:
		if s.o.w.bug == markFirst {
			return nil
		}
		return errAway
	case failsHalfway:
		n /= 2
	}
	for i := range n {
		v, _ := batch[i].Value.AsInt()
		if v >= 0 && (s.output == boxA && refused(v) || s.output == directA && turnedAway(v)) {
			return &sink.PermanentError{Index: i, Code: "refused", Err: fmt.Errorf("%d is refused", v)}
		}
		s.o.w.receive(s.o, s.output, &batch[i])
	}
	if s.how != goesThrough && s.o.w.bug != markFirst {
		return errAway
	}
	return nil
}

func (s *simSink) Close(context.Context) error { return nil }

// receive is a value's arrival at its receiver.
func (w *world) receive(o *owner, output int, m *sink.Message) {
	v, _ := m.Value.AsInt()
	id := w.receivedID(m)
	w.note("output %d epoch %d value %d", output, m.Epoch, v)
	stable := m.Stable || w.cfg.Journal
	if old, ok := w.got[output][id]; ok && old != v && stable {
		w.wrong("output %d: two values under one id: %d and %d", output, old, v)
	}
	w.got[output][id] = v
	if w.ids[output][v] == nil {
		w.ids[output][v] = map[string]bool{}
	}
	w.ids[output][v][id] = true
	if stable && v >= 0 && len(w.ids[output][v]) > 1 {
		w.wrong("output %d: the value %d came under two ids", output, v)
	}
	if output == directA || output == directC {
		return
	}
	if m.Seq > w.lastSeq[output]+1 && !w.skippable(output, m.Seq) {
		w.wrong("output %d: entry %d came after entry %d", output, m.Seq, w.lastSeq[output])
	}
	w.lastSeq[output] = max(w.lastSeq[output], m.Seq)
}

// skippable says that the entries before were refused for good, so they never arrive.
func (w *world) skippable(output int, _ int64) bool { return output == boxA }

// deliver lets an output's writer do one round, as its Run does.
func (o *owner) deliver(output, how int) {
	w := o.r.Writers[output]
	o.sinks[output].how = how
	batch := o.batches[output]
	if len(batch) == 0 {
		var err error
		if batch, _, err = w.Next(context.Background(), nil); err != nil {
			if o == o.w.own {
				o.w.wrong("output %d: entries after %d: %v", output, w.Delivered(), err)
			}
			return
		}
	}
	for len(batch) > 0 {
		var err error
		if batch, _, err = w.Try(context.Background(), batch); err != nil {
			break
		}
	}
	o.batches[output] = append([]sink.Message(nil), batch...)
}

// watch is the reactor's watcher: it sees each record once. What it has seen of a journaled
// graph never becomes something else.
func (o *owner) watch(c *reactor.Core, _ time.Time) (again time.Time) {
	o.seen = c.Records(o.seen, func(_ int64, r *reactor.Record) bool {
		at := r.At
		if o.w.bug == backwards {
			at = o.w.now
		}
		if at.Before(o.w.lastAt) && o == o.w.own && r.Epoch > o.began {
			o.w.wrong("epoch %d has the time %v, after %v", r.Epoch, at, o.w.lastAt)
		}
		if o == o.w.own && r.Epoch > o.began { // what was replayed may have the times of a clock that was wrong
			o.w.lastAt = at
		}
		if o.w.cfg.Journal {
			var b strings.Builder
			for _, e := range r.Emitted {
				fmt.Fprintf(&b, "%d=%s ", e.Output, e.Value)
			}
			if old, ok := o.w.shown[r.Epoch]; ok && old != b.String() {
				o.w.wrong("epoch %d was shown as %q and is %q now", r.Epoch, old, b.String())
			}
			o.w.shown[r.Epoch] = b.String()
		}
		return true
	})
	return again
}

// look is a slow watcher's turn; the others come with the turns of the reactor.
func (o *owner) look() { o.watch(o.core, o.w.now) }

// check holds after every step: the books balance, what was received is exactly what the
// position says, and a failed epoch left nothing in the cache.
func (w *world) check() {
	c := w.own.core
	for i, in := range c.Look().Inputs {
		b := in.Books
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; sum != b.Received {
			w.wrong("books of input %d: received %d, accounted for %d: %+v", i, b.Received, sum, b)
		}
	}
	offsets := int64(0)
	mark, _ := c.ResumePoint(inA)
	for _, p := range mark.Positions {
		offsets += p.Offset
	}
	if n := mark.Counters.Received; offsets != n {
		w.wrong("positions %d, received %d", offsets, n)
	}
	st, _ := c.GetState("")
	if v, ok := st.Cache[inA].AsInt(); ok && fails(v) && !w.filtered(v) {
		w.wrong("the value %d, whose epoch failed, is in the cache", v)
	}
}

// heal ends the faults and requires liveness: everything is read and fired, delivered, and
// accounted for exactly once.
func (w *world) heal() {
	w.full, w.fault = 0, checkpointtest.Pass
	if w.problem != "" {
		return
	}
	w.start()
	w.late()
	if w.problem != "" {
		return
	}
	o := w.own
	w.quiet()
	if !o.core.Look().Paused && !o.core.Settled() {
		w.wrong("restored work does not run")
	}
	o.r.commands <- command{caller: context.Background(), run: func(now time.Time) { o.core.Resume(now) }}
	w.streams[0].assigned, w.streams[1].assigned = true, true
	for range 4 * simEvents {
		o.read()
		w.quiet()
		if w.problem != "" {
			return
		}
	}
	w.finish()
	w.check()
}

// quiet lets everything run until nothing is left to do.
func (w *world) quiet() {
	for range 20 {
		w.pass(10 * time.Millisecond)
		w.own.turn()
		for len(w.own.jobs) > 0 {
			w.own.storeCall(checkpointtest.Pass)
			w.own.turn()
		}
		for _, i := range []int{directA, boxA, directC, boxC} {
			w.own.deliver(i, goesThrough)
		}
		if w.problem != "" || w.still() {
			return
		}
	}
}

func (w *world) still() bool {
	o := w.own
	for _, b := range o.batches {
		if len(b) > 0 {
			return false
		}
	}
	return len(o.jobs) == 0 && o.core.Settled() && !o.core.Holding() && !o.core.Logged() && !o.r.unmarked() &&
		!o.core.Changed()
}

// finish is what must be true when everything has come to rest.
func (w *world) finish() {
	c := w.own.core
	b := c.Look().Inputs[inA].Books
	if b.Received != simEvents || b.Queued != 0 || b.Consumed+b.DeadLettered+b.Filtered != simEvents {
		w.wrong("at the end the source's %d events are not each accounted for once: %+v", simEvents, b)
	}
	rows, letters := w.rows("table_a"), w.letters()
	buried := func(output string, v int64) bool {
		return slices.ContainsFunc(letters, func(l checkpoint.DeadLetter) bool {
			return l.Output == output && string(l.Payload) == fmt.Sprint(v)
		})
	}
	for v := range int64(simEvents) {
		want := 1
		switch {
		case w.filtered(v): // unless it was fired by force
			want = min(rows[v], 1)
		case fails(v):
			want = 0
		}
		if want == 1 && len(w.ids[directA][v]) == 0 && !buried("direct_a", v) {
			w.wrong("direct: the event %d never came out", v)
		}
		if rows[v] != want {
			w.wrong("co-transaction: the event %d is in %d rows", v, rows[v])
		}
		if refused(v) {
			want = 0
		}
		if got := len(w.ids[boxA][v]); got != want {
			w.wrong("outbox: the event %d came under %d ids", v, got)
		}
	}
	w.finishLetters(letters)
	rows = w.rows("table_c")
	for v := range w.nextC {
		n := rows[v]
		if n > 1 || len(w.ids[boxC][v]) != n {
			w.wrong("the push %d is in %d rows and came under %d ids", v, n, len(w.ids[boxC][v]))
		}
		// A push may share the epoch of a command with an event that fails it.
		buried := slices.ContainsFunc(letters, func(l checkpoint.DeadLetter) bool {
			return l.Accumulator == "c" && string(l.Payload) == fmt.Sprint(v)
		})
		if n == 0 && !buried && w.acked[v] {
			w.wrong("the push %d was acknowledged and is lost", v)
		}
	}
}

// letters are all dead letters in the store.
func (w *world) letters() (all []checkpoint.DeadLetter) {
	for q := (checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1000}}); ; {
		page, next, err := w.store.DeadLetters(context.Background(), w.cfg.ID, q)
		if err != nil {
			w.wrong("letters: %v", err)
		}
		all = append(all, page...)
		if q.Before = next; next == "" {
			return all
		}
	}
}

func (w *world) rows(table string) map[int64]int {
	rows := map[int64]int{}
	for _, r := range w.memory.Rows(table) {
		v, _ := r["value"].AsInt()
		rows[v]++
	}
	return rows
}

// finishLetters counts what the receiver of box_a has refused: a letter each, and no entry left.
func (w *world) finishLetters(all []checkpoint.DeadLetter) {
	letters := map[int64]int{}
	for i := range all {
		if all[i].Output == w.cfg.Outputs[boxA] { // on the direct path one may be refused again after a crash
			letters[all[i].Epoch]++
		}
	}
	for epoch, n := range letters {
		if n > 1 {
			w.wrong("the value of epoch %d was refused once and has %d letters", epoch, n)
		}
	}
	want, rows := 0, w.rows("table_a")
	for v := range int64(simEvents) {
		if refused(v) && rows[v] > 0 {
			want++
		}
	}
	if len(letters) != want {
		w.wrong("%d values were refused, %d have a letter", want, len(letters))
	}
	counted := w.own.core.Look().Refused
	for i, name := range w.cfg.Outputs {
		n := int64(0)
		for k := range all {
			if all[k].Output == name {
				n += all[k].Attempts
			}
		}
		if counted[i] != n {
			w.wrong("output %s has letters of %d refusals, and counts %d", name, n, counted[i])
		}
	}
	depths, err := w.store.OutboxDepths(context.Background(), w.cfg.ID)
	if err != nil || len(depths) > 0 {
		w.wrong("the outboxes are not empty: %+v, %v", depths, err)
	}
}

// rowOf is a value as a row of its table.
func rowOf(m *sink.Message) ([]boundary.Value, error) {
	return []boundary.Value{boundary.Int(m.Epoch), m.Value}, nil
}
