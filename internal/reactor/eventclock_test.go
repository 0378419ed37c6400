package reactor

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

func byEvents(c *Config) { c.EventClock = true }

func onArrival(c *Config) { c.EventClock = false }

// M26: a core whose checkpoint goes by the other clock begins engine time anew. What was timed counts from
// there: the limit of a rate, max_wait of what waits in a queue, the life of a key.
func TestM26TheOtherClock(t *testing.T) {
	t.Parallel()
	doc := graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all, rate_limit: 1s, max_wait: 5s }",
		"nodes:\n  n: { expr: '[key, a]' }\n"+
			"outputs:\n  out: { from: n, sink: { drop: {} } }\n")
	for name, c := range map[string]struct {
		before, after option
		begins        time.Time
	}{
		"events of long ago": {onArrival, byEvents, time.Unix(1000, 0).UTC()},
		"events to come":     {onArrival, byEvents, epochZero.AddDate(9, 0, 0)},
		"back to arrival":    {byEvents, onArrival, epochZero.AddDate(-3, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, doc, keyed(func(k *Keys) { k.TTL = time.Minute }), c.before)
			r.give("b", "x", 0)
			r.give("a", "x", 1)
			r.want(r.fire(), `out=["x",1]@1`)
			r.give("a", "x", 2)
			r.give("a", "x", 3)
			r.give("a", "y", 4)
			cells := map[string]checkpoint.Cell{}
			r.reload(cells, c.after)
			if !r.c.Now().IsZero() || !r.c.OtherClock() {
				t.Fatalf("engine time %v", r.c.Now())
			}
			r.now = time.Time{}
			r.start()
			r.now = c.begins
			r.c.Tick(r.now)
			r.reload(cells, c.after) // now it is its own
			r.start()
			r.want(r.fire(), "") // x waits for the rate limit, y for max_wait
			r.advance(time.Second)
			r.want(r.fire(), `out=["x",2]@2`)
			r.advance(time.Second)
			r.want(r.fire(), `out=["x",3]@3`)
			r.advance(3 * time.Second)
			r.want(r.fire(), `out=["y",4]@4`)
			r.advance(time.Minute)
			r.c.Tick(r.now)
			if n, _ := r.c.KeyCount(); n != 0 {
				t.Errorf("%d keys a minute after the clock began anew", n)
			}
		})
	}
}

// M26, M28, M29: a checkpoint and each entry of the journal say which instant is open; one that says nothing has
// none, and those of the other clock mean nothing.
func TestM26TheOpenInstantIsPersisted(t *testing.T) {
	t.Parallel()
	doc := graphOf("  a: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  n: { expr: 'a' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n")
	opens := func(c *Core, want bool) {
		t.Helper()
		if at, open := c.Open(); open != want || open && at != 0 { // the beginning of 1970 is a time like any other
			t.Fatalf("open: %v at %d, want %v", open, at, want)
		}
	}
	r := newRig(t, doc, withJournal, byEvents)
	r.c.Begin()
	before := r.c.meta()
	r.push("a", 1)
	r.c.OpenInstant(0)
	entries := r.c.DrainJournal()
	r.push("a", 2)
	r.c.CloseInstant()
	entries = append(entries, r.c.DrainJournal()...)
	restored := func(meta []byte, as option) (*Core, *Replayer) {
		t.Helper()
		cfg := r.c.cfg
		as(&cfg)
		c, head := NewCore(cfg), checkpoint.Head{Meta: meta}
		if _, err := c.Restore(head, nil); err != nil {
			t.Fatal(err)
		}
		return c, NewReplayer(c, head)
	}
	c, replayer := restored(before, byEvents)
	opens(c, false)
	for i, want := range []bool{true, false} {
		if err := replayer.Entry(entries[i]); err != nil {
			t.Fatal(err)
		}
		opens(c, want)
	}
	r.c.OpenInstant(0)
	within := r.c.meta()
	c, replayer = restored(within, byEvents)
	opens(c, true)
	if err := replayer.Entry(entries[1]); err != nil {
		t.Fatal(err)
	}
	opens(c, false)
	c, replayer = restored(within, onArrival)
	opens(c, false)
	if err := replayer.Entry(entries[0]); err != nil {
		t.Fatal(err)
	}
	opens(c, false)
}

// M26, M29: what the journal of the other clock admits is admitted at the present instant and fired anew.
func TestM26TheJournalOfTheOtherClock(t *testing.T) {
	t.Parallel()
	doc := graphOf("  a: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  n: { expr: 'a' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n")
	for name, c := range map[string]struct{ before, after option }{
		"to events": {onArrival, byEvents}, "to arrival": {byEvents, onArrival},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, doc, withJournal, c.before)
			r.c.Begin()
			head := checkpoint.Head{Meta: r.c.meta()}
			r.push("a", 1)
			r.want(r.fire(), "out=1@1")
			entries := r.c.DrainJournal()
			cfg := r.c.cfg
			c.after(&cfg)
			var replayer *Replayer
			r.c, replayer = replayedOn(t, cfg, head, nil, entries)
			if _, epochs, anew := replayer.Outcome(); epochs != 0 || !anew || !r.c.Now().IsZero() {
				t.Errorf("%d epochs, anew %v, engine time %v", epochs, anew, r.c.Now())
			}
			r.now = time.Time{}
			r.start()
			r.now = time.Unix(1000, 0).UTC()
			r.c.Tick(r.now)
			r.want(r.fire(), "out=1@2")
		})
	}
}
