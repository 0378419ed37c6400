package reactor

import (
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/sink"
)

// run makes one epoch of the cut, as show has laid it out: it runs the plan and then keeps all of it or nothing (M22).
// It is false, and nothing has been done, where the epoch misses an answer.
func (c *Core) run(cause Cause) bool {
	c.epoch++
	c.cfg.Plan.Run(&c.cell.nodes, &c.ep, &c.res)
	if c.calls != nil && c.postpone(cause) {
		return false
	}
	if err := c.res.Err; err != nil {
		c.epoch-- // fail numbers it again
		stage := "node"
		if err.Node < 0 {
			stage = "output"
		}
		c.fail(cause, stage, err.Code, c.failure(err))
		return true
	}
	c.begin()
	c.putCuts(cause)
	rec := c.record(cause, true)
	c.cfg.Plan.Commit(&c.cell.nodes, &c.res)
	c.ran()
	if c.stages != nil {
		c.feed()
	}
	c.deadLetterNodes()
	back := c.cut.back
	c.consume(true, false, func(i int, b *boundary.Boundary) {
		c.accs[i].consumed += b.Events
		c.setCurrent(i, b)
	})
	c.stamp = c.ep.Stamp
	c.comeBack(back)
	c.kept++
	c.lastFired = c.housekeeping()
	c.release(rec)
	c.finish(rec)
	return true
}

// show lays out what the plan and the guard see of the epoch that the cut would be.
func (c *Core) show(cause Cause) {
	c.snapshot()
	c.prepare(c.epoch+1, cause)
}

// initEpoch sets up what the plan sees of every epoch alike.
func (c *Core) initEpoch() {
	c.ep = graph.Epoch{
		Inputs: c.cut.values, Versions: c.cut.versions, Stands: c.cut.stands, Clock: c.cfg.Mono, Foreign: c.cfg.Foreign,
		FullRecompute: c.cfg.FullRecompute, Looks: c.looks, Hands: c.cfg.Hands,
	}
}

// prepare sets up the plan's view of the epoch to come.
func (c *Core) prepare(number int64, cause Cause) {
	c.works()
	e := &c.ep
	e.Number, e.Now, e.Cause, e.Stamp = number, c.now, cause.String(), c.stamp+2
	e.Interrupt, e.EmitAll, e.Aside = c.interruption(), c.emitAll, false
	if e.Ticks = 0; cause == CauseTick {
		e.Ticks = c.tick.Lanes
	}
	e.Unbounded = c.journal.replay != nil // what was in time then is in time now
	if c.cfg.Keys != nil && c.cfg.Plan.ReadsKey() {
		e.Key = c.cell.key.ValueOf(c.cfg.Keys.Times)
	}
	if c.looks != nil {
		clear(c.looks.List)
		c.looks.List = c.looks.List[:0]
	}
	if c.cfg.Mono != nil {
		c.began = c.cfg.Mono()
	}
	c.consult(cause)
}

// works makes what epochs are computed in, before the first.
func (c *Core) works() {
	if c.work == nil {
		c.work = new(work)
		c.initEpoch()
		c.cfg.Plan.Await(&c.res, c.waited)
		c.waited = nil
	}
}

// begin notes the start of an epoch.
func (c *Core) begin() {
	if c.ep.Ticks != 0 {
		return // else ticks would put off what waits for the rate limit
	}
	c.lastStart = c.now
	if t := c.cell.times; t != nil {
		t.started = form.Nano(c.now)
	}
	if c.cell != c.shared {
		c.changes.touch(c.cell)
	}
}

// ran notes what committing the result changed.
func (c *Core) ran() {
	if c.cell != c.shared {
		c.changes.touch(c.cell)
		return
	}
	c.res.Touch(c.changes.plan)
}

// interruption is what the plan asks between nodes. In a replay the time is up where it was.
func (c *Core) interruption() func() error {
	switch {
	case c.journal.replay == nil:
		return c.interrupt
	case c.journal.replay.timeout:
		return func() error { return graph.ErrEpochTimeout }
	}
	return nil
}

