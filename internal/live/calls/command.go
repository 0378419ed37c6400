package calls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/answers"
)

// Fire makes a commanded epoch, as of an engine time.
type Fire func(now time.Time) (reactor.FireResult, error)

// Command is an epoch that somebody commands. It is tried until it has its answers, its time is up or its caller has
// gone; what was asked and answered for it goes with it. It is for the caller's goroutine, but for Try.
type Command struct {
	desk   *Desk // nil where nothing is called
	fire   Fire
	caller context.Context
	ctx    context.Context // the caller's, for as long as an epoch has
	cancel context.CancelFunc
	began  time.Time
	gone   bool // the caller, without an outcome

	state atomic.Int32
	done  chan fired    // capacity 1: what has come of it
	nodes []string      // that have asked in the last try; of who has moved state on
	epoch answers.Epoch // of the reactor's goroutine
}

// The states of a command. It is tried and given up by whoever moves it on from pending, so that what was told to have
// come to nothing never happens.
const (
	pending int32 = iota // it may be tried, now or when there are answers
	trying
	over
)

// fired is what a command has come to.
type fired struct {
	reactor.FireResult
	err error
}

// Command begins a command of a caller, which has as long as an epoch has. It is to be ended. A nil Desk has commands
// that miss nothing.
func (d *Desk) Command(ctx context.Context, fire Fire) *Command {
	c := &Command{
		desk: d, fire: fire, caller: ctx, ctx: ctx, cancel: func() {}, began: time.Now(),
		done: make(chan fired, 1),
	}
	if d == nil {
		return c
	}
	if limit := d.core.Config().EpochTimeout; limit > 0 {
		c.ctx, c.cancel = context.WithTimeout(ctx, limit)
	} else {
		c.ctx, c.cancel = context.WithCancel(ctx)
	}
	return c
}

// Context ends with the command.
func (c *Command) Context() context.Context { return c.ctx }

// Try tries the epoch as of an engine time, unless it is given up; it is for the reactor's goroutine. Where an answer
// is missed it is asked for, and [Desk.Take] tries again.
func (c *Command) Try(now time.Time) {
	if !c.state.CompareAndSwap(pending, trying) {
		return
	}
	d, o := c.desk, fired{}
	try := func() (err error) {
		o.FireResult, err = c.fire(now)
		return err
	}
	if d == nil {
		o.err = try()
	} else if o.err = d.core.Trying(&c.epoch, try); errors.Is(o.err, reactor.ErrUnanswered) {
		c.missed()
		return
	}
	c.done <- o
	c.state.Store(over)
}

// missed has asked what a try has missed.
func (c *Command) missed() {
	d := c.desk
	if !slices.Contains(d.commands, c) {
		d.commands = append(d.commands, c)
	}
	d.place(c.epoch.Asked, false)
	c.nodes = c.nodes[:0]
	for i := range c.epoch.Asked {
		if name := d.lines[c.epoch.Asked[i].Node].name; !slices.Contains(c.nodes, name) {
			c.nodes = append(c.nodes, name)
		}
	}
	c.state.Store(pending)
	if c.ctx.Err() != nil { // its caller may have seen that it was being tried, and waits for what comes of it
		c.end()
	}
}

// Await waits for what comes of the command, which is to be tried on the reactor's goroutine until stopped is closed:
// then it is ended. Where it fails for want of time or of answers the epoch has not run and never will, unless it is
// just being tried when the caller's own time is up.
func (c *Command) Await(stopped <-chan struct{}, ended error) (reactor.FireResult, error) {
	select {
	case o := <-c.done:
		return o.FireResult, o.err
	case <-stopped:
		return c.told(ended)
	case <-c.ctx.Done():
	}
	c.gone = true
	if c.state.CompareAndSwap(pending, over) {
		return reactor.FireResult{}, c.why()
	}
	select { // its end, whatever that is, is near
	case o := <-c.done:
		return o.FireResult, o.err
	case <-stopped:
		return c.told(ended)
	case <-c.caller.Done():
		return c.told(context.Cause(c.caller))
	}
}

// told is what has come of the command, or err where nothing is known.
func (c *Command) told(err error) (reactor.FireResult, error) {
	select {
	case o := <-c.done:
		return o.FireResult, o.err
	default:
		return reactor.FireResult{}, err
	}
}

// why says why a command is given up: while it waited for answers its time is up for want of them.
func (c *Command) why() error {
	err := context.Cause(c.ctx)
	if len(c.nodes) == 0 || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &UnansweredError{Nodes: c.nodes, Waited: time.Since(c.began).Round(time.Millisecond)}
	told := c.desk.Told()
	for _, n := range e.Nodes {
		if t := told[n].Trouble; t != "" && !slices.Contains(e.Troubles, t) {
			e.Troubles = append(e.Troubles, t)
		}
	}
	return e
}

// end gives up a command whose time is up or whose caller has gone, if nobody has.
func (c *Command) end() {
	if c.state.CompareAndSwap(pending, over) {
		c.done <- fired{err: c.why()}
	}
}

// End ends the command, whatever has come of it.
func (c *Command) End() {
	c.cancel()
	if c.gone && c.desk != nil {
		c.desk.wake() // so that what is known of it goes at once
	}
}

// retry tries the commands that wait for answers, in the order in which they came.
func (d *Desk) retry(now time.Time) {
	for _, c := range slices.Clone(d.commands) {
		c.Try(now)
	}
	d.forget()
}

// forget forgets the commands that have ended.
func (d *Desk) forget() {
	d.commands = slices.DeleteFunc(d.commands, func(c *Command) bool {
		if c.ctx.Err() != nil {
			c.end()
		}
		if c.state.Load() != over {
			return false
		}
		d.core.GiveUp(&c.epoch)
		return true
	})
}

// UnansweredError says that a commanded epoch has not run, for what its nodes call has not answered. It is a
// [reactor.ErrUnanswered].
type UnansweredError struct {
	Nodes    []string
	Waited   time.Duration
	Troubles []string // what their last calls have failed with
}

// Error implements error.
func (e *UnansweredError) Error() string {
	why := "their servers have said nothing yet"
	if len(e.Troubles) > 0 {
		why = strings.Join(e.Troubles, "; ")
	}
	return fmt.Sprintf("no answer has come in %s to what %s asked for: %s", e.Waited, strings.Join(e.Nodes, ", "), why)
}

// Unwrap implements errors.Unwrap.
func (e *UnansweredError) Unwrap() error { return reactor.ErrUnanswered }
