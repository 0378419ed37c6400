package accumulator

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/window"
)

// M28: a state in the format of before, which had no times of what waits, is still read: early
// results are due at once, and a silence counts from the next look at it.
func TestWindowStateOfBefore(t *testing.T) {
	t.Parallel()
	const before = "W\x01\x80\xa8\xc0\xf7\xec\xa0\xdc\xe91\x01\x01s\x80\xa8\xc0\xf7\xec\xa0\xdc\xe91\x00\x01\x00" +
		"\x01\xc4\xef<\x80\x80\xea\xbd\xe5\xa0\xdc\xe91\x80\x80\xafɫ\xf2\xdd\xe91\x01\x06\x01k\x02\x80\xf8\xec" +
		"\xea\xfb\xa0\xdc\xe91\x01\x01s\x02\x01s\x02\x00\x02"
	a := keyed(tumbling(time.Hour))
	change(&a, func(w *window.Declared) { w.Early, w.Idle = 5*time.Second, time.Minute })
	c := NewCore(compile(t, a), Limits{})
	if err := c.Restore([]byte(before), Counters{Received: 1, Open: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if due, ok := c.Due(); !ok || due.After(at(0)) {
		t.Errorf("due %v, %v; want at once", due, ok)
	}
	c.Tick(at(4 * time.Second))
	want(t, "early", brief(take(t, c)), `[0,3600) key="k" n=1 early=true +0`)
	if due, ok := c.Due(); !ok || !due.Equal(at(64*time.Second)) {
		t.Errorf("due %v, %v; want when the partition has been silent for a minute", due, ok)
	}
}

// M26, M28: of a window's state what is due stays due when it was, and a silence counts anew after a
// restart, for nobody could have been heard meanwhile.
func TestM28WindowTimesAfterARestart(t *testing.T) {
	t.Parallel()
	a := tumbling(time.Hour)
	change(&a, func(w *window.Declared) { w.Early, w.Idle = 5*time.Second, time.Minute })
	p := compile(t, a)
	c := NewCore(p, Limits{})
	c.Add(at(3*time.Second), reading(1, "k", 1), true)
	m := take(t, c).Mark
	due := func(what string, c *Core, want time.Duration) {
		t.Helper()
		if got, ok := c.Due(); !ok || !got.Equal(at(want)) {
			t.Errorf("%s: due %v, want %v", what, got, at(want))
		}
	}
	due("no time has passed", restart(t, p, m), 8*time.Second)
	for now, want := range map[time.Duration]time.Duration{
		4 * time.Second: 8 * time.Second,
		time.Hour:       8 * time.Second, // it has passed: at once
		-24 * time.Hour: -24*time.Hour + 5*time.Second,
	} {
		c := restart(t, p, m)
		c.Restarted(at(now))
		due("early, restarted at "+now.String(), c, want)
		c.Tick(at(max(now, want)))
		take(t, c)
		due("idle, restarted at "+now.String(), c, now+time.Minute)
	}
}

// M26: a watermark of arrival time that was kept while the wall clock was a day ahead does not stay
// ahead: what arrives after a restart is not late, what had arrived under the wrong clock is
// handed over, and each event is accounted for once.
func TestM26ArrivalWatermarkIsSetBack(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, late := range map[string]string{"drop": "drop", "update": "update"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := keyed(tumbling(10 * time.Second))
			a.Time = expr("")
			change(&a, func(w *window.Declared) { w.Late, w.Retain = late, time.Minute })
			p := compile(t, a)
			c := NewCore(p, Limits{})
			c.Add(at(day), reading(0, "k", 1), true)
			c.Add(at(day+10*time.Second), reading(0, "k", 1), true) // closes the first
			c.Add(at(day+11*time.Second), reading(0, "k", 1), true)
			first := take(t, c)
			again := restart(t, p, first.Mark)
			again.Restarted(at(2 * time.Second))
			m := again.Moment()
			for range 2 {
				again.Add(at(3*time.Second), reading(0, "k", 1), true)
				h := take(t, again)
				if len(h.Boundaries) != 1 || h.Boundaries[0].Events != 2 {
					t.Fatalf("handed over %v, want the window of the wrong clock", brief(h))
				}
				again.GoBack(m) // and once more
			}
			before := again.Counters()
			if due, ok := again.Due(); !ok || due.After(at(2*time.Second)) {
				t.Errorf("due %v, %v; want at once", due, ok)
			}
			again.Add(at(3*time.Second), reading(0, "k", 1), true)
			again.Tick(at(10 * time.Second))
			h := take(t, again)
			balanced(t, again, before, h)
			if len(h.Boundaries) != 2 || h.Boundaries[1].Events != 1 {
				t.Errorf("handed over %v, want the window of now too", brief(h))
			}
		})
	}
	t.Run("a little ahead", func(t *testing.T) {
		a := tumbling(10 * time.Second)
		a.Time = expr("")
		p := compile(t, a)
		c := NewCore(p, Limits{})
		c.Add(at(time.Minute), reading(0, "k", 1), true)
		again := restart(t, p, take(t, c).Mark)
		again.Restarted(at(0)) // engine time goes on from the checkpoint's, which is not far ahead
		if due, ok := again.Due(); !ok || !due.Equal(at(70*time.Second)) {
			t.Errorf("due %v, %v", due, ok)
		}
	})
}

// M26: a session that went on while the wall clock was ahead ends a pause after its last event by the clock of now, and
// not by that one.
func TestM26ASessionOfAWrongClockEnds(t *testing.T) {
	t.Parallel()
	a := tumbling(0)
	a.Time = expr("")
	change(&a, func(w *window.Declared) { w.Size, w.Every, w.Gap = 0, 0, 3*time.Hour })
	p := compile(t, a)
	c := NewCore(p, Limits{})
	c.Add(at(0), reading(0, "k", 1), true)
	c.Add(at(2*time.Hour), reading(0, "k", 1), true)
	again := restart(t, p, take(t, c).Mark)
	again.Restarted(at(time.Second))
	again.Tick(at(2 * time.Second))
	if due, ok := again.Due(); !ok || !due.Equal(at(2*time.Second+3*time.Hour)) {
		t.Errorf("due %v, %v", due, ok)
	}
	again.Add(at(time.Minute), reading(0, "k", 1), true)
	before := again.Counters()
	again.Tick(at(time.Minute + 3*time.Hour))
	h := take(t, again)
	balanced(t, again, before, h)
	if len(h.Boundaries) != 1 || h.Boundaries[0].Events != 3 {
		t.Errorf("handed over %v", brief(h))
	}
	if due, ok := again.Due(); ok {
		t.Errorf("due %v", due)
	}
}
