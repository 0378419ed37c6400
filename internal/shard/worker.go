package shard

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/virtual"
)

// worker is one shard.
type worker struct {
	number int
	g      *virtual.Graph
	front  *Front
	in     chan *batch
	done   chan *chunk
	chunk  *chunk

	open    bool // an instant is
	ended   bool
	round   round // the instant that is open, or the last that was
	labels  labels
	epoch   int64
	told    int       // letters that an entry has
	made    []origins // by input
	joining bool      // an event of a side is taken in, whose place is from
	from    label
	newest  []vouched     // by input, as its accumulator knows
	shared  []sharedInput // by input
	one     accumulator.Handoff
	decoder *boundary.Decoder
}

// origins are the events that an accumulator has made something of since it last handed over. heard is of a side of a
// join how far its events had come before each of its own.
type origins struct {
	own, late, letters []uint64
	heard              []int64
}

// sharedInput is what a shard has taken of an input that all keys share.
type sharedInput struct {
	boundaries uint64
	waits      bool
	consumed   []uint64
}

func newWorker(ctx context.Context, f *Front, u *compile.Unit, number int, start time.Time) *worker {
	n := len(u.Spec.Accumulators)
	w := &worker{
		number: number, g: virtual.New(u, start, nil), front: f, in: make(chan *batch, batchesAhead),
		done: make(chan *chunk, batchesAhead), made: make([]origins, n), newest: make([]vouched, n),
		shared: make([]sharedInput, n), round: round{at: never},
		decoder: boundary.NewDecoder(nil, boundary.Limits{}),
	}
	for i := range w.newest {
		w.newest[i].at = never
	}
	w.g.Tap, w.g.Interrupt, w.g.Calls = w, ctx.Err, f.cfg.Calls
	w.g.Core().OnHanded(w.handed)
	if r := u.Spec.Reactor; r.TTL > 0 && r.OnEvict == "dead_letter" {
		w.labels.arrivals = true
		w.g.Core().OnExpiry(w.expired)
	}
	return w
}

// run takes batches until there are none.
func (w *worker) run(ctx context.Context) {
	defer w.g.Join()
	for {
		var b *batch
		select {
		case b = <-w.in:
		case <-ctx.Done():
			return
		}
		if b == nil {
			return
		}
		w.chunk = w.front.emptyChunk()
		w.told = 0
		w.chunk.err = w.take(b)
		w.chunk.now = nanoOf(w.g.Now())
		select {
		case w.done <- w.chunk:
		case <-ctx.Done():
			return
		}
	}
}

// take does what is in a batch.
func (w *worker) take(b *batch) error {
	items := b.items[w.number]
	for k := range items {
		it := &items[k]
		if !w.open || it.round != w.round.seq {
			if err := w.begin(it); err != nil {
				return err
			}
		}
		w.fold(it)
	}
	if b.last == notYet && w.open && w.round.seq == b.round {
		return nil // there may be more of it in the next batch
	}
	if err := w.rest(); err != nil {
		return err
	}
	if err := w.goTo(b.at); err != nil {
		return err
	}
	switch b.last {
	case left:
		return w.end(ending, w.g.Quiesce)
	case awaited:
		return w.end(ending, w.g.Await)
	case handed:
		return w.end(leaving, w.g.HandOver)
	}
	return nil
}

// end does a step of the end.
func (w *worker) end(phase uint8, step func() error) error {
	w.round, w.ended = round{at: nanoOf(w.g.Now()), phase: phase}, true
	err := step()
	w.gather()
	return err
}

// begin opens an item's instant.
func (w *worker) begin(it *item) error {
	if err := w.rest(); err != nil {
		return err
	}
	if it.at != never {
		if err := w.goTo(it.at); err != nil {
			return err
		}
	}
	w.round, w.open = round{at: it.at, phase: instant, seq: it.round}, true
	return nil
}

// goTo moves the clock, through the timers on the way.
func (w *worker) goTo(at int64) error {
	if at == never {
		return nil
	}
	err := w.g.AdvanceTo(time.Unix(0, at).UTC())
	w.gather()
	return err
}

