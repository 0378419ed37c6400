package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/virtual"
)

// Outcome is what became of one case.
type Outcome struct {
	Case string
	Line int
	// Failures are what differed, one line each with its place; empty when the case passed.
	Failures []string
	// At are the lines of the failures in the document.
	At []int
}

// start is when a case begins, unless the first that is done is the push of an event with a time.
func start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// Run runs every case of the document on a fresh graph. When ctx ends it breaks off, and answers
// with why and what came before: a case that was broken off has neither passed nor failed. An epoch that is under way
// then ends between two nodes.
func Run(ctx context.Context, u *compile.Unit, d *Document) ([]Outcome, error) {
	var outcomes []Outcome
	mono := func() int64 { // durations are none, and the time of every epoch is up when ctx has ended
		if ctx.Err() != nil {
			return math.MaxInt64 / 2
		}
		return 0
	}
	for _, c := range d.Cases {
		p := &player{unit: u, file: d.File, seen: make([][]boundary.Value, len(u.Spec.Outputs)),
			answers: map[string]kind.Answer{}}
		p.g = virtual.New(u, p.before(), mono)
		p.g.Interrupt, p.g.Closely, p.g.Calls = ctx.Err, true, p.answer
		p.g.Release = func(batch []sink.Message) error {
			for i := range batch {
				p.seen[batch[i].To] = append(p.seen[batch[i].To], batch[i].Value)
			}
			return nil
		}
		for i := range c.Steps {
			if p.step(&c.Steps[i]); ctx.Err() != nil {
				p.g.Join()
				return outcomes, ctx.Err()
			}
		}
		p.g.Join()
		if !c.Lax {
			p.lost(c.Line)
		}
		outcomes = append(outcomes, Outcome{c.Name, c.Line, p.failures, p.at})
	}
	return outcomes, nil
}

// player plays one case.
type player struct {
	unit     *compile.Unit
	file     string
	g        *virtual.Graph
	seen     [][]boundary.Value // per output, since it was last looked at
	failures []string
	at       []int
	answers  map[string]kind.Answer // by node
	// told is what steps have expected of losses last.
	told losses
}

// Of one case so many failures are told, and of a value so many bytes: what is wrong may be all that there is.
const (
	maxFailures = 200
	maxShown    = 4 << 10
)

func (p *player) fail(line int, format string, args ...any) {
	if len(p.failures) == maxFailures {
		format, args = "and more than these, which are not told", nil
	} else if len(p.failures) > maxFailures {
		return
	}
	p.failures = append(p.failures, fmt.Sprintf("%s:%d: ", p.file, line)+fmt.Sprintf(format, args...))
	p.at = append(p.at, line)
}

// shown is a value as a failure has it.
func shown(v boundary.Value) string { return decode.Shorten(v.String(), maxShown) }

// before is what the clock says before a case begins: nothing, where events have times.
func (p *player) before() time.Time {
	for i, program := range p.unit.Programs {
		if program.Time() != nil && p.unit.Spec.Accumulators[i].From == "" {
			return time.Time{}
		}
	}
	return start()
}

// begin has time begin where it has not: as in a bounded run nothing is due before that.
func (p *player) begin(line int) {
	if !p.g.Now().IsZero() {
		return
	}
	if err := p.g.AdvanceTo(start()); err != nil {
		p.fail(line, "%v", err)
	}
}

func (p *player) step(s *Step) {
	if s.Push == nil && s.Expect == nil && s.Answers == nil {
		p.begin(s.Line)
	}
	var err error
	switch {
	case s.Push != nil:
		for _, push := range s.Push {
			p.push(s.Line, &push)
		}
		err = p.g.Quiesce()
	case s.Advance > 0:
		err = p.g.AdvanceTo(p.g.Now().Add(s.Advance))
	case s.Command != nil:
		err = p.g.Command(func(c *reactor.Core, now time.Time) error { return p.command(c, now, s.Command) })
	case s.Answers != nil:
		p.setAnswers(s.Answers)
	case s.Expect != nil:
		p.expect(s.Line, s.Expect)
	}
	if err != nil {
		p.fail(s.Line, "%v", err)
	}
}

func (p *player) push(line int, push *Push) {
	i := p.input(push.Accumulator)
	if i < 0 {
		p.fail(line, "the graph has no accumulator %q", push.Accumulator)
		return
	}
	if a := &p.unit.Spec.Accumulators[i]; a.Joins() {
		p.fail(line, "%s is %s: push to these", a.Name, a.FedBy())
		return
	}
	for _, raw := range push.Events {
		if p.g.Interrupt() != nil {
			return // Run says so
		}
		ev := boundary.Event{Raw: raw}
		// As in a bounded run the clock is event time where there is one (M26): it moves on to
		// an event that lies ahead, with the graph at rest. A time that cannot be read is refused below.
		if at, ok, err := p.g.EventTime(i, &ev); err == nil && ok && at.After(p.g.Now()) {
			if err := errors.Join(p.g.Step(), p.g.AdvanceTo(at)); err != nil {
				p.fail(line, "%v", err)
				return
			}
		}
		p.begin(line)
		ev.At = p.g.Now()
		p.g.Add(i, &ev, true)
	}
}

