package reactor

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
)

// Stage inputs are fed by nodes of the graph itself (package stage). Their folds are the core's: an
// epoch that is kept folds what its nodes came to, and hands over what that completes in the same
// call. So what a stage has seen is what the state and the epochs say, always: it is sealed with
// them, and a replay that runs them again folds again.

// feed folds the values of an epoch that was kept. As at an output, what ticked counts, and null is
// no value.
func (c *Core) feed() {
	cut := func(i int) bool { return c.cut.take[i] != nil }
	took := c.ep.Ticks == 0 && slices.ContainsFunc(c.cut.take, func(b *boundary.Boundary) bool { return b != nil })
	for _, s := range c.stages.All() {
		if s.Joins {
			continue
		}
		// A node that asks what an epoch is about is due in every one, those of its own stage too: it
		// feeds in those of what it rests on, and in the ticks of a cadence.
		if !c.res.Ticked(s.Node) || took && !slices.ContainsFunc(s.Rests, cut) {
			continue
		}
		v := c.res.Node(s.Node).Value
		if v.IsAbsent() || v.IsNull() {
			continue
		}
		s.Take(c.now, &boundary.Event{Value: v, Pos: c.fedBy(), At: c.happened()}, true)
		c.changes.accs[s.Input] = true
		if c.ending != nil {
			c.ending.feed(s.Input, c.idle(s))
		}
	}
	c.fed = true
}

// fedBy is the position of what the present epoch feeds to stages: so records and dead letters name it. Replayed
// letters have the epoch before them, for two streams of one window would wait for each other.
func (c *Core) fedBy() boundary.Position { return boundary.Position{Stream: "epoch", Offset: c.epoch} }

// happened is when what a node feeds a stage has happened: with what the epoch rows are looked up as of, else now.
func (c *Core) happened() (at time.Time) {
	if c.asOf {
		at = c.cut.asOf
	}
	return at
}

// handStages hands over what stage inputs have complete after an epoch. It comes at the end of the
// call that ran it: the key that fired is through.
func (c *Core) handStages() {
	if !c.fed {
		return
	}
	c.fed = false
	for _, s := range c.stages.All() {
		if s.FlushesWithEpochs() {
			s.EpochKept(c.now)
		}
		c.ending.hands(s.Input, true)
		c.handStage(s, c.epoch)
	}
	c.ending.handed()
}

// handStage admits what a stage input has complete; epoch is what its dead letters come of, 0 for none.
func (c *Core) handStage(s *stage.Stage, epoch int64) {
	var h accumulator.Handoff
	if !s.DrainPart(&h) {
		return
	}
	c.joinRefused(&h)
	c.changes.accs[s.Input] = true
	c.micro = 0
	if c.cfg.Inputs[s.Input].Table != nil {
		c.takeTable(s.Input, &h)
	}
	if c.hands != nil && s.Joins {
		c.hands(s.Input, h.Boundaries)
	} else {
		c.admitTo(s.Input, h.Boundaries)
	}
	if len(h.Late) > 0 {
		late := c.input(c.cfg.Inputs[s.Input].LateTo)
		for k := range h.Late {
			if c.cfg.Inputs[late].bounded() { // it gives room back when it is taken
				c.freed[late].Boundaries--
				c.freed[late].Bytes -= int64(h.Late[k].Size)
			}
		}
		c.admitTo(late, h.Late)
	}
	for k := range h.DeadLetters {
		h.DeadLetters[k].Epoch = epoch
		c.keepDeadLetter(h.DeadLetters[k])
	}
}

// stageDue is when a stage input waits for time to pass.
func (c *Core) stageDue() (at time.Time, ok bool) {
	if c.stages == nil {
		return at, false
	}
	return c.stages.Due()
}

// tickStages completes what is due now in stage inputs.
func (c *Core) tickStages() {
	for _, s := range c.stages.All() {
		s.Tick(c.now)
		c.ending.hands(s.Input, false)
		c.handStage(s, 0)
		c.ending.handed()
	}
}

// FollowDue is when [Core.Follow] should be called. open says what the other inputs hold open.
func (c *Core) FollowDue(open stage.Open) (at time.Time, ok bool) {
	joins, ok := c.follows()
	if !ok {
		return at, false
	}
	return c.stages.FollowDue(open, joins)
}

