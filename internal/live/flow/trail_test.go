package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/live/flow"
)

const joinOfThree = `graph: g
accumulators:
  a: { source: { file: { path: a.ndjson } }, time: event.at }
  b: { source: { file: { path: b.ndjson } }, time: event.at }
  c: { source: { file: { path: c.ndjson } }, time: event.at, strategy: latest, passive: true }
  j: { join: { left: a, right: b, on: n, within: 50ms, type: left }, capacity: 3 }
nodes: { n: { expr: '[j.left.n, j.right?.n, c?.n]' } }
outputs: { out: { from: n, sink: { drop: {} } } }
`

// answer has all lines say that there is no more than what they have given.
func (r *rig) answer() {
	for _, l := range r.lines {
		l.Looked(l.Look())
	}
}

// settled goes as far as it goes without more events, and tells what was put out.
func (r *rig) settled() string {
	out := []string{r.turn()}
	r.answer()
	out = append(out, r.turn())
	return strings.TrimSpace(strings.Join(out, " "))
}

// M4, M26: while a side has no room the timers go on, and what has waited is not late when it comes in: the join goes
// on as the side does, so that all is as it would have been with room for everything.
func TestM26WhatHasWaitedForRoomIsNotLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, `graph: g
accumulators:
  a: { source: { file: { path: a.ndjson } }, time: event.at }
  b: { source: { file: { path: b.ndjson } }, time: event.at }
  j: { join: { left: a, right: b, on: n, within: 2ms, type: left }, capacity: 4 }
reactor: { rate_limit: 100ms }
nodes: { n: { expr: '[j.left.n, j.right?.n]' } }
outputs: { out: { from: n, sink: { drop: {} } } }
`, 1000)
	var want []string
	for n := range int64(30) {
		r.giveTo(r.lines[0], "", n+1, 1001+n)
		if n+1 != 13 { // whose time is up with what happens behind the pair of 15
			r.giveTo(r.lines[1], "", n+1, 1001+n)
			want = append(want, fmt.Sprintf("[%d,%d]", n+1, n+1))
		}
		if n+1 == 15 {
			want = append(want, "[13,null]")
		}
	}
	for _, l := range r.lines {
		l.CaughtUp("", true)
	}
	var out []string
	stuck := false
	for range 2000 {
		if said := r.settled(); said != "" {
			out = append(out, said)
		}
		stuck = stuck || len(r.flow.Stuck()) == 2
		r.mono += int64(50 * time.Millisecond)
	}
	r.want(strings.Join(out, " "), strings.Join(want, " "))
	if !stuck {
		t.Error("that shows nothing: there was always room")
	}
}

// M4, M11, M26: what has waited through a pause, or until its source was let go, while another input went on, is not
// late either, and what it is joined with waits for it.
func TestM26WhatIsLetGoIsNotLate(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]struct{ hold, free func(r *rig, b *pump.Line) }{
		"paused": {func(r *rig, _ *pump.Line) { r.core.Pause(r.flow.Time(), "ann") },
			func(r *rig, _ *pump.Line) { r.core.Resume(r.flow.Time()); r.flow.Stir() }},
		"held": {func(_ *rig, b *pump.Line) { b.Held("", pace.Lasting) },
			func(_ *rig, b *pump.Line) { b.Held("", pace.Free) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, joinOfThree, 1000)
			a, b, c := r.lines[0], r.lines[1], r.lines[2]
			for _, l := range r.lines {
				l.CaughtUp("", true)
			}
			for n := range int64(11) {
				r.giveTo(a, "", n+1, 10+n)
			}
			r.want(r.settled(), "")
			hold.hold(r, b)
			give := func() {
				for n := range int64(10) {
					r.giveTo(b, "", n+1, 30+n)
				}
			}
			if name == "paused" {
				give()
			}
			r.settled()
			r.giveTo(c, "", 1, 100_000)
			for range 12 { // nobody waits for longer
				r.want(r.settled(), "")
				r.mono += int64(flow.DefaultIdle) / 10
			}
			if at := r.flow.Time(); at.UnixMilli() != 100_000 {
				t.Fatalf("it is %v: the others have not gone on", at)
			}
			if name != "paused" {
				give()
			}
			hold.free(r, b)
			r.want(r.settled(), "[1,1,1] [2,2,1] [3,3,1] [4,4,1] [5,5,1] [6,6,1] [7,7,1] [8,8,1] [9,9,1] [10,10,1] "+
				"[11,null,1]")
			r.giveTo(b, "", 11, 41) // which nobody has held
			r.settled()
			if l, _ := r.core.LateDrops(3); l.Events != 1 {
				t.Errorf("%d are late", l.Events)
			}
		})
	}
}