func (p *player) input(name string) int {
	for i, in := range p.unit.Inputs() {
		if in.Name == name {
			return i
		}
	}
	return -1
}

func (p *player) command(c *reactor.Core, now time.Time, cmd *Command) error {
	switch cmd.Name {
	case "pause":
		c.Pause(now, "test")
	case "resume":
		c.Resume(now)
	case "step":
		return c.Step(now, cmd.Steps)
	case "force_fire":
		key, err := keyOf(cmd.Key)
		if err == nil {
			_, err = c.ForceFire(now, key, cmd.OnlyChanged)
		}
		return err
	case "fire_with":
		values := make([]boundary.Value, len(p.unit.Inputs()))
		for name, v := range cmd.Cache {
			i := p.input(name)
			if i < 0 {
				return fmt.Errorf("the graph has no input %q", name)
			}
			values[i] = v
		}
		key, err := keyOf(cmd.Key)
		if err == nil {
			_, err = c.FireWith(now, key, values, !cmd.Aside)
		}
		return err
	}
	return nil
}

// keyOf is the key that a command names: one value, or a list of the parts.
func keyOf(v boundary.Value) (boundary.Key, error) {
	if v.IsAbsent() {
		return "", nil
	}
	parts := []boundary.Value{v}
	if v.Kind() == boundary.KindList {
		parts = slices.Collect(v.Items())
	}
	key, err := boundary.AppendKey(nil, parts)
	return boundary.Key(key), err
}

func (p *player) expect(line int, e *Expect) {
	for _, want := range e.Outputs {
		p.expectOutput(line, &want)
	}
	v := p.g.Core().Look()
	if e.Health != "" && e.Health != string(v.Health) {
		p.fail(line, "health is %s, expected %s", v.Health, e.Health)
	}
	if e.Epochs >= 0 && e.Epochs != v.Epoch {
		p.fail(line, "there were %d epochs, expected %d", v.Epoch, e.Epochs)
	}
	is := p.losses()
	p.expectLoss(line, "dead letters", is.letters, e.DeadLetters, &p.told.letters)
	p.expectLoss(line, "failed epochs", is.failed, e.FailedEpochs, &p.told.failed)
	p.expectLoss(line, "late events", is.late, e.Late, &p.told.late)
}

func (p *player) expectOutput(line int, want *ExpectOutput) {
	for i := range p.unit.Spec.Outputs {
		if p.unit.Spec.Outputs[i].Name != want.Name {
			continue
		}
		got := p.seen[i]
		p.seen[i] = nil
		for k := range max(len(got), len(want.Values)) {
			if len(p.failures) > maxFailures || p.g.Interrupt() != nil {
				return
			}
			switch {
			case k >= len(got):
				p.fail(line, "output %s: value %d is missing: expected %s", want.Name, k+1, shown(want.Values[k]))
			case k >= len(want.Values):
				p.fail(line, "output %s: value %d was not expected: %s", want.Name, k+1, shown(got[k]))
			default:
				if diff := differ(got[k], want.Values[k], ""); diff != "" {
					p.fail(line, "output %s: value %d: %s (got %s)", want.Name, k+1, diff, shown(got[k]))
				}
			}
		}
		return
	}
	p.fail(line, "the graph has no output %q", want.Name)
}

// tolerance is how far two numbers may lie apart and still be the same, unless both are whole.
const tolerance = 1e-9

// differ names the first difference, "" for none. Fields that want does not name are not compared.
func differ(got, want boundary.Value, path string) string {
	at := func() string {
		if path == "" {
			return ""
		}
		return path[1:] + " "
	}
	if want.Kind() == boundary.KindObject && got.Kind() == boundary.KindObject {
		for name, w := range want.Fields() {
			if d := differ(got.Field(name), w, path+"."+name); d != "" {
				return d
			}
		}
		return ""
	}
	if want.Kind() == boundary.KindList && got.Kind() == boundary.KindList {
		if got.Len() != want.Len() {
			return fmt.Sprintf("%shas %d elements, expected %d", at(), got.Len(), want.Len())
		}
		for i := range want.Len() {
			if d := differ(got.Index(i), want.Index(i), fmt.Sprintf("%s.%d", path, i)); d != "" {
				return d
			}
		}
		return ""
	}
	if g, ok := got.AsFloat(); ok && (got.Kind() != boundary.KindInt || want.Kind() != boundary.KindInt) {
		if w, ok := want.AsFloat(); ok {
			if math.Abs(g-w) <= tolerance*max(1, math.Abs(w)) {
				return ""
			}
			return fmt.Sprintf("%sis %s, expected %s", at(), shown(got), shown(want))
		}
	}
	if boundary.Equal(got, want) || got.Kind() == boundary.KindTime && got.String() == want.String() {
		return ""
	}
	return fmt.Sprintf("%sis %s, expected %s", at(), shown(got), shown(want))
}
