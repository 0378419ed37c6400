package calls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/answers"
)

// Command is an epoch that somebody commands. It is tried until it has its answers, its time is up or its caller has
// gone; what was asked and answered for it goes with it. It is for the caller's goroutine, but for Try.
type Command struct {
	desk    *Desk // nil where nothing is called
	ctx     context.Context
	cancel  context.CancelFunc
	began   time.Time
	waiting *Missed       // what the last try has; nil for nothing
	epoch   answers.Epoch // of the reactor's goroutine
}

// Missed is what a try of a command has missed.
type Missed struct {
	nodes   []string        // that have asked
	changed <-chan struct{} // closed when there are answers again
}

// Command begins a command of a caller, which has as long as an epoch has. It is to be ended. A nil Desk has commands
// that miss nothing.
func (d *Desk) Command(ctx context.Context) *Command {
	c := &Command{desk: d, ctx: ctx, cancel: func() {}, began: time.Now()}
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

// Try tries the epoch; it is for the reactor's goroutine. Where an answer is missed it is asked for, and the try has
// come to nothing.
func (c *Command) Try(fire func() error) (*Missed, error) {
	d := c.desk
	if d == nil {
		return nil, fire()
	}
	if err := d.core.Trying(&c.epoch, fire); !errors.Is(err, reactor.ErrUnanswered) {
		return nil, err
	}
	if !slices.Contains(d.commands, c) {
		d.commands = append(d.commands, c)
	}
	m := &Missed{changed: d.coming()} // as of now, or an answer could be missed
	d.place(c.epoch.Asked, false)
	for i := range c.epoch.Asked {
		if name := d.lines[c.epoch.Asked[i].Node].name; !slices.Contains(m.nodes, name) {
			m.nodes = append(m.nodes, name)
		}
	}
	return m, nil
}

// Await waits until what a try has missed may be there.
func (c *Command) Await(m *Missed, stopped <-chan struct{}, ended error) error {
	c.waiting = m
	select {
	case <-m.changed:
		return nil
	case <-stopped:
		return ended
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// Why says more of the error that a command has come to: while it waited for answers its time is up for want of them.
func (c *Command) Why(err error) error {
	if c.waiting == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &UnansweredError{Nodes: c.waiting.nodes, Waited: time.Since(c.began).Round(time.Millisecond)}
	told := c.desk.Told()
	for _, n := range e.Nodes {
		if t := told[n].Trouble; t != "" && !slices.Contains(e.Troubles, t) {
			e.Troubles = append(e.Troubles, t)
		}
	}
	return e
}

// End ends the command, whatever has come of it.
func (c *Command) End() {
	c.cancel()
	if c.waiting != nil {
		c.desk.wake() // so that what is known of it goes at once
	}
}

// forget forgets the commands that have ended.
func (d *Desk) forget() {
	d.commands = slices.DeleteFunc(d.commands, func(c *Command) bool {
		if c.ctx.Err() == nil {
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
