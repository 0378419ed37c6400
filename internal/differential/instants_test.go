package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
)

// M26, M28: a graph that goes down after every single step, within an instant as between two, answers what a
// bounded run answers: the same epochs, outputs and dead letters. So does one that loses some steps and does
// them again.
func TestM26EveryStepSurvives(t *testing.T) {
	t.Parallel()
	plans := map[string]func(seed uint64) *clockPlan{
		"clock":  func(seed uint64) *clockPlan { return newClockPlan(seed, false) },
		"coarse": coarse,
		"poison": poisoned,
		"stages": func(seed uint64) *clockPlan { return newStagePlan(seed, false) },
	}
	for name, plan := range plans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lives, inside := 0, 0
			seeds(t, 20, func(t *testing.T, seed uint64) {
				p := plan(seed)
				if seed%2 == 1 && !strings.Contains(p.doc, "mode: ") {
					p.doc = strings.Replace(p.doc, "durability: {", "durability: { mode: journal,", 1)
				}
				m := p.mayfly(t, seed)
				lives, inside = lives+m.lives, inside+m.inside
			})
			t.Logf("%d lives, of which %d ended within an instant", lives, inside)
		})
	}
}

// coarse makes a plan whose times are whole seconds: instants have many events, of all inputs.
func coarse(seed uint64) *clockPlan {
	p := newClockPlan(seed, false)
	for _, lines := range p.lines {
		for i, l := range lines {
			at := l.at / 1000 * 1000
			lines[i] = timedLine{at, strings.Replace(l.text, fmt.Sprint(zero.UnixMilli()+l.at),
				fmt.Sprint(zero.UnixMilli()+at), 1)}
		}
	}
	return p
}

// mayfly compares what one says with what a run says.
func (p *clockPlan) mayfly(t *testing.T, seed uint64) *mayfly {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(p.at(t.TempDir(), true)), "random.yaml")
	if err := diags.Err(); err != nil {
		t.Fatalf("%v\n%s", err, p.doc)
	}
	lines := map[string][]string{}
	for i, of := range p.lines {
		for _, l := range of {
			lines[u.Spec.Accumulators[i].Name] = append(lines[u.Spec.Accumulators[i].Name], l.text)
		}
	}
	var letters []string
	p.letter = func(l job.Letter) error {
		shown, _ := api.Payload(l.Payload)
		letters = append(letters, letter(l.Accumulator, l.Stage, l.Code, string(shown)))
		return nil
	}
	want := p.run(t, "")
	m := newMayfly(u, lines, seed, seed%4 > 1)
	if err := m.live(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, p.doc)
	}
	p.check(t, fmt.Sprint(m.lives, " lives"), &safeBuffer{b: m.out}, want)
	slices.Sort(letters)
	slices.Sort(m.letters)
	compare(t, "dead letters of\n"+p.doc, m.letters, letters)
	return m
}

// steps is what a graph says that goes down after every step, or after some and loses others.
func (w *wide) steps(t *testing.T, doc tree, seed uint64, _ *spoken) (*spoken, error) {
	changed, err := written(doc, func(doc tree) { doc["durability"] = w.often(doc, seed) })
	if err != nil {
		return nil, err
	}
	u, diags := (&builtin.Kinds{}).Parse([]byte(changed), "random.json")
	if err := diags.Err(); err != nil {
		return nil, err
	}
	lines := map[string][]string{}
	for _, in := range w.inputs {
		lines[in.name] = in.texts()
	}
	m := newMayfly(u, lines, seed, seed%4 > 1)
	if err := m.live(t.Context()); err != nil {
		return nil, err
	}
	s := newSpoken()
	s.books = m.books
	return s, s.values(m.out.Bytes())
}
