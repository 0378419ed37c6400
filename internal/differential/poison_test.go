package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/job"
)

// poisoned makes a plan some of whose lines cannot be used: they are no JSON, the very first of all among
// them, have no time, fail the schema or `where`, or come to an epoch that fails.
func poisoned(seed uint64) *clockPlan {
	p := newClockPlan(seed, false)
	for i := range p.lines {
		bad := []timedLine{{0, `broken from the start`}}
		for n, line := range p.lines[i] {
			switch bad = append(bad, line); p.r.IntN(12) {
			case 0:
				bad = append(bad, timedLine{line.at, fmt.Sprintf(`{"at":%d,"k":`, n)})
			case 1:
				bad = append(bad, timedLine{line.at, fmt.Sprintf(`{"at":"noon","k":"a","x":%d}`, n)})
			case 2:
				bad = append(bad, timedLine{line.at, strings.Replace(line.text, `"x":`, `"x":"text","y":`, 1)})
			}
		}
		p.lines[i] = bad
	}
	p.doc = strings.ReplaceAll(p.doc, "    time: event.at\n", "    time: event.at\n"+
		"    schema: { type: object, properties: { x: { type: integer } } }\n    where: 100 / (event.x - 7) != 1\n")
	if p.kinds[0] == "passthrough" && !p.keyed {
		p.doc = strings.Replace(p.doc, "nodes:\n", "nodes:\n  fails: { event: true, expr: '6 / ((a ?? 1) - 3)' }\n", 1)
	}
	return p
}

// letter is what run and live must agree on.
func letter(accumulator, stage, code, payload string) string {
	return strings.Join([]string{accumulator, stage, code, payload}, " ")
}

// M26, M35: what cannot be used makes no difference either: live, with all of it to catch up with and
// across crashes, there are the outputs and the dead letters of a bounded run, each once.
func TestM26PoisonEqualsRun(t *testing.T) {
	t.Parallel()
	crashes, stages := 0, map[string]int{}
	seeds(t, 60, func(t *testing.T, seed uint64) {
		p, dir := poisoned(seed), t.TempDir()
		for i := range p.lines {
			p.append(t, dir, i, p.lines[i]...)
		}
		var want, got []string
		p.letter = func(l job.Letter) error {
			shown, _ := api.Payload(l.Payload)
			want = append(want, letter(l.Accumulator, l.Stage, l.Code, string(shown)))
			stages[l.Stage]++
			return nil
		}
		outputs := p.run(t, dir)
		p.last = p.lettersTo(&got)
		crashes += p.catchesUp(t, dir, seed, outputs)
		slices.Sort(want)
		slices.Sort(got)
		compare(t, "dead letters of\n"+p.doc, got, want)
	})
	t.Logf("%d crashes, dead letters by stage: %v", crashes, stages)
}

// lettersTo reads all dead letters of a live graph.
func (p *clockPlan) lettersTo(got *[]string) func(context.Context, *engine.Engine, api.Ref) error {
	return func(ctx context.Context, e *engine.Engine, ref api.Ref) error {
		for before := ""; ; {
			page, err := e.DeadLetters(ctx, ref, api.LetterQuery{Limit: 1000, Before: before})
			for _, l := range page.Items {
				*got = append(*got, letter(l.Accumulator, l.Stage, l.Code, string(l.Payload)))
			}
			if before = page.Next; err != nil || before == "" {
				return err
			}
		}
	}
}

// M5, M26: whatever the clock, what a bounded run refuses of its events, a live graph refuses: an event
// whose time cannot be read too, though by arrival nobody may need it.
func TestM5TheSameIsRefusedUnderEitherClock(t *testing.T) {
	t.Parallel()
	seeds(t, 20, func(t *testing.T, seed uint64) {
		p, dir := poisoned(seed), t.TempDir()
		p.doc = "clock: arrival\n" + p.doc
		for i := range p.lines {
			p.append(t, dir, i, p.lines[i]...)
		}
		var want, got []string
		ofEvents := func(list []string) []string { // epochs are others by arrival, and so is what fails of them
			list = slices.DeleteFunc(list, func(l string) bool {
				stage := strings.Fields(l)[1]
				return stage == "node" || stage == "evict"
			})
			slices.Sort(list)
			return list
		}
		p.letter = func(l job.Letter) error {
			shown, _ := api.Payload(l.Payload)
			want = append(want, letter(l.Accumulator, l.Stage, l.Code, string(shown)))
			return nil
		}
		p.run(t, dir)
		p.last = p.lettersTo(&got)
		store := memstore.NewSeeded(seed)
		defer store.Close()
		p.live(t, dir, false, newMortal(store, eternal), &safeBuffer{}, p.events(), nil)
		compare(t, "live: dead letters of\n"+p.doc, ofEvents(got), ofEvents(want))
	})
}
