package reactor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// ErrDiverged says that a replay of the journal came to other epochs than were recorded:
// another release computes something else. The checkpoint is to be restored again, and the
// journal replayed with AdmitOnly.
var ErrDiverged = errors.New("the replay of the journal came to other epochs than were recorded")

// Replayer replays a journal on a core that was restored and not started (M29).
type Replayer struct {
	c    *Core
	plan string // the plan of the entries at hand
	// clock is the one that the entries at hand go by. Times of the other clock mean nothing: what
	// was admitted then is admitted at the present instant, and nothing else is replayed.
	clock string
	joins map[string]string // that the entries at hand were admitted to: their identities, by the name of the input
	keys  map[string]string // that the entries at hand were admitted under, see [Config.keyIdentities]; none: not known
	// AdmitOnly takes in what was admitted and runs no epoch of it: the epochs that were
	// recorded cannot be run again. Their numbers are not used again.
	AdmitOnly bool

	entries, epochs int64
	anew            bool // something was taken in under another plan
	highest         int64

	heard   []fold.Heard // see logHeard, and
	heardOf int          // of which input
}

// NewReplayer makes a replayer; head is what the core was restored from.
func NewReplayer(c *Core, head checkpoint.Head) *Replayer {
	r := &Replayer{c: c, plan: c.cfg.PlanHash, clock: c.cfg.clock(), highest: c.epoch,
		joins: make(map[string]string), keys: make(map[string]string)}
	if m, there, err := form.ReadMeta(head.Meta); there && err == nil { // Restore has read it before
		r.plan, r.clock = m.Plan, m.Clock
		maps.Copy(r.joins, m.Joins)
		maps.Copy(r.keys, m.Keys)
	}
	return r
}

// After is the entry behind which the replay begins.
func (r *Replayer) After() int64 { return r.c.journal.seq }

// Outcome is how many entries and epochs were replayed; anew says that the declaration is another
// by now, so that what was admitted is fired again, in epochs with new numbers.
func (r *Replayer) Outcome() (entries, epochs int64, anew bool) { return r.entries, r.epochs, r.anew }

// Entry replays one entry; they come in order.
func (r *Replayer) Entry(e checkpoint.JournalEntry) error {
	in := form.Reader{Rest: e.Data}
	r.c.journal.replay = &replay{}
	r.c.CloseInstant()
	defer func() { r.c.journal.replay = nil }()
	for len(in.Rest) > 0 && in.Err == nil {
		kind := in.Rest[0]
		in.Rest = in.Rest[1:]
		if err := r.call(kind, &in); err != nil {
			return fmt.Errorf("journal entry %d: %w", e.Seq, err)
		}
	}
	if in.Err != nil {
		return fmt.Errorf("%w: journal entry %d: %w", ErrCorrupt, e.Seq, in.Err)
	}
	r.c.journal.seq = e.Seq
	r.entries++
	return nil
}

// Done ends the replay. What queues got rid of is no news to anybody.
func (r *Replayer) Done() {
	if r.highest > r.c.epoch {
		r.c.epoch = r.highest
		r.c.changes.head = true
	}
	clear(r.c.freed)
	clear(r.c.owed)
}

// foreign reports whether the entries at hand go by the other clock.
func (r *Replayer) foreign() bool { return r.clock != r.c.cfg.clock() }

// fires reports whether recorded fires are run again.
func (r *Replayer) fires() bool {
	if r.AdmitOnly || r.plan != r.c.cfg.PlanHash || r.foreign() {
		r.anew = true
		return false
	}
	return true
}

