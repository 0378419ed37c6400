package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/refused"
)

// Refused visits what has come to nothing, newest first, while it answers true: a sample. counts are all of it, since
// the core was made; nil where none is kept.
func (c *Core) Refused(visit func(e *refused.Entry) bool) (counts *[refused.Reasons]int64) {
	if c.nothing == nil {
		return nil
	}
	c.nothing.Each(visit)
	all := c.nothing.Counts()
	return &all
}

// watchRefusals begins to keep what comes to nothing.
func (c *Core) watchRefusals() {
	if !c.cfg.Refusals {
		return
	}
	c.nothing = new(refused.Ring)
	for _, s := range c.stages.All() {
		s.Refusals(new(refused.Log))
	}
}

// joinRefused takes in what an accumulator has noted with a handoff.
func (c *Core) joinRefused(h *accumulator.Handoff) {
	if h.Refused != nil && c.nothing != nil {
		c.nothing.Join(h.Refused, c.housekeeping())
	}
}

// notes counts what has come to nothing, and reports whether an entry is to be made of it. What a replay goes through
// again is not counted twice.
func (c *Core) notes(why refused.Reason, n int64) bool {
	return c.nothing != nil && c.journal.replay == nil && c.nothing.Takes(why, n, c.housekeeping())
}

// refuse notes a boundary that has come to nothing.
func (c *Core) refuse(why refused.Reason, i int, b *boundary.Boundary, key boundary.Key, code, detail string) {
	if !c.notes(why, b.Events) {
		return
	}
	c.nothing.Put(refused.Entry{Reason: why, At: c.housekeeping(), Input: c.cfg.Inputs[i].Name, Key: key,
		Position: b.Last, Events: b.Events, Code: code, Detail: detail})
}

// refuseCut notes a cut that the guard was against, with what the guard has read. The cut is not taken yet.
func (c *Core) refuseCut() {
	if !c.notes(refused.Guard, 1) {
		return
	}
	e := refused.Entry{Reason: refused.Guard, At: c.housekeeping(), Key: c.cell.key}
	for i, b := range c.cut.take {
		if b != nil && c.cfg.Inputs[i].Triggers {
			if e.Events += b.Events; e.Input == "" {
				e.Input, e.Position = c.cfg.Inputs[i].Name, b.Last
			}
		}
	}
	for i, name := range c.cfg.Plan.GuardReads() {
		if name != "vars" { // they may be secrets
			e.Read(name, c.work.guard.Saw(i))
		}
	}
	c.nothing.Put(e)
}

// refuseKey notes a key that is evicted.
func (c *Core) refuseKey(k *cell, why string) {
	if !c.notes(refused.Evicted, 1) {
		return
	}
	c.nothing.Put(refused.Entry{Reason: refused.Evicted, At: c.housekeeping(), Key: k.key, Detail: why})
}

// refuseInbox notes events that were overwritten before the core saw them.
func (c *Core) refuseInbox(i int, events int64) {
	if events > 0 && c.notes(refused.Conflated, events) {
		c.nothing.Put(refused.Entry{Reason: refused.Conflated, At: c.housekeeping(), Input: c.cfg.Inputs[i].Name,
			Events: events})
	}
}

// conflate counts a boundary that a newer one has overwritten.
func (c *Core) conflate(i int, b *boundary.Boundary, key boundary.Key) {
	c.accs[i].conflated += b.Events
	if c.nothing != nil {
		c.refuse(refused.Conflated, i, b, key, "", "")
	}
}

// Standing is how far a key is from its next epoch; in a graph without keys, how far that is.
type Standing struct {
	// Known is false of a key that the graph does not have; then nothing else is said. Seen is when something arrived
	// for it last, zero without keys.
	Known bool      `json:"known"`
	Seen  time.Time `json:"seen"`
	// Ready says that the criteria hold; else Missing are the inputs that they wait for. News are those that have
	// something which no cut has taken, and Guard those that the guard waits for.
	Ready   bool     `json:"ready"`
	Missing []string `json:"missing,omitempty"`
	News    []string `json:"news,omitempty"`
	Guard   []string `json:"guard,omitempty"`
	// Due is when what is ready may start, zero for at once; By is the timer that it waits for: "debounce",
	// "rate_limit" or "every". MaxWait is when what is not ready starts with what there is; zero for never.
	Due     time.Time `json:"due"`
	By      string    `json:"by,omitempty"`
	MaxWait time.Time `json:"max_wait"`
}

// Stand says how far a key is from its next epoch, the key being "" in a graph without.
func (c *Core) Stand(key boundary.Key) Standing {
	k, err := c.find(key)
	if err != nil {
		return Standing{}
	}
	s := Standing{Known: true}
	if k != c.shared {
		s.Seen = form.NanoTime(k.seen)
	}
	for i := range c.cfg.Inputs {
		in, slot := &c.cfg.Inputs[i], c.slotOf(k, i)
		if slot.dirty() && in.Triggers {
			s.News = append(s.News, in.Name)
		}
		if c.cfg.All && in.Triggers && !in.Alone && !c.ready(k, i) {
			s.Missing = append(s.Missing, in.Name)
		}
	}
	if k.waits {
		for _, i := range c.guardNeeds {
			if slot := c.slotOf(k, i); c.worth(k, i).IsAbsent() && !slot.dirty() {
				s.Guard = append(s.Guard, c.cfg.Inputs[i].Name)
			}
		}
	}
	_, s.Ready = c.completed(k)
	switch r := c.readiness(k); {
	case !r.ok || r.due <= form.Nano(c.now):
	case s.Ready:
		s.Due, s.By = form.NanoTime(r.due), c.delayedBy(k, &r)
	default:
		s.MaxWait = form.NanoTime(r.due)
	}
	return s
}

// delayedBy is the timer that what is ready waits for.
func (c *Core) delayedBy(k *cell, r *readiness) string {
	t := k.timesNow()
	switch {
	case c.cfg.Every > 0:
		return "every"
	case c.cfg.RateLimit > 0 && t.started != form.Never && r.due == t.started+int64(c.cfg.RateLimit):
		return "rate_limit"
	}
	return "debounce"
}

// Opened is what an input holds open, a window or a batch, and how far its time has come.
type Opened struct {
	Input  string `json:"input"`
	Events int64  `json:"events"`
	// Watermark, HeldBy, Newest and Until are those of [accumulator.Watermark]; the first is zero of what does not go
	// by the time of events, and where the state is not kept.
	Watermark time.Time `json:"watermark"`
	HeldBy    string    `json:"held_by,omitempty"`
	Newest    time.Time `json:"newest"`
	Until     time.Time `json:"until"`
}

// Opened are the inputs that hold something open, as of their last marks.
func (c *Core) Opened() (list []Opened) {
	for i := range c.accs {
		acc, o := &c.accs[i], Opened{Input: c.cfg.Inputs[i].Name}
		o.Events = acc.mark.Counters.Open
		if s := c.stages.Of(i); s != nil {
			o.Events = s.Counters().Open
		}
		if o.Events == 0 {
			continue
		}
		if state, ok := acc.mark.State.(accumulator.TimingState); ok {
			if w, ok := state.Watermark(); ok {
				o.Watermark, o.HeldBy, o.Newest, o.Until = w.At, w.HeldBy, w.Newest, w.Until
			}
		}
		list = append(list, o)
	}
	return list
}