// follows says whether stage inputs may go on, and whether joins alone do. What a join has waits for no epoch: in a
// pause, and while a graph warms, it is handed over within the bounds of its queue, as what any input has.
func (c *Core) follows() (joins, ok bool) {
	switch {
	case c.stages == nil:
		return false, false
	case c.mayFire():
		return false, true
	}
	return true, c.owed != nil && (c.life.firing() || c.life.state == HealthWarming)
}

// Follow completes what stage inputs hold open up to where their stages have come (M26), and reports
// whether there was anything. It is for a graph that is at rest: all that could fire at now has.
func (c *Core) Follow(now time.Time, open stage.Open) bool {
	joins, ok := c.follows()
	if !ok || now.IsZero() {
		return false
	}
	c.advance(now)
	one, to := c.stages.Follow(now, open, joins)
	if one == nil {
		return false
	}
	c.logFollow(one.Input, to)
	c.ending.hands(one.Input, false)
	c.followed(one)
	c.ending.handed()
	return true
}

func (c *Core) followed(s *stage.Stage) {
	c.changes.accs[s.Input] = true
	c.handStage(s, 0)
}

// Stages are the stage inputs; nil when there are none.
func (c *Core) Stages() *stage.Set { return c.stages }

// EndStage completes what a stage input holds open, when nothing comes any more of what is in front of it: the end of a
// bounded run.
func (c *Core) EndStage(s *stage.Stage) {
	s.EndOfInput(c.now)
	c.followed(s)
}

// LateDrops are the events of stage input i that came too late and were dropped; ok is false when
// there are none.
func (c *Core) LateDrops(i int) (l accumulator.Lateness, ok bool) {
	if s := c.stages.Of(i); s != nil {
		return s.LateDrops()
	}
	return l, false
}

// markStages takes the marks of stage inputs for a seal.
func (c *Core) markStages() {
	for _, s := range c.stages.All() {
		var h accumulator.Handoff
		if s.Drain(&h) { // its mark alone: what was complete has been handed over
			c.joinRefused(&h)
			acc := &c.accs[s.Input]
			acc.mark = h.Mark
			acc.restored, acc.parts.restored = nil, nil
		}
	}
}

// restoreStages has stage inputs go on from a checkpoint.
func (c *Core) restoreStages() error {
	for _, s := range c.stages.All() {
		c.accs[s.Input].mark.Positions = nil // of a source that it had before
		if err := s.RestoreMark(c.ResumePoint(s.Input)); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return nil
}

// restartStages tells the folds that engine time is not the one that they have stood at.
func (c *Core) restartStages() {
	for _, s := range c.stages.All() {
		s.Restarted(c.now)
		c.changes.accs[s.Input] = true
	}
}

// crowded reports whether more waits of some stage than it has room for. Then its epochs come first
// and take nothing beside it that would make more: newest values wait, and are conflated.
func (c *Core) crowded() bool {
	for _, s := range c.stages.All() {
		if c.full(s) {
			return true
		}
	}
	return false
}

// Under all an input of a stage fires by itself, one boundary to an epoch, in the order of admission
// with the epochs of those that wait for each other.

// firstAlone is the input that fires by itself whose boundary has come first, -1 for none.
func (c *Core) firstAlone(k *cell) (first int, seq uint64) {
	first = -1
	for i := range c.cfg.Inputs {
		if at, waits := c.news(k, i); waits && c.cfg.Inputs[i].Alone && (first < 0 || at < seq) {
			first, seq = i, at
		}
	}
	return first, seq
}

// cutApart marks what an epoch takes where some inputs fire by themselves: of one of those, or of
// the others, and what does not trigger with either.
func (c *Core) cutApart(cause Cause) {
	alone, at := c.firstAlone(c.cell)
	if seq, ok := c.zipped(c.cell); ok && seq < at && (alone < 0 || !c.crowded()) || cause == CauseTick {
		alone = -1
	}
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		switch {
		case in.Alone && i != alone:
		case in.Triggers && !in.Alone && (alone >= 0 || cause == CauseTick):
		default:
			c.cutFrom(i)
		}
	}
}

// Feed gives stage input i an event beside those of its node, whose sender waits for the answer.
func (c *Core) Feed(now time.Time, i int, ev *boundary.Event) accumulator.Outcome {
	c.Tick(now)
	c.logFeed(i, ev)
	s := c.stages.Of(i)
	fed := *ev
	fed.Pos = c.fedBy()
	o := s.Take(c.now, &fed, false)
	c.changes.accs[i] = true
	c.handStage(s, 0)
	return o
}