func (r *Replayer) call(kind byte, in *form.Reader) error {
	c := r.c
	switch kind {
	case logBegin, logJoin, logClock:
		r.start(kind, in)
		return nil
	case logMark:
		return r.mark(in)
	}
	now := in.Time()
	if r.foreign() {
		now = c.now
	}
	switch kind {
	case logOpen:
		if in.Err == nil && !r.foreign() {
			c.OpenInstant(form.Nano(now))
		}
	case logAdmit:
		return r.admit(now, in)
	case logHeard:
		r.heardOf = r.c.input(in.Text())
		r.heard = in.Heard()
	case logTable:
		return r.table(in)
	case logLate:
		return r.late(in)
	case logFollow:
		return r.follow(now, in)
	case logFeed:
		r.feed(now, in)
	case logAnswer:
		r.answer(in)
	case logPace:
		r.pace(in, now)
	case logTick:
		if in.Err == nil {
			c.Tick(now)
		}
	case logFire:
		return r.outcome(in, func() bool {
			if c.ticked == form.Never {
				// Nothing was ever committed, so when the cadence began is not known: it was before.
				c.ticked = form.Nano(now) - int64(c.cfg.Every)
			}
			return c.Fire(now) || c.asked
		})
	case logForce, logShow:
		key := boundary.Key(in.Text())
		return r.outcome(in, func() bool { _, err := c.ForceFire(now, key, kind == logForce); return err == nil })
	case logWith:
		return r.with(in, now)
	case logPause:
		if by := in.Text(); in.Err == nil {
			c.Pause(now, by)
		}
	case logStop:
		r.stop(now, in)
	case logBack:
		if in.Err == nil && !r.foreign() {
			c.SetBack(now)
		}
	case logResume:
		if in.Err == nil {
			c.Resume(now)
		}
	default:
		return fmt.Errorf("%w: it holds a record of kind %q, which this graphd does not know; run a newer graphd",
			ErrCorrupt, kind)
	}
	return nil
}

// start reads what the entries of a start go by.
func (r *Replayer) start(kind byte, in *form.Reader) {
	switch kind {
	case logBegin:
		in.Int()
		clear(r.c.caught) // what is written behind it says so; an earlier release does not
		r.plan, r.clock, r.joins, r.keys = in.Text(), "", make(map[string]string), make(map[string]string)
	case logJoin:
		name := in.Text()
		r.joins[name] = in.Text()
	default:
		r.clock = eventClock
	}
}

// feed takes in an event of a stage that is not its node's.
func (r *Replayer) feed(now time.Time, in *form.Reader) {
	c := r.c
	i := c.input(in.Text())
	ev := boundary.Event{At: in.Time(), Raw: []byte(in.Text()), Origin: in.Text()}
	if in.Err == nil && c.stages.Of(i) != nil {
		c.Feed(now, i, &ev)
	}
}

// outcome reads what a fire came to, and fires to come to the same.
func (r *Replayer) outcome(in *form.Reader, fire func() bool) error {
	epoch := in.Int()
	*r.c.journal.replay = replay{timeout: in.Uint() == 1, degraded: in.Names()}
	r.highest = max(r.highest, epoch)
	if in.Err != nil || !r.fires() {
		return nil
	}
	before := r.c.epoch
	if !fire() || r.c.epoch != epoch {
		return fmt.Errorf("%w: after epoch %d it recorded epoch %d, and the replay came to %d", ErrDiverged, before,
			epoch, r.c.epoch)
	}
	if late := r.c.journal.replay.timeout; r.c.epoch > before && r.c.timedOut != late {
		return fmt.Errorf("%w: that epoch %d ran out of its time: recorded %t, in the replay %t", ErrDiverged, epoch,
			late, r.c.timedOut)
	}
	r.epochs += r.c.epoch - before
	return nil
}