// rest closes the instant that is open.
func (w *worker) rest() error {
	if !w.open {
		return nil
	}
	err := w.g.Step()
	w.gather()
	w.open = false
	w.labels.forget(w.g.Core())
	return err
}

// fold lets an item happen.
func (w *worker) fold(it *item) {
	i := int(it.input)
	switch it.what {
	case anEvent:
		acc := w.g.Accumulator(i)
		w.hear(acc, it)
		switch acc.Before(it.number - 1); {
		case it.bad != nil:
			acc.AddBad(w.g.Now(), &it.ev, true, it.bad)
		case it.ahead:
			acc.Taken(&it.ev, &it.taken)
			acc.Add(w.g.Now(), &it.ev, true)
		default:
			acc.Dated(&it.ev, it.dated)
			acc.Add(w.g.Now(), &it.ev, true)
		}
		if w.note(acc, i, it.seq); w.g.Core().Joined(i) {
			for m := &w.made[i]; len(m.heard) < len(m.own); {
				m.heard = append(m.heard, it.newest.at)
			}
		}
	case anElsewhere:
		acc := w.g.Accumulator(i)
		w.hear(acc, it)
		w.note(acc, i, it.seq)
	case aHandoff:
		w.takeShared(i, it)
	case aBeginning:
	}
}

// hear tells an accumulator how far the events of its input have come in other shards.
func (w *worker) hear(acc *accumulator.Core, it *item) {
	if w.g.Core().Joined(int(it.input)) {
		return // it is the join that goes by it, when it is given the event
	}
	if known := &w.newest[it.input]; it.newest.at > known.at {
		*known = it.newest
		acc.Elsewhere(w.g.Now(), "", it.newest.at, it.newest.number)
	}
}

// note says what an event has made.
func (w *worker) note(acc *accumulator.Core, i int, seq uint64) {
	own, late, letters := acc.Complete()
	m := &w.made[i]
	m.own, m.late, m.letters = upTo(m.own, own, seq), upTo(m.late, late, seq), upTo(m.letters, letters, seq)
}

func upTo(list []uint64, n int, seq uint64) []uint64 {
	for len(list) < n {
		list = append(list, seq)
	}
	return list
}

// takeShared takes in what the front has folded of an input that all keys share. Its books are those of the first
// shard.
func (w *worker) takeShared(i int, it *item) {
	h, s := accumulator.Handoff{}, &w.shared[i]
	h.Boundaries = append(h.Boundaries, it.share.Boundaries...)
	if w.number == 0 {
		h.Mark, h.DeadLetters = it.share.Mark, it.share.DeadLetters
	} else if len(h.Boundaries) == 0 {
		return
	}
	w.g.Take(i, &h) // of a table this takes the newest alone
	for range h.Boundaries {
		w.labels.add(label{})
	}
	if n := uint64(len(h.Boundaries)); n > 0 && !w.front.tables[i] {
		s.boundaries, s.waits = s.boundaries+n, true
	}
	w.tell(label{round: w.round, input: it.input, kind: letters})
}

// Admit implements [virtual.Tap]: it takes in one thing after the other, to know what comes of which.
func (w *worker) Admit(i int, h *accumulator.Handoff) {
	core, now, m := w.g.Core(), w.g.Now(), &w.made[i]
	w.one = accumulator.Handoff{Mark: h.Mark}
	of := label{round: w.when(), input: int32(i)}
	ordered := w.front.orders[i] != nil
	for n := range h.Boundaries {
		of.seq, of.value = seqOf(m.own, n), boundary.Value{}
		if ordered {
			of.value = h.Boundaries[n].Value
		}
		w.one.Boundaries = h.Boundaries[n : n+1 : n+1]
		if core.Joined(i) {
			w.admitSide(i, m.heard[n], of)
		} else {
			w.labels.add(of)
			core.Admit(now, i, &w.one, 0)
		}
		w.tell(of)
	}
	w.one.Boundaries, of.kind, of.value = nil, late, boundary.Value{}
	for n := range h.Late {
		of.seq = seqOf(m.late, n)
		w.labels.add(of)
		w.one.Late = h.Late[n : n+1 : n+1]
		core.Admit(now, i, &w.one, 0)
		w.tell(of)
	}
	w.one.Late, of.kind = nil, letters
	for n := range h.DeadLetters {
		of.seq, of.value = seqOf(m.letters, n), boundary.Value{}
		if l := &h.DeadLetters[n]; ordered && l.Folded {
			of.value, _ = w.decoder.Decode(l.Payload) // ours
		}
		w.one.DeadLetters = h.DeadLetters[n : n+1 : n+1]
		core.Admit(now, i, &w.one, 0)
		w.tell(of)
	}
	if w.one.DeadLetters = nil; len(h.Boundaries)+len(h.Late)+len(h.DeadLetters) == 0 {
		core.Admit(now, i, &w.one, 0)
	}
	m.own, m.late, m.letters, m.heard = m.own[:0], m.late[:0], m.letters[:0], m.heard[:0]
}

