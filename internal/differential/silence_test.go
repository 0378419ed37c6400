package differential

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
)

// M26: a run ends as a live graph goes on whose inputs have fallen silent: what it says to its end that graph says too,
// each at the same time and in the same epoch, of inputs and of stages, whether its files have ended or may grow.
func TestM26ARunEndsAsASilenceDoes(t *testing.T) {
	t.Parallel()
	atEnd := 0
	seeds(t, 60, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now())) // the events are of the past
			p := newClockPlan(seed, false)
			if seed%2 == 1 {
				p = newStagePlan(seed, false)
			}
			atEnd += p.silent(t, seed)
		})
	})
	t.Logf("%d values at the ends of runs", atEnd)
	if atEnd == 0 {
		t.Error("that shows nothing")
	}
}

// silent compares what a run says with what a live graph has said when it has given as much. It answers how much of it
// came when the inputs had ended.
func (p *clockPlan) silent(t *testing.T, seed uint64) (atEnd int) {
	t.Helper()
	dir := t.TempDir()
	for i, lines := range p.lines {
		p.lines[i] = lines[:len(lines)-1] // without the one that is long after all timers
		p.append(t, dir, i, p.lines[i]...)
	}
	want := p.run(t, dir)
	m, out := &mortal{Store: memstore.NewSeeded(seed), death: make(chan struct{})}, &safeBuffer{}
	defer func() { _ = m.Close() }()
	m.left.Store(1 << 40)
	said := func() []string { return emitted(t, []byte(out.String())) }
	whole := func() bool { // outputs are written each by itself
		got := said()
		return !slices.ContainsFunc(p.outputs, func(o string) bool { return len(of(o, got)) < len(of(o, want)) })
	}
	p.last = func(context.Context, *engine.Engine, api.Ref) error {
		atEnd = len(want) - len(said())
		for until := time.Now().Add(time.Hour); !whole() && time.Now().Before(until); {
			time.Sleep(10 * time.Second)
		}
		return nil
	}
	p.live(t, dir, seed%4 < 2, m, out, p.events(), nil)
	for _, output := range p.outputs {
		got, want := of(output, said()), of(output, want)
		compare(t, "in a silence: "+output+" of\n"+p.doc, got[:min(len(got), len(want))], want)
	}
	return atEnd
}
