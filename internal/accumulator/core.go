package accumulator

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/refused"
)

// Limits bound what one event may be.
type Limits struct {
	MaxEventBytes int // 0: what the Program was compiled with
	MaxDepth      int // nesting of an event; 0: the decoder's default
}

// Status is what became of an event.
type Status uint8

// The fates of an event.
const (
	Accepted     Status = iota // folded
	Filtered                   // `where` was false
	Rejected                   // unusable, and its sender is told
	DeadLettered               // unusable, and kept as a dead letter
)

// String names the status as counters do.
func (s Status) String() string {
	names := [...]string{"accepted", "filtered", "rejected", "dead_lettered"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Outcome says what became of one event, and why when it was refused.
type Outcome struct {
	Status Status
	Stage  string // set when Rejected or DeadLettered, as are the others
	Code   string
	Detail string
}

// Core is the fold of one accumulator: events in, boundaries, dead letters and marks
// out. It has no goroutine and no clock, and does the same for the same calls. One
// goroutine owns it.
type Core struct {
	p         *Program
	lim       Limits
	in        *intake
	fold      fold.Fold
	folding   fold.Input // the event that is being folded; reused
	mark      Mark       // without State, which is the fold's
	shared    bool       // mark.Positions is in somebody else's hands: copy before writing
	moved     int        // which of mark.Positions moved last: events come by stream
	out       []boundary.Boundary
	array     []boundary.Boundary // the whole array that out is the rest of
	slab      int                 // how many boundaries to allocate next; 0: minSlab
	letters   []checkpoint.DeadLetter
	late      []boundary.Boundary // see Handoff.Late
	heard     []fold.Heard        // since the last handoff, see Pass
	changed   bool                // since the last Drain
	ephemeral bool                // see Ephemeral
	others    int64               // events of the input that other Cores take
	failures  *fold.Failures      // of the fold; nil: it cannot fail
	hands     fold.Handing        // the fold, if it is one
	straight  *boundary.Boundary  // see Straight; nil: the next needs memory of its own
	refused   *refused.Log        // of what comes to nothing; nil: nobody wants to know
}

// NewCore makes an empty Core. [Program.Project] must have been called.
func NewCore(p *Program, lim Limits) *Core {
	return NewCoreWith(p, lim, NewFold(p))
}

// NewCoreWith is NewCore with a fold of the caller's own.
func NewCoreWith(p *Program, lim Limits, f fold.Fold) *Core {
	if lim.MaxEventBytes <= 0 {
		lim.MaxEventBytes = p.maxEventBytes
	}
	c := &Core{p: p, lim: lim, in: newIntake(p, lim), fold: f}
	if f, can := f.(fold.Failing); can {
		c.failures = f.Failures()
	}
	c.hands, _ = f.(fold.Handing)
	return c
}

// Ephemeral says that nobody will restore what this Core does: its marks have no state,
// which spares it the snapshots.
func (c *Core) Ephemeral() { c.ephemeral = true }

// Lasting ends Ephemeral: marks have a state again, and the next Drain has one in any case.
func (c *Core) Lasting() { c.ephemeral, c.changed = false, true }

// Add takes one event at engine time now; pulled says that it came from the source and
// not from a sender who waits for an answer. The event's memory belongs to the Core from
// then on. A panic leaves the Core as it was before the call, see [Core.Poison].
func (c *Core) Add(now time.Time, ev *boundary.Event, pulled bool) Outcome {
	at := fold.Arrival(now, ev)
	if c.p.dates {
		at = c.happened(now, ev)
	}
	v, keep, bad := c.in.value(ev)
	if bad != nil {
		return c.refuse(now, ev, pulled, bad)
	}
	if keep {
		if len(c.out) == cap(c.out) {
			c.grow()
		}
		var said fold.Verdict
		n := len(c.out)
		c.folding.Value, c.folding.Event, c.folding.Facts = v, ev, &c.in.facts
		c.folding.Number, c.folding.At = c.mark.Counters.Received+c.others+1, at
		if c.out, said = c.fold.Add(now, &c.folding, c.out); said != fold.Folded {
			return c.unfolded(now, ev, pulled, said)
		}
		c.folded(now, n)
	}
	c.receive(now, ev)
	if !keep {
		c.mark.Counters.Filtered++
		if c.refused != nil {
			c.noteFiltered(now, ev, v)
		}
		return Outcome{Status: Filtered}
	}
	return Outcome{Status: Accepted}
}

// AddBad takes an event that its source could not read, or that a driver cannot use.
func (c *Core) AddBad(now time.Time, ev *boundary.Event, pulled bool, bad *BadEvent) Outcome {
	return c.refuse(now, ev, pulled, bad)
}

// Poison takes an event whose Add panicked, so that the books and the position go on
// behind it and a replay does not meet it again (M35).
func (c *Core) Poison(now time.Time, ev *boundary.Event, pulled bool, text string) Outcome {
	c.in = newIntake(c.p, c.lim) // its scratch may be in any state
	return c.refuse(now, ev, pulled, Panicked(text))
}

// RefuseTail counts n pushed events that were received and not taken: the tail of a push
// that waited too long, or a body that could not be parsed (M42).
func (c *Core) RefuseTail(n int64) {
	c.mark.Counters.Received += n
	c.mark.Counters.Rejected += n
	c.changed = c.changed || n > 0
}

// Advance says that all before pos has been read, although no event ends there.
func (c *Core) Advance(now time.Time, pos boundary.Position) {
	if f, ok := c.fold.(fold.Partitioned); ok {
		f.Partition(pos.Stream, now)
	}
	c.moveTo(pos)
	c.changed = true
}

// Due is when Tick must be called next; false when nothing waits for time to pass.
func (c *Core) Due() (time.Time, bool) { return c.fold.Due() }

// Tick completes what is due at now.
func (c *Core) Tick(now time.Time) {
	if at, ok := c.fold.Due(); ok && !now.Before(at) {
		n := len(c.out)
		c.out = c.fold.Tick(now, c.out)
		c.folded(now, n)
		c.changed = true
	}
}

// Unheard says that for so long, up to now, nothing of the source could come in. It is false where that is too short to
// matter to a silence.
func (c *Core) Unheard(d time.Duration) bool {
	f, ok := c.fold.(fold.Hearing)
	return ok && f.Unheard(d)
}

// folded settles what the fold has done: the boundaries from the n-th on get their keys,
// and what has none to hand over becomes dead letters.
func (c *Core) folded(now time.Time, n int) {
	if c.in.keys != nil {
		c.giveKeys(now, n)
	}
	if c.failures != nil && c.failures.Any() {
		c.deadLetterFailures(now)
	}
}

// giveKeys gives the boundaries from the n-th on their keys. What was one event has its key
// already; of what was folded from several it is made here, and without one the boundary
// becomes a dead letter.
func (c *Core) giveKeys(now time.Time, n int) {
	if c.p.folds == nil {
		for i := n; i < len(c.out); i++ {
			c.out[i].Key = c.in.key
		}
		return
	}
	kept := n
	for i := n; i < len(c.out); i++ {
		b := &c.out[i]
		var bad *BadEvent
		if b.Key, bad = c.in.keys.ofBoundary(b.Value); bad == nil {
			c.out[kept] = *b
			kept++
			continue
		}
		c.mark.Counters.DeadLettered += b.Events
		c.letters = append(c.letters, checkpoint.DeadLetter{
			At: now, Accumulator: c.p.name, Stage: bad.Stage, Code: bad.Code, Reason: bad.Text,
			Events: b.Events, Payload: b.Value.AppendJSON(nil), Folded: true, Position: b.Last.String(),
		})
	}
	clear(c.out[kept:])
	c.out = c.out[:kept]
}

// EndOfInput completes what is buffered, whenever time would: the end of a bounded run. A live accumulator
// never does so; what is open at a shutdown stays open in its state.
func (c *Core) EndOfInput(now time.Time) {
	n, letters := len(c.out), len(c.letters)
	c.out = c.fold.End(c.out)
	c.folded(now, n)
	c.changed = c.changed || len(c.out) > n || len(c.letters) > letters
}

// Pending is how many boundaries and dead letters wait for Drain, and whether a mark does.
func (c *Core) Pending() (boundaries, letters int, mark bool) {
	return len(c.out) + len(c.late), len(c.letters), c.changed
}

// Counters are the books as of now.
func (c *Core) Counters() Counters {
	ctr := c.mark.Counters
	ctr.Open = c.fold.Open()
	return ctr
}

// Drain moves what is complete into h, which is the caller's to keep, and sets h's mark to
// now. It is false, and h unchanged, when nothing happened since the last Drain.
func (c *Core) Drain(h *Handoff) bool {
	if !c.changed {
		return false
	}
	n := len(c.out)
	h.Boundaries, c.out = c.out[:n:n], c.out[n:]
	if c.hands != nil { // in memory of its own: the array would hold on to what was handed over before
		h.Boundaries = c.hands.Hand(nil)
	}
	h.DeadLetters, c.letters = c.letters, nil
	h.Late, h.Heard, c.late, c.heard = c.late, c.heard, nil, nil
	h.Refused = c.refused.Batch()
	h.Mark = c.mark
	h.Mark.Counters.Open, h.Mark.Late = c.fold.Open(), c.Late()
	if !c.ephemeral {
		h.Mark.State = c.fold.State()
	}
	// What nobody restores is read before the next event comes, and need not be copied for it.
	c.shared, c.changed = !c.ephemeral, false
	return true
}

// Boundaries are allocated so many at a time, across handoffs: it makes the cost of
// allocating them small, however few a handoff has.
const (
	minSlab = 64
	maxSlab = 1024
)

// grow makes room in out, all of it zero.
func (c *Core) grow() {
	room := max(c.slab, minSlab)
	if n := len(c.out); n > 0 {
		// A handoff is one slice: one larger than the slab is moved, and the next slab is larger.
		room = max(room, 2*n)
		c.slab = min(max(c.slab, room), maxSlab)
	}
	c.array = make([]boundary.Boundary, room)
	c.out = c.array[:copy(c.array, c.out)]
}

// Recycle says that no boundary of any handoff is in use any more: their memory serves
// the next ones. Without it they are never written again.
func (c *Core) Recycle() {
	left := cap(c.out)
	if len(c.out) > 0 || left == 0 || left > len(c.array) {
		return
	}
	used := len(c.array) - left
	if &c.out[:1][0] != &c.array[used] { // a fold has made an array of its own
		return
	}
	if c.p.spoils {
		for i := range used {
			c.array[i] = spoiledBoundary()
		}
		c.array, c.out = nil, nil
		return
	}
	clear(c.array[:used])
	c.out = c.array[:0]
}

func spoiledBoundary() boundary.Boundary {
	return boundary.Boundary{Value: boundary.String("spoiled"), Key: "spoiled", Raw: []byte("spoiled")}
}

// receive books the arrival of ev.
func (c *Core) receive(now time.Time, ev *boundary.Event) {
	c.mark.Counters.Received++
	c.mark.LastEventAt = fold.Arrival(now, ev)
	c.changed = true
	c.moveTo(ev.Pos)
}

// moveTo makes pos the resume point of its stream. The zero position is none.
func (c *Core) moveTo(pos boundary.Position) {
	if pos.IsZero() {
		return
	}
	if i := c.moved; !c.shared && i < len(c.mark.Positions) && c.mark.Positions[i].Stream == pos.Stream {
		c.mark.Positions[i].Offset = pos.Offset
		return
	}
	if c.shared {
		c.mark.Positions, c.shared = slices.Clone(c.mark.Positions), false
	}
	i := c.moved
	if i >= len(c.mark.Positions) || c.mark.Positions[i].Stream != pos.Stream {
		i = slices.IndexFunc(c.mark.Positions, func(p boundary.Position) bool {
			return boundary.SameStream(p.Stream, pos.Stream)
		})
	}
	if i < 0 {
		i, c.mark.Positions = len(c.mark.Positions), append(c.mark.Positions, pos)
	}
	c.mark.Positions[i], c.moved = pos, i
}

// refuse books an event that cannot be used.
func (c *Core) refuse(now time.Time, ev *boundary.Event, pulled bool, bad *BadEvent) Outcome {
	c.in.of = nil
	o := Outcome{Status: Rejected, Stage: bad.Stage, Code: bad.Code, Detail: bad.Text}
	if pulled {
		o.Status = DeadLettered
		c.letters = append(c.letters, c.letter(now, ev, bad))
		c.mark.Counters.DeadLettered++
	} else {
		c.mark.Counters.Rejected++
	}
	c.receive(now, ev)
	return o
}

// letter is ev as a dead letter. Its id is the reactor's to give.
func (c *Core) letter(now time.Time, ev *boundary.Event, bad *BadEvent) checkpoint.DeadLetter {
	l := checkpoint.DeadLetter{
		At: now, Accumulator: c.p.name, Stage: bad.Stage, Code: bad.Code, Reason: bad.Text,
		Events: 1, Payload: ev.Raw, Position: ev.Pos.String(), ReplayOf: ev.Origin,
	}
	if ev.Raw == nil && !ev.Value.IsAbsent() {
		l.Payload = ev.Value.AppendJSON(nil)
	}
	return l
}

// Waits says that time may have to pass for something to be complete: whether [Core.Due] can ever have an answer.
func (c *Core) Waits() bool { return c.p.folds != nil }

// Capacity is what the Program says of how much may wait for the reactor; 0: the default.
func (c *Core) Capacity() (boundaries int, bytes int64) { return c.p.capacity, c.p.capacityBytes }
