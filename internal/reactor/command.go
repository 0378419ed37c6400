package reactor

import (
	"errors"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// ErrState refuses a command that the graph's state forbids; the control plane answers 409.
var ErrState = errors.New("the graph's state forbids this command")

// ErrNotPaused refuses Step on a graph that is not paused.
var ErrNotPaused = errors.New("the graph is not paused; pause it before stepping")

// ErrNoKey says that a keyed graph does not have this key.
var ErrNoKey = errors.New("the graph does not have this key")

// ErrTable refuses a FireWith that would replace a table, or that gives none.
var ErrTable = errors.New("a table is given for one epoch only, as an object of its rows by key: send it with " +
	"replace: false (fire --no-replace), or push what changes in it")

// ErrKeyNeeded refuses a command that does not say which key of a keyed graph it is for.
var ErrKeyNeeded = errors.New("the graph has a state for each key; say which")

// FireResult is what a commanded epoch came to.
type FireResult struct {
	Epoch    int64
	Cause    Cause
	Err      string // "" when the epoch was kept
	Outputs  []string
	Values   []boundary.Value
	Duration time.Duration
}

// ForceFire makes a normal cut now, whatever criteria, guard, rate limit, pause or warming
// say: the newest of every latest input and at most one head of every sequential one (M11).
// Then every output puts out its current value, with onlyChanged only those whose value ticked.
// The key is "" in an unkeyed graph; one that a keyed graph does not have is [ErrNoKey].
func (c *Core) ForceFire(now time.Time, key boundary.Key, onlyChanged bool) (FireResult, error) {
	c.Tick(now)
	if err := c.mayCommand(); err != nil {
		return FireResult{}, err
	}
	k, err := c.find(key)
	if err != nil {
		return FireResult{}, err
	}
	c.cell = k
	c.cut.reset()
	for i := range c.cfg.Inputs {
		c.cutFrom(i)
	}
	c.wake(k)
	c.emitAll = !onlyChanged
	c.show(CauseForce)
	ran := c.run(CauseForce)
	c.emitAll = false
	c.reschedule(k)
	if !ran {
		return FireResult{}, ErrUnanswered
	}
	c.handStages()
	c.logForce(key, onlyChanged)
	return c.fireResult(), nil
}

// FireWith runs one epoch on injected values, one per input and absent where none was
// given (M11). With replace they are the whole cache from then on: flags are cleared,
// queues kept; what all keys share is replaced only where a value is given. Without, they
// overlay the live cache for this epoch alone: its outputs are released and nothing else
// changes. A key that a keyed graph does not have is made, if its epoch is kept with replace.
func (c *Core) FireWith(now time.Time, key boundary.Key, values []boundary.Value, replace bool) (FireResult, error) {
	c.Tick(now)
	if err := c.mayCommand(); err != nil {
		return FireResult{}, err
	}
	k, err := c.find(key)
	switch {
	case errors.Is(err, ErrNoKey):
		k = c.newCell(key)
	case err != nil:
		return FireResult{}, err
	}
	c.cell = k
	c.cut.reset()
	c.snapshot()
	for i, v := range values {
		switch {
		case !v.IsAbsent():
			if t := c.cfg.Inputs[i].Table; t != nil {
				if v, err = t.Made(v); err != nil || replace {
					return FireResult{}, ErrTable
				}
			}
			c.cut.inject(i, v, c.stamp+1)
		case replace && c.cut.versions[i] != 0 && !c.isShared(i) && c.cfg.Inputs[i].Table == nil:
			c.cut.inject(i, boundary.Value{}, c.stamp+1)
		}
	}
	c.epoch++
	c.prepare(c.epoch, CauseWith)
	c.ep.Aside = !replace
	c.cfg.Plan.Run(&k.nodes, &c.ep, &c.res)
	if c.calls != nil && c.postpone(CauseWith) {
		return FireResult{}, ErrUnanswered
	}
	if replace && c.res.Err == nil {
		c.putCuts(CauseWith)
	}
	rec := c.record(CauseWith, true)
	if err := c.res.Err; err != nil {
		// Nothing was taken and nothing is kept: the injected values leave no trace (M21).
		rec.Err, rec.ErrCode = c.failure(err), err.Code
	} else {
		c.lastFired = c.housekeeping()
		if replace {
			c.replaceCache(k, values)
		}
		c.release(rec)
	}
	c.finish(rec)
	c.cut.reset()
	if replace || c.journal.replay != nil { // the next epoch is about something else, or there is no other
		c.answered(k.key)
	}
	c.handStages()
	c.logWith(key, values, replace)
	return c.fireResult(), nil
}

// replaceCache makes the injected values the current state, after their epoch was good.
func (c *Core) replaceCache(k *cell, values []boundary.Value) {
	c.cfg.Plan.Commit(&k.nodes, &c.res)
	c.ran()
	if c.stages != nil {
		c.feed()
	}
	for i, v := range values {
		if c.isShared(i) && v.IsAbsent() || c.cfg.Inputs[i].Table != nil {
			continue
		}
		s := c.slotOf(k, i)
		if s.pend != nil {
			c.accs[i].conflated += s.pend.Events
			c.lower(k, i)
		}
		for in := &c.cfg.Inputs[i]; in.Group != 0 && !in.bounded() && s.queue.len() > 0; {
			c.accs[i].conflated += c.pop(k, i).b.Events
		}
		s.cur, s.at, s.version = v, from{}, 0
		if !v.IsAbsent() {
			s.version = c.stamp + 1
		}
		c.touch(k, i)
	}
	c.stamp = c.ep.Stamp
	c.kept++
	if k != c.shared && c.keys.byKey.Get(k.key) == nil {
		c.insert(k)
	}
	c.wake(k)
	c.rewait(k)
	c.reschedule(k)
}

// find is the cell of a key. An unkeyed graph has one, whatever the key.
func (c *Core) find(key boundary.Key) (*cell, error) {
	switch k := c.keys.byKey.Get(key); {
	case c.cfg.Keys == nil:
		return c.shared, nil
	case key == "":
		return nil, ErrKeyNeeded
	case k == nil:
		return nil, ErrNoKey
	default:
		return k, nil
	}
}

// wake lets the guard of a key be asked again.
func (c *Core) wake(k *cell) {
	k.waits = false
	delete(c.keys.waiting, k)
}

// reschedule looks at a key's criteria again after a command has changed it.
func (c *Core) reschedule(k *cell) {
	if c.cfg.Keys != nil {
		c.schedule(k)
	}
}

func (c *Core) mayCommand() error {
	if c.journal.replay != nil {
		return nil // it was allowed when it was recorded
	}
	switch c.life.state {
	case HealthStarting, HealthFailed, HealthStandby, HealthStopped:
		return ErrState
	}
	return nil
}

// fireResult reads the newest record before the ring reuses it.
func (c *Core) fireResult() FireResult {
	r := c.ring.scratch
	if c.ring.keep > 0 {
		r = c.ring.at(c.ring.total - 1)
	}
	res := FireResult{Epoch: r.Epoch, Cause: r.Cause, Err: r.Err, Duration: r.Duration}
	for _, e := range r.Emitted {
		res.Outputs = append(res.Outputs, c.cfg.Outputs[e.Output])
		res.Values = append(res.Values, e.Value)
	}
	return res
}

// Pause stops the evaluation; boundaries go on accumulating within their bounds. It
// reports whether anything changed: a pause is durable before it is answered (W27).
func (c *Core) Pause(now time.Time, by string) bool {
	c.Tick(now)
	c.steps = 0
	if c.paused {
		return false
	}
	c.waitAnew()
	c.paused, c.pausedBy, c.pausedAt = true, by, c.housekeeping()
	c.changes.head = true
	c.logPause(by)
	return true
}

// Resume goes on; what accumulated is evaluated at once (M12).
func (c *Core) Resume(now time.Time) bool {
	c.Tick(now)
	c.steps = 0
	if !c.paused {
		return false
	}
	c.waitAnew()
	c.paused, c.pausedBy, c.pausedAt = false, "", time.Time{}
	c.changes.head = true
	c.logResume()
	return true
}

// Step allows n more epochs by the normal criteria while paused. They run in the Fire
// calls that follow.
func (c *Core) Step(now time.Time, n int) error {
	c.Tick(now)
	if !c.paused {
		return ErrNotPaused
	}
	if err := c.mayCommand(); err != nil {
		return err
	}
	c.steps = n
	c.waitAnew()
	return nil
}

// Steps is how many epochs of a Step are left.
func (c *Core) Steps() int { return c.steps }

// EndSteps withdraws what is left of a Step.
func (c *Core) EndSteps() { c.steps = 0 }

// Paused reports whether the evaluation is paused.
func (c *Core) Paused() bool { return c.paused }

// Stop ends the firing for good: the epoch boundary of a shutdown (M38).
func (c *Core) Stop() { c.life.set(HealthStopped, "stopped", "the graph was stopped") }
