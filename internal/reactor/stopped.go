package reactor

import (
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor/form"
)

// Stopped says who has stopped one input or output, and since when.
type Stopped = form.Stopped

// Part is one input or output of the graph, by its place in the plan.
type Part struct {
	Output bool
	Index  int
}

// stops are the inputs and outputs that an operator has stopped; nil for those that go on. The
// core only remembers it: the shell stops the source or the writer.
type stops struct{ inputs, outputs []*Stopped }

// logStop has in the journal: now, whether it is an output, its name, whether it was stopped, by.
const logStop = 'S'

func (c *Core) stopOf(p Part) **Stopped {
	if p.Output {
		return &c.stops.outputs[p.Index]
	}
	return &c.stops.inputs[p.Index]
}

// Stopped is who has stopped a part, nil when it goes on.
func (c *Core) Stopped(p Part) *Stopped { return *c.stopOf(p) }

// StopPart notes that one input or output is stopped while the others go on. It reports
// whether anything changed: like a pause it is durable before it is answered (M11, W27).
func (c *Core) StopPart(now time.Time, p Part, by string) bool {
	c.Tick(now)
	if c.Stopped(p) != nil {
		return false
	}
	c.setStopped(p, &Stopped{By: by, At: c.housekeeping()})
	return true
}

// StartPart notes that a stopped input or output goes on.
func (c *Core) StartPart(now time.Time, p Part) bool {
	c.Tick(now)
	if c.Stopped(p) == nil {
		return false
	}
	if !p.Output { // what was said of it is of the time without its source
		acc := &c.accs[p.Index]
		acc.health, acc.code, acc.detail = accumulator.Starting, "", ""
	}
	c.setStopped(p, nil)
	return true
}

func (c *Core) setStopped(p Part, s *Stopped) {
	*c.stopOf(p) = s
	c.changes.head = true
	c.reassess()
	if !c.logging() {
		return
	}
	dst := form.AppendText(append(c.note(logStop), boolByte(p.Output)), c.nameOf(p))
	dst, by := append(dst, boolByte(s != nil)), ""
	if s != nil {
		by = s.By
	}
	c.journal.buf = form.AppendText(dst, by)
}

func (c *Core) nameOf(p Part) string {
	if p.Output {
		return c.cfg.Outputs[p.Index]
	}
	return c.cfg.Inputs[p.Index].Name
}

// partOf finds a part by its name; ok is false when the declaration does not have it any more.
func (c *Core) partOf(output bool, name string) (p Part, ok bool) {
	p = Part{Output: output, Index: c.input(name)}
	if output {
		p.Index = -1
		for i, o := range c.cfg.Outputs {
			if o == name {
				p.Index = i
			}
		}
	}
	return p, p.Index >= 0
}

// stopReason says which parts are stopped. It stands beside the health `live`, which an
// operator's wish does not change; both are "" when nothing is stopped.
func (c *Core) stopReason() (code, detail string) {
	var parts []string
	for i, s := range c.stops.inputs {
		if s != nil {
			parts = append(parts, "input "+c.cfg.Inputs[i].Name)
		}
	}
	for i, s := range c.stops.outputs {
		if s != nil {
			parts = append(parts, "output "+c.cfg.Outputs[i])
		}
	}
	if len(parts) == 0 {
		return "", ""
	}
	return "part_stopped", strings.Join(parts, ", ") + " stopped by an operator; the start command lets it go on"
}

// stoppedNames are the stopped parts as a checkpoint has them.
func stoppedNames(list []*Stopped, name func(i int) string) map[string]*Stopped {
	var names map[string]*Stopped
	for i, s := range list {
		if s != nil {
			if names == nil {
				names = make(map[string]*Stopped)
			}
			names[name(i)] = s
		}
	}
	return names
}

// restoreStops takes over what a checkpoint says is stopped; a name that is gone is forgotten.
func (c *Core) restoreStops(m *form.Meta) {
	for i := range c.stops.inputs {
		c.stops.inputs[i] = m.StoppedInputs[c.cfg.Inputs[i].Name]
	}
	for i := range c.stops.outputs {
		c.stops.outputs[i] = m.StoppedOutputs[c.cfg.Outputs[i]]
	}
}

// stop replays the stop or start of a part.
func (r *Replayer) stop(now time.Time, in *form.Reader) {
	output, name := in.Uint() == 1, in.Text()
	stopped, by := in.Uint() == 1, in.Text()
	p, ok := r.c.partOf(output, name)
	switch {
	case in.Err != nil || !ok:
	case stopped:
		r.c.StopPart(now, p, by)
	default:
		r.c.StartPart(now, p)
	}
}
