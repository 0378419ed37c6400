package reactor

import (
	"errors"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

const journalGraph = `graph: journal
accumulators:
  a: { strategy: sequential }
  b: {}
nodes: { n: { expr: '[a, b ?? nil]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

func withJournal(c *Config) { c.Journal = true }

// logged is the journal of a core that has met every kind of call.
func logged(t *testing.T) []checkpoint.JournalEntry {
	t.Helper()
	r := newRig(t, journalGraph, withJournal)
	r.c.Begin()
	r.push("b", "text")
	r.push("a", 1, 2)
	for r.c.Fire(r.now) {
	}
	entries := r.c.DrainJournal()
	r.c.Pause(r.now, "op")
	r.push("a", 3)
	if _, err := r.c.ForceFire(r.now, "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.FireWith(r.now, "", []boundary.Value{boundary.Int(9), {}}, true); err != nil {
		t.Fatal(err)
	}
	r.c.Admit(r.now, 0, &accumulator.Handoff{
		DeadLetters: []checkpoint.DeadLetter{{Stage: "decode", Code: "x", Payload: []byte("{")}},
		Mark:        r.c.accs[0].mark,
	}, 0)
	r.c.Resume(r.now)
	return append(entries, r.c.DrainJournal()...)
}

// M29: what was recorded is what a replay comes to; what it cannot come to, it says.
func TestM29Replayer(t *testing.T) {
	t.Parallel()
	entries := logged(t)
	c := NewCore(testConfig(t, journalGraph, withJournal))
	r := NewReplayer(c, checkpoint.Head{})
	for _, e := range entries {
		if err := r.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	r.Done()
	if n, epochs, anew := r.Outcome(); n != 2 || epochs != 4 || anew || c.Epoch() != 4 || c.paused ||
		len(c.deadLetters) != 1 || len(c.Released()) != 4 {
		t.Errorf("entries %d, epochs %d, anew %v, epoch %d, paused %v, %d letters, %d released", n, epochs, anew,
			c.Epoch(), c.paused, len(c.deadLetters), len(c.Released()))
	}
	if v := c.shared.slots[0].cur; v.String() != "9" {
		t.Errorf("the cache has %s", v)
	}

	other := NewCore(testConfig(t, journalGraph, withJournal))
	other.epoch = 5 // not the checkpoint that the journal was written on
	if err := NewReplayer(other, checkpoint.Head{}).Entry(entries[0]); !errors.Is(err, ErrDiverged) {
		t.Errorf("a replay that comes to other numbers: %v, want ErrDiverged", err)
	}
	other = NewCore(testConfig(t, journalGraph, withJournal, func(c *Config) { c.All = true }))
	r = NewReplayer(other, checkpoint.Head{})
	if err := r.Entry(entries[1]); !errors.Is(err, ErrDiverged) {
		t.Errorf("a replay whose epoch does not come: %v, want ErrDiverged", err)
	}
	unknown := checkpoint.JournalEntry{Seq: 1, Data: []byte("Z\x00")}
	if err := NewReplayer(NewCore(testConfig(t, journalGraph)), checkpoint.Head{}).Entry(unknown); !errors.Is(err,
		ErrCorrupt) {
		t.Errorf("a record of an unknown kind: %v, want ErrCorrupt", err)
	}
}

// M29: a replay in which an epoch has time that had none comes to something else, and says so.
func TestM29ReplayThatHasTime(t *testing.T) {
	t.Parallel()
	const inputs = "  a: { strategy: sequential }\n"
	var clock int64
	same := func(c *Config) { c.Journal, c.PlanHash = true, "same" }
	r := newRig(t, graphOf(inputs, "{ when: any }", "nodes:\n  n: { expr: a + 1 }\n"), same, func(c *Config) {
		c.EpochTimeout = time.Second
		c.Mono = func() int64 { clock += int64(time.Minute); return clock }
	})
	r.c.Begin()
	r.push("a", 1)
	r.want(r.fire(), "")
	entries := r.c.DrainJournal()
	for nodes, want := range map[string]error{
		"nodes:\n  n: { expr: a + 1 }\n":                    nil,
		"outputs: { o: { from: a, sink: { drop: {} } } }\n": ErrDiverged, // nothing there could have no time
	} {
		c := NewCore(testConfig(t, graphOf(inputs, "{ when: any }", nodes), same))
		if err := NewReplayer(c, checkpoint.Head{}).Entry(entries[0]); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", nodes, err, want)
		}
	}
}

// FuzzReplay: whatever an entry holds, a replay answers and does not panic.
func FuzzReplay(f *testing.F) {
	cfg := testConfig(f, journalGraph, withJournal)
	r := NewCore(cfg)
	r.Begin()
	r.Start(epochZero)
	r.SetHealth(epochZero, 0, accumulator.SocketOnly, "", "")
	r.SetHealth(epochZero, 1, accumulator.SocketOnly, "", "")
	r.Admit(epochZero, 0, &accumulator.Handoff{Boundaries: []boundary.Boundary{{Value: boundary.Int(1), Events: 1}}}, 0)
	r.Fire(epochZero)
	if _, err := r.FireWith(epochZero, "", []boundary.Value{boundary.Int(2), {}}, false); err != nil {
		f.Fatal(err)
	}
	for _, e := range r.DrainJournal() {
		f.Add(e.Data)
		f.Add(e.Data[:len(e.Data)/2])
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = NewReplayer(NewCore(cfg), checkpoint.Head{}).Entry(checkpoint.JournalEntry{Seq: 1, Data: data})
	})
}

// M27, M29: a cadence begins in a replay where it began: a journal from before the first commit has its ticks.
func TestM29ReplayOfACadence(t *testing.T) {
	t.Parallel()
	const doc = `graph: journal
accumulators: { a: { strategy: sequential } }
reactor: { every: 1s }
nodes: { n: { expr: 'a' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
	for name, clock := range map[string]option{"arrival": onArrival, "event": byEvents} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rig{t: t, sent: map[string]int64{}, c: NewCore(testConfig(t, doc, withJournal, clock))}
			if name == "arrival" {
				r.now = epochZero.Add(-1500 * time.Millisecond)
			}
			r.start()
			r.c.Begin()
			r.now = epochZero.Add(300 * time.Millisecond)
			for r.c.Tick(r.now); r.c.Fire(r.now); r.c.Tick(r.now) {
			}
			r.push("a", 1)
			for range 4 {
				r.advance(700 * time.Millisecond)
				r.fire()
			}
			c := replayed(t, testConfig(t, doc, withJournal, clock), r.c.DrainJournal())
			if c.Epoch() < 3 || c.Epoch() != r.c.Epoch() || c.ticked != r.c.ticked {
				t.Errorf("epoch %d, ticked %d, want %d and %d", c.Epoch(), c.ticked, r.c.Epoch(), r.c.ticked)
			}
		})
	}
}

// replayed is a new core that a journal from its beginning was replayed on.
func replayed(t *testing.T, cfg Config, entries []checkpoint.JournalEntry) *Core {
	t.Helper()
	c, _ := replayedOn(t, cfg, checkpoint.Head{}, nil, entries)
	return c
}

// replayedOn is a core that was restored, and that the journal behind that was replayed on.
func replayedOn(t *testing.T, cfg Config, head checkpoint.Head, cells []checkpoint.Cell,
	entries []checkpoint.JournalEntry) (*Core, *Replayer) {
	t.Helper()
	c := NewCore(cfg)
	if _, err := c.Restore(head, cells); err != nil {
		t.Fatal(err)
	}
	replayer := NewReplayer(c, head)
	replayer.all(t, entries)
	return c, replayer
}

// all replays all entries.
func (r *Replayer) all(t *testing.T, entries []checkpoint.JournalEntry) {
	t.Helper()
	for _, e := range entries {
		if err := r.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	r.Done()
}
