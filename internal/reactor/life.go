package reactor

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor/form"
)

// Health is a graph's state (M10).
type Health string

// The states of a graph. Live and degraded graphs fire.
const (
	HealthStarting Health = "starting"
	HealthWarming  Health = "warming"
	HealthLive     Health = "live"
	HealthDegraded Health = "degraded"
	HealthStandby  Health = "standby"
	HealthHalted   Health = "halted"
	HealthFailed   Health = "failed"
	HealthStopped  Health = "stopped"
)

// checkpointName and clockName stand for what is no accumulator in the list of what is degraded.
const (
	checkpointName = "checkpoint"
	clockName      = "clock"
)

// life is where a graph is between starting and stopped, and why.
type life struct {
	state        Health
	code, detail string
	warmUntil    time.Time // zero: no bound
	warmed       bool      // warming is over, by health or by timeout
	persist      Obstacle  // why checkpoints cannot be written; zero when they can
	clockStep    time.Duration
	full         []int  // inputs without room while no epoch can complete
	heldBy       string // who has been waited for under the event clock; see SetHeldBack
}

func (l *life) firing() bool { return l.state == HealthLive || l.state == HealthDegraded }

func (l *life) due() (time.Time, bool) {
	return l.warmUntil, l.state == HealthWarming && !l.warmUntil.IsZero()
}

func (l *life) set(state Health, code, detail string) {
	l.state, l.code, l.detail = state, code, detail
}

func (l *life) halt(code, detail string) { l.set(HealthHalted, code, detail) }

// Health is the graph's state.
func (c *Core) Health() Health { return c.life.state }

// HealthReason says why the graph is in its state; both are "" when there is nothing to say.
func (c *Core) HealthReason() (code, detail string) { return c.life.code, c.life.detail }

// Start ends the loading: the graph receives, and fires once every accumulator is healthy (M10).
func (c *Core) Start(now time.Time) {
	c.advance(now)
	if c.ticked == form.Never {
		c.ticked = form.Nano(c.now) // the first instant of the cadence comes after the start
	}
	if !c.now.IsZero() {
		c.beginPace(form.Nano(c.now))
	}
	c.life.set(HealthWarming, "waiting_for_accumulators", "waiting for accumulators to become healthy")
	if c.cfg.WarmTimeout > 0 {
		c.life.warmUntil = c.housekeeping().Add(c.cfg.WarmTimeout)
	}
	c.reassess()
}

// TickDue is when Tick has something to do: warming ends, or a key expires.
func (c *Core) TickDue() (at time.Time, ok bool) {
	if !c.cfg.EventClock {
		at, ok = c.life.due()
	}
	if ttl, has := c.ttlDue(); has && (!ok || ttl.Before(at)) {
		at, ok = ttl, true
	}
	if due, has := c.stageDue(); has && (!ok || due.Before(at)) {
		return due, true
	}
	return at, ok
}

// Tick tells the core the time: warming may end by it, and keys expire.
func (c *Core) Tick(now time.Time) {
	c.advance(now)
	stages, due := c.stageDue()
	due = due && !c.now.Before(stages)
	if at, ok := c.ttlDue(); due || ok && !c.now.Before(at) {
		c.logTick()
	}
	c.expire()
	if due {
		c.tickStages()
	}
	if at, ok := c.life.due(); !ok || c.housekeeping().Before(at) {
		return
	}
	if c.cfg.FailCold {
		c.life.set(HealthFailed, "warm_timeout",
			"not all inputs were healthy in time")
		return
	}
	c.life.warmed = true
	c.reassess()
}

// SetHealth records what an accumulator says of itself.
func (c *Core) SetHealth(now time.Time, i int, h accumulator.Health, code, detail string) {
	c.advance(now)
	acc := &c.accs[i]
	acc.health, acc.code, acc.detail = h, code, detail
	if h == accumulator.Halted {
		c.life.halt(code, c.cfg.Inputs[i].Name+": "+detail)
		return
	}
	if c.life.state == HealthHalted && c.life.code == "source_data_lost" && !c.anyHalted() {
		c.life.set(HealthWarming, "", "")
	}
	c.reassess()
}

func (c *Core) anyHalted() bool {
	for i := range c.accs {
		if c.accs[i].health == accumulator.Halted {
			return true
		}
	}
	return false
}

// Obstacle is what keeps a graph from being made durable.
type Obstacle struct{ Code, Detail string }

