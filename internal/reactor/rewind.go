package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
)

// Rewind makes input i's accumulator go on from other positions when it is next started, nil
// for the beginning; what it has folded stays.
func (c *Core) Rewind(i int, to []boundary.Position) {
	c.accs[i].mark.Positions = to
	c.changes.accs[i] = true
}

// SetBack sets engine time back to now: the one that was restored comes from a clock that was
// wrong. No timer runs from a time that has not come, and nothing waits for one. It is for a core that is not started.
func (c *Core) SetBack(now time.Time) {
	c.now, c.changes.head = now, true
	at := form.Nano(now)
	c.ticked = min(c.ticked, at)
	c.pace.SetBack(at)
	c.retime(func(then int64) int64 { return min(then, at) })
	c.logBack()
}

// retime changes every time that something waits or counts from, but where the cadences are: to answers what a time
// becomes. Engine time is the new one already. What has not been stays so; what is there and has no time, as what came
// before engine time began, is asked for as [form.Never].
func (c *Core) retime(to func(then int64) int64) {
	c.restartStages()
	if !c.lastStart.IsZero() {
		c.lastStart = form.NanoTime(to(form.Nano(c.lastStart)))
	}
	c.retimeCell(c.shared, to)
	for i := range c.keys.ages {
		c.keys.ages[i].seen = to(c.keys.ages[i].seen)
	}
	for k := range c.keys.byKey.All() { // each by itself: the order does not matter
		c.retimeCell(k, to)
		c.changes.touch(k)
		c.schedule(k)
	}
}

func (c *Core) retimeCell(k *cell, to func(then int64) int64) {
	k.seen = to(k.seen)
	if t := k.times; t != nil {
		for _, since := range [...]*int64{&t.started, &t.first, &t.last} {
			if *since != form.Never {
				*since = to(*since)
			}
		}
	}
	for i := range c.cfg.Inputs {
		q := c.slotOf(k, i).queue
		for n := range q.len() {
			q.at(n).at = to(q.at(n).at)
		}
	}
}

// Blank is the record of a graph that has no state any more, made of its last one: watchers'
// sequence and the wall clock's time go on, and a pause and what is stopped stay. What cannot be read is left out.
// The time of events begins anew, with those that come.
// It covers the journal up to an entry, behind which the next one is written; shards is how many the graph is dealt to
// from now on, and by and on how, see [Config].
func Blank(last []byte, journal int64, shards int, by, on string) []byte {
	m, _, err := form.ReadMeta(last)
	if err != nil {
		m = form.Meta{}
	}
	blank := form.Meta{
		Shards: shards, DealtBy: by, DealtOn: on, Journal: journal, Plan: m.Plan, Epoch: m.Epoch, Frames: m.Frames,
		Unbroken: m.Unbroken, DealtFrames: m.DealtFrames,
		Paused: m.Paused, PausedBy: m.PausedBy, PausedAt: m.PausedAt,
		StoppedInputs: m.StoppedInputs, StoppedOutputs: m.StoppedOutputs,
		Outbox: m.Outbox, // who follows goes on by the numbers
	}
	if m.Clock != eventClock {
		blank.Now = m.Now
	}
	return blank.Append(nil)
}
