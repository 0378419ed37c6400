package accumulator

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/window"
)

// M3: what lies exactly on an edge: an event at a window's end, at the watermark, at the last
// moment at which a window is kept. A window that is opened behind the watermark has been
// handed over already, as far as the next moment goes: each of its events is told once.
func TestM3AtTheWatermark(t *testing.T) {
	t.Parallel()
	const size = 10 * time.Second
	type step struct {
		at   int
		want []string // handed over
		fate string   // "" for accepted
	}
	for name, c := range map[string]struct {
		lateness, retain time.Duration // retain: late is update
		steps            []step
	}{
		"no lateness: at the end": {steps: []step{
			{at: 9}, {at: 10, want: []string{"[0,10) n=1 +1"}}, {at: 9, fate: "0 filtered "},
			{at: 10}, {at: 19}, {at: 20, want: []string{"[10,20) n=3 +3"}}, {at: 20},
		}},
		"no lateness: the watermark opens no window that ends with it": {steps: []step{
			{at: 20}, {at: 19, fate: "0 filtered "}, {at: 20}, {at: 30, want: []string{"[20,30) n=2 +2"}},
		}},
		"lateness: the watermark exactly at the end": {lateness: 5 * time.Second, steps: []step{
			{at: 9}, {at: 14}, {at: 9}, {at: 15, want: []string{"[0,10) n=2 +2"}},
			{at: 9, fate: "0 filtered "}, {at: 10},
			{at: 25, want: []string{"[10,20) n=3 +3"}},
		}},
		"lateness: an event exactly at the watermark": {lateness: 5 * time.Second, steps: []step{
			{at: 15}, {at: 10}, {at: 24}, {at: 19}, {at: 25, want: []string{"[10,20) n=3 +3"}},
		}},
		"update: one opened exactly at the watermark is handed over once": {retain: 10 * time.Second, steps: []step{
			{at: 20}, {at: 19, want: []string{"[10,20) n=1 update=true +1"}}, {at: 20}, {at: 21},
			{at: 30, want: []string{"[20,30) n=3 update=false +3"}},
		}},
		"update: the one that it has": {retain: 10 * time.Second, steps: []step{
			{at: 19}, {at: 20, want: []string{"[10,20) n=1 update=false +1"}},
			{at: 19, want: []string{"[10,20) n=2 update=true +1"}}, {at: 29},
			{at: 10, want: []string{"[10,20) n=3 update=true +1"}},
			{at: 30, want: []string{"[20,30) n=2 update=false +2"}}, {at: 19, fate: "0 filtered "},
		}},
		"update: exactly retain after the end is too late": {retain: 5 * time.Second, steps: []step{
			{at: 9}, {at: 14, want: []string{"[0,10) n=1 update=false +1"}},
			{at: 9, want: []string{"[0,10) n=2 update=true +1"}}, {at: 15}, {at: 9, fate: "0 filtered "},
			{at: 20, want: []string{"[10,20) n=2 update=false +2"}},
		}},
		"update with lateness": {lateness: 3 * time.Second, retain: 5 * time.Second, steps: []step{
			{at: 23}, {at: 19, want: []string{"[10,20) n=1 update=true +1"}}, {at: 22}, {at: 27},
			{at: 19, want: []string{"[10,20) n=2 update=true +1"}}, {at: 28}, {at: 19, fate: "0 filtered "},
			{at: 33, want: []string{"[20,30) n=4 update=false +4"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := tumbling(size)
			change(&a, func(w *window.Declared) { w.Lateness = c.lateness })
			if c.retain > 0 {
				change(&a, func(w *window.Declared) { w.Late, w.Retain = "update", c.retain })
			}
			core := newCore(t, a)
			for _, s := range c.steps {
				out, fates := feedAll(t, core, reading(s.at, "", 1))
				if s.fate != "" {
					s.want = append(s.want, s.fate)
				}
				want(t, "after "+time.Duration(s.at*1e9).String(), append(out, fates...), s.want...)
			}
			if open := core.Counters().Open; open < 0 {
				t.Errorf("%d events are open", open)
			}
			core.EndOfInput(far)
			core.Drain(&Handoff{})
			if open := core.Counters().Open; open != 0 {
				t.Errorf("%d events are open after the end", open)
			}
		})
	}
}
