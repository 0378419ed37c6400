package graphd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/virtual"
)

// Simulation is one graph under virtual time, in the caller's goroutine: what test documents
// do, for tests in Go. Sources and sinks take no part; events are pushed, and what outputs
// emit is taken. Time stands still but for Advance, and nothing depends on the machine.
//
// It belongs to one goroutine. After an error it is of no further use, but for those of Push
// that say that an event was refused.
type Simulation struct {
	d    *Declaration
	g    *virtual.Graph
	seen map[string][]any // by output, since it was last taken
}

// Simulate starts the graph afresh, at 2000-01-01T00:00:00Z, with all inputs healthy.
func (d *Declaration) Simulate() *Simulation {
	s := &Simulation{d: d, seen: make(map[string][]any)}
	s.g = virtual.New(d.unit, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	s.g.Release = func(batch []sink.Message) error {
		for i := range batch {
			s.seen[batch[i].Output] = append(s.seen[batch[i].Output], batch[i].Value.Any())
		}
		return nil
	}
	return s
}

// Now is the virtual time.
func (s *Simulation) Now() time.Time { return s.g.Now() }

// Push gives an accumulator events of one instant, as a client would, and runs the graph until
// nothing is left to fire. An event that is refused is an error; those beside it are taken.
func (s *Simulation) Push(accumulator string, events ...any) error {
	i, err := s.input(accumulator)
	if err != nil {
		return err
	}
	var refused []error
	for n, event := range events {
		v, err := toValue(event)
		if err != nil {
			refused = append(refused, fmt.Errorf("push event %d to %s: %w", n, accumulator, err))
			continue
		}
		if err := s.add(i, v); err != nil {
			refused = append(refused, fmt.Errorf("push event %d to %s: %w", n, accumulator, err))
		}
	}
	return errors.Join(append(refused, s.g.Quiesce())...)
}

func (s *Simulation) add(i int, v boundary.Value) error {
	out := s.g.Add(i, &boundary.Event{Raw: v.AppendJSON(nil), At: s.g.Now()}, false)
	if out.Status == accumulator.Rejected {
		return fmt.Errorf("%s: %s", out.Code, out.Detail)
	}
	return nil
}

func (s *Simulation) input(name string) (int, error) {
	if i := slices.Index(s.d.InputNames(), name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the graph %s has no accumulator %q; it has %v", s.d.Name(), name, s.d.InputNames())
}

// Advance moves the clock on, through every timer that is due on the way, each at its time.
func (s *Simulation) Advance(by time.Duration) error { return s.g.AdvanceTo(s.g.Now().Add(by)) }

// Take returns the values that an output has emitted since it was last taken, in order.
func (s *Simulation) Take(output string) ([]any, error) {
	for i := range s.d.unit.Spec.Outputs {
		if s.d.unit.Spec.Outputs[i].Name == output {
			values := s.seen[output]
			delete(s.seen, output)
			return values, nil
		}
	}
	return nil, fmt.Errorf("the graph %s has no output %q", s.d.Name(), output)
}

// Fire is the command ForceFire: one epoch now, whatever the criteria say, after which every
// output puts out its current value.
func (s *Simulation) Fire() error {
	return s.command(func(c *reactor.Core, now time.Time) error {
		_, err := c.ForceFire(now, "", false)
		return err
	})
}

// FireWith is the command FireWith: one epoch on the values given, by accumulator; with
// replace they become the current state, without it the epoch is an aside.
func (s *Simulation) FireWith(cache map[string]any, replace bool) error {
	values := make([]boundary.Value, len(s.d.unit.Inputs()))
	for name, x := range cache {
		i, err := s.input(name)
		if err != nil {
			return err
		}
		if values[i], err = toValue(x); err != nil {
			return fmt.Errorf("the value of %s: %w", name, err)
		}
	}
	return s.command(func(c *reactor.Core, now time.Time) error {
		_, err := c.FireWith(now, "", values, replace)
		return err
	})
}

// Pause stops the firing; boundaries accumulate.
func (s *Simulation) Pause() error {
	return s.command(func(c *reactor.Core, now time.Time) error { c.Pause(now, "test"); return nil })
}

// Resume ends a pause and fires what has accumulated.
func (s *Simulation) Resume() error {
	return s.command(func(c *reactor.Core, now time.Time) error { c.Resume(now); return nil })
}

// Step fires n epochs of a paused graph.
func (s *Simulation) Step(n int) error {
	return s.command(func(c *reactor.Core, now time.Time) error { return c.Step(now, n) })
}

func (s *Simulation) command(f func(c *reactor.Core, now time.Time) error) error {
	return s.g.Command(f)
}

// SimulationStatus is how a simulated graph is.
type SimulationStatus struct {
	Health string
	Paused bool
	Epochs int64
	// DeadLetters is how many there are, failed epochs' events among them.
	DeadLetters int
	// WaitingFor are the inputs that the next epoch waits for.
	WaitingFor []string
}

// Status is how the graph is now.
func (s *Simulation) Status() SimulationStatus {
	v := s.g.Core().Look()
	return SimulationStatus{
		Health: string(v.Health), Paused: v.Paused, Epochs: v.Epoch, DeadLetters: len(s.g.Letters()),
		WaitingFor: v.WaitingFor,
	}
}
