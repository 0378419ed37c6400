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
// wrong. No timer runs from a time that has not come. It is for a core that is not started.
func (c *Core) SetBack(now time.Time) {
	c.now, c.changes.head = now, true
	if c.lastStart.After(now) {
		c.lastStart = now
	}
	at := form.Nano(now)
	c.ticked = min(c.ticked, at)
	c.pace.SetBack(at)
	c.shared.setBack(at)
	c.restartStages()
	for i := range c.keys.ages {
		c.keys.ages[i].seen = min(c.keys.ages[i].seen, at)
	}
	for k := range c.keys.byKey.All() { // each by itself: the order does not matter
		k.setBack(at)
		c.changes.touch(k)
		c.schedule(k)
	}
	c.logBack()
}

func (k *cell) setBack(at int64) {
	k.seen = min(k.seen, at)
	if t := k.times; t != nil {
		t.started, t.first, t.last = min(t.started, at), min(t.first, at), min(t.last, at)
	}
}

// Blank is the record of a graph that has no state any more, made of its last one: watchers'
// sequence and the wall clock's time go on, and a pause and what is stopped stay. What cannot be read is left out.
// The time of events begins anew, with those that come.
// It covers the journal up to an entry, behind which the next one is written; shards is how many the graph is dealt to
// from now on.
func Blank(last []byte, journal int64, shards int, by string) []byte {
	m, _, err := form.ReadMeta(last)
	if err != nil {
		m = form.Meta{}
	}
	blank := form.Meta{
		Shards: shards, DealtBy: by, Journal: journal, Plan: m.Plan, Epoch: m.Epoch, Frames: m.Frames,
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