// admitSide takes in the one boundary of a side of a join. What that makes of it has its place.
func (w *worker) admitSide(i int, heard int64, of label) {
	core := w.g.Core()
	if heard != never {
		core.Heard(i, heard)
	}
	w.joining, w.from = true, of
	core.Admit(w.g.Now(), i, &w.one, 0)
	w.joining = false
}

// handed takes in what a join hands over: in the place of the event that has completed it, or where time has, behind
// everything else of the round, since a join goes on when the graph is at rest.
func (w *worker) handed(i int, bs []boundary.Boundary) {
	of := w.from
	for n := range bs {
		if !w.joining {
			of = label{round: w.when(), input: int32(len(w.made) + i), value: bs[n].Value}
		}
		w.labels.add(of)
		w.g.Core().TakeIn(i, bs[n:n+1:n+1])
		w.tell(of)
	}
}

// seqOf is which event the n-th of a handoff came of: 0 for what time has completed.
func seqOf(list []uint64, n int) uint64 {
	if n < len(list) {
		return list[n]
	}
	return 0
}

// Fired implements [virtual.Tap].
func (w *worker) Fired() {
	core, c := w.g.Core(), w.chunk
	e := entry{round: w.when(), fired: true, of: w.labels.get(core.Completed()), epochs: core.Epoch() - w.epoch}
	w.epoch += e.epochs
	c.out = append(c.out, core.Released()...)
	w.told = w.letters()
	e.out, e.letters = len(c.out), w.told
	c.entries = append(c.entries, e)
	for i := range w.shared {
		if s := &w.shared[i]; s.waits && !core.Look().Inputs[i].Dirty {
			s.waits = false
			s.consumed = append(s.consumed, s.boundaries)
		}
	}
}

// tell makes an entry of the letters since the last one.
func (w *worker) tell(of label) {
	n := w.letters()
	if n == w.told {
		return
	}
	w.told = n
	w.chunk.entries = append(w.chunk.entries, entry{round: w.when(), of: of, out: len(w.chunk.out), letters: n})
}

// expired makes an entry of what a key leaves at its ttl: keys of one time go in the order of their last arrivals, and
// before anything else happens at that time.
func (w *worker) expired(arrival uint64) { w.tell(w.labels.get(arrival)) }

// letters is how many there are of this batch.
func (w *worker) letters() int {
	return len(w.chunk.letters) + len(w.g.Letters()) + w.g.Core().DeadLettersPending()
}

// gather takes over the letters of a graph at rest.
func (w *worker) gather() {
	w.tell(label{round: w.when(), input: int32(len(w.made)) - 1, kind: letters})
	w.chunk.letters = append(w.chunk.letters, w.g.Letters()...)
	w.g.DropLetters()
}

// when is the round at hand.
func (w *worker) when() round {
	now := nanoOf(w.g.Now())
	switch {
	case w.open, w.ended && now == w.round.at:
		return w.round
	case now == w.round.at:
		return round{at: now, phase: afterward}
	}
	return round{at: now, phase: onTheWay}
}

func nanoOf(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixNano()
}