func (r *Replayer) admit(now time.Time, in *form.Reader) error {
	i, conflated := r.c.input(in.Text()), in.Int()
	h := &accumulator.Handoff{}
	n := in.Uint()
	if n > uint64(len(in.Rest)) {
		in.Fail()
	}
	for range n {
		if in.Err != nil {
			return nil
		}
		h.Boundaries = append(h.Boundaries, *in.Boundary())
	}
	n = in.Uint()
	for range n {
		if in.Err != nil {
			return nil
		}
		var l checkpoint.DeadLetter
		if err := json.Unmarshal([]byte(in.Text()), &l); err != nil {
			return fmt.Errorf("%w: a dead letter in it: %w", ErrCorrupt, err)
		}
		h.DeadLetters = append(h.DeadLetters, l)
	}
	if in.Err != nil {
		return nil
	}
	if i < 0 {
		return nil // an input that the declaration no longer has
	}
	if r.heardOf == i && r.c.Joined(i) {
		h.Heard = r.heard
	}
	r.heard, r.heardOf = nil, noInput
	r.c.resolve(i, h)
	left, foreign := r.leave(i, h), r.rekeyed(i, &h.Boundaries)
	h.Mark = r.c.accs[i].mark // the one that is true comes with the end of the entry
	restored, parts := r.c.accs[i].restored, r.c.accs[i].parts.restored
	r.c.Admit(now, i, h, conflated)
	for n := range left {
		r.c.leaveSide(i, &left[n])
	}
	for n := range foreign {
		r.c.deadLetterForeign(i, &foreign[n])
	}
	r.c.accs[i].restored, r.c.accs[i].parts.restored = restored, parts
	return nil
}

// late takes late events in. In the handoff they came behind its boundaries, and so they do here.
func (r *Replayer) late(in *form.Reader) error {
	i, n := r.c.input(in.Text()), in.Uint()
	if n > uint64(len(in.Rest)) {
		in.Fail()
	}
	var late []boundary.Boundary
	for range n {
		if in.Err != nil {
			return nil
		}
		late = append(late, *in.Boundary())
	}
	if in.Err != nil || i < 0 {
		return nil // it is gone
	}
	for n, foreign := 0, r.rekeyed(i, &late); n < len(foreign); n++ {
		r.c.deadLetterForeign(i, &foreign[n])
	}
	r.c.admitTo(i, late)
	return nil
}

// follow completes what a stage input held open, where the epochs that fed it were run again. A join is fed by what is
// admitted, whether epochs are run or not, and goes on with it: or it would keep all that it had let go of.
func (r *Replayer) follow(now time.Time, in *form.Reader) error {
	i, to := r.c.input(in.Text()), in.Time()
	if in.Err != nil {
		return nil
	}
	if s, fires := r.c.stages.Of(i), r.fires(); s != nil && (fires || s.Joins && r.goesOn(s)) {
		r.c.advance(now)
		if s.Joins {
			s.Pass(to) // there may be nothing but that it has come so far
		} else {
			s.Quiet(to)
		}
		r.c.followed(s)
	}
	return nil
}

func (r *Replayer) mark(in *form.Reader) error {
	name := in.Text()
	i, data := r.c.input(name), []byte(in.Text())
	if in.Err != nil {
		return nil
	}
	switch name {
	case keysName:
		return r.readKeys(data)
	case caughtName:
		return r.readCaught(data)
	}
	if i < 0 {
		return nil
	}
	r.c.changes.accs[i] = true
	r.c.accs[i].parts.restored = nil // the state that comes is in one piece
	if _, err := r.c.restoreAccount(i, data); err != nil {
		return fmt.Errorf("%w: the mark of input %s: %w", ErrCorrupt, r.c.cfg.Inputs[i].Name, err)
	}
	if r.c.cfg.Inputs[i].Table != nil {
		r.c.accs[i].mark.State = r.c.accs[i].table
	}
	return nil
}

func (r *Replayer) with(in *form.Reader, now time.Time) error {
	key := boundary.Key(in.Text())
	replace := in.Uint() == 1
	n := in.Uint()
	if n > uint64(len(in.Rest)) {
		in.Fail()
	}
	var values []boundary.Value
	for range n {
		if in.Err != nil {
			return nil
		}
		values = append(values, in.Value())
	}
	return r.outcome(in, func() bool {
		if len(values) != len(r.c.cfg.Inputs) {
			return false
		}
		_, err := r.c.FireWith(now, key, slices.Clip(values), replace)
		return err == nil
	})
}