func (c *Core) overran() error {
	if c.cfg.Mono()-c.began > int64(c.cfg.EpochTimeout) {
		return graph.ErrEpochTimeout
	}
	return nil
}

// fail gives the failed epoch its number and its record, and undoes its cut (M21): inputs,
// node values and state are what they were, flags are cleared, and the events it took
// become dead letters; or, when the graph halts on failure, nothing is taken at all: no timer counts from
// that epoch either, so that what is tried when the graph goes on is the same again.
func (c *Core) fail(cause Cause, stage, code, reason string) {
	c.epoch++
	ran := stage != "guard" // what a guard fails has taken nothing yet
	if ran && !c.cfg.HaltOnFailure {
		c.putFailed(cause)
	}
	rec := c.record(cause, ran)
	rec.Err, rec.ErrCode = reason, code
	if c.cfg.HaltOnFailure {
		c.answered(c.cell.key)
		c.stay()
		c.cut.reset()
		if c.cut.undone, c.changes.head = true, true; c.cell != c.shared {
			c.keys.halted = c.cell
		}
		c.life.halt("epoch_failed", fmt.Sprintf("epoch %d failed: %s; fix the cause, then restart the graph", c.epoch,
			reason))
	} else {
		c.begin()
		c.consume(false, true, func(i int, b *boundary.Boundary) { c.deadLetter(i, b, stage, code, reason, c.epoch) })
		if ran {
			c.release(rec)
		}
	}
	c.finish(rec)
}

// failure is a node error in words.
func (c *Core) failure(err *graph.NodeError) string {
	if err.Node < 0 {
		return err.Text
	}
	return "node " + err.Name + ": " + err.Text
}

// deadLetterNodes keeps a letter for each node that failed with on_error: dead_letter. The
// epoch's events are consumed all the same, so the letter accounts for none of them.
func (c *Core) deadLetterNodes() {
	if len(c.res.DeadNodes) == 0 {
		return
	}
	payload := []byte{'{'}
	for i := range c.cfg.Inputs {
		payload = c.cut.values[i].AppendJSON(appendName(payload, i, c.cfg.Inputs[i].Name, ":"))
	}
	payload = append(payload, '}')
	for _, n := range c.res.DeadNodes {
		err := c.res.Node(n).Err
		c.keepDeadLetter(checkpoint.DeadLetter{
			Stage: "node", Code: err.Code, Reason: c.failure(err), Epoch: c.epoch,
			Key: string(c.cell.key), Payload: payload, Folded: true,
		})
	}
}

// release queues what the epoch emitted for the sinks.
func (c *Core) release(rec *Record) {
	for _, output := range c.res.Filtered {
		c.filtered[output]++
	}
	for _, e := range c.res.Emitted {
		c.emitted[e.Output]++
		if c.path(e.Output) != PathDirect {
			var m sink.Message
			c.write(&m, e, rec)
			c.hold(m)
			continue
		}
		if c.cfg.Routes != nil && c.cfg.Routes[e.Output].Unread {
			c.holds.number(e.Output)
			continue
		}
		n := len(c.out)
		if n < cap(c.out) {
			c.out = c.out[:n+1] // what lies there is zero: see ResetReleased
		} else {
			c.out = append(c.out, sink.Message{})
		}
		c.write(&c.out[n], e, rec) // in place: a message is large, and most epochs have one
	}
}

// write fills in the message of a value that goes out; m is zero.
func (c *Core) write(m *sink.Message, e graph.Emission, rec *Record) {
	m.Instance, m.Incarnation, m.Epoch, m.Key = c.cfg.Instance, c.cfg.Incarnation, c.epoch, c.cell.key
	m.Output, m.To, m.Value, m.At, m.Degraded = c.cfg.Outputs[e.Output], e.Output, e.Value, c.now, rec.Degraded
	m.Stable, m.Seq, m.Emitted = c.cfg.Journal, c.holds.number(e.Output), c.housekeeping()
}