// SetPersistError says that checkpoints cannot be written, or with the zero value that they can
// again.
func (c *Core) SetPersistError(why Obstacle) {
	c.life.persist = why
	c.reassess()
}

// SetClockStep says that the wall clock has stepped: it is ahead of engine time by so much, or
// behind it when negative. 0 says that they agree (M26).
func (c *Core) SetClockStep(by time.Duration) {
	if by != c.life.clockStep {
		c.life.clockStep = by
		c.reassess()
	}
}

func stepDetail(by time.Duration) string {
	if by > 0 {
		return "the wall clock was set forward by " + by.Round(time.Second).String() +
			"; engine time follows it if it stays there, and goes on by the monotonic clock until then"
	}
	return "the wall clock was set back by " + (-by).Round(time.Second).String() +
		"; engine time never goes backwards: it runs a tenth slower until the wall clock has caught up"
}

// reassess moves between warming, live and degraded. It leaves every other state alone:
// a graph that is halted or has failed never reads as live (W22).
func (c *Core) reassess() {
	switch c.life.state {
	case HealthWarming, HealthLive, HealthDegraded:
	default:
		return
	}
	ill := c.unhealthy()
	if ill < 0 {
		c.life.warmed = true
	}
	switch {
	case !c.life.warmed:
		c.life.state = HealthWarming
	case ill >= 0:
		acc := &c.accs[ill]
		detail := acc.detail
		if detail == "" {
			detail = "is " + string(acc.health)
		}
		code := acc.code
		if code == "" {
			code = "accumulator_" + string(acc.health)
		}
		c.life.set(HealthDegraded, code, c.cfg.Inputs[ill].Name+": "+detail)
	case c.Livelocked():
		c.life.set(HealthDegraded, "feedback_livelock", "the epochs of this instant feed themselves; "+
			"more than max_micro_epochs have taken in nothing new, and the rest waits until time moves on")
	case c.life.persist != Obstacle{}:
		c.life.set(HealthDegraded, c.life.persist.Code, c.life.persist.Detail)
	case c.life.full != nil:
		c.life.set(HealthDegraded, "input_full", c.fullDetail())
	case c.pace.Behind() != "":
		c.life.set(HealthDegraded, "lane_overrun", behindDetail(c.pace.Behind()))
	case c.life.clockStep != 0:
		c.life.set(HealthDegraded, "clock_stepped", stepDetail(c.life.clockStep))
	default:
		code, detail := c.stopReason()
		if code == "" && c.life.heldBy != "" {
			code, detail = "held_back", heldDetail(c.life.heldBy)
		}
		c.life.set(HealthLive, code, detail)
	}
}

// ill says that an input's accumulator is not healthy. One that an operator has stopped is not
// ill: what somebody wanted is no fault.
func (c *Core) ill(i int) bool { return c.stops.inputs[i] == nil && !c.accs[i].health.Healthy() }

// unhealthy is the first input whose accumulator is not healthy, or -1.
func (c *Core) unhealthy() int {
	for i := range c.accs {
		if c.ill(i) {
			return i
		}
	}
	return -1
}

// Degraded names what is not healthy: accumulators, the checkpoint, the clock. It is nil when all is well.
func (c *Core) Degraded() []string {
	if c.life.state == HealthLive {
		return nil
	}
	var names []string
	for i := range c.accs {
		if c.ill(i) {
			names = append(names, c.cfg.Inputs[i].Name)
		}
	}
	if c.life.persist != (Obstacle{}) {
		names = append(names, checkpointName)
	}
	if c.life.clockStep != 0 {
		names = append(names, clockName)
	}
	return names
}

// WaitingFor names the inputs that the next epoch waits for.
func (c *Core) WaitingFor() []string {
	var names []string
	for i := range c.cfg.Inputs {
		wait := false
		switch {
		case c.life.state == HealthWarming:
			wait = c.ill(i)
		case c.cfg.Keys != nil: // each key waits for its own; see the state of one
		case c.cell.waits:
			wait = slices.Contains(c.cfg.Plan.GuardNeeds(), i) && !c.has(c.cell, i) && !c.slot(i).dirty()
		case c.cfg.All && c.cfg.Inputs[i].Triggers && !c.cfg.Inputs[i].Alone:
			wait = !c.ready(c.cell, i)
		}
		if wait {
			names = append(names, c.cfg.Inputs[i].Name)
		}
	}
	return names
}
