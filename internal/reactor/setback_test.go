package reactor

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M26, M13: a core whose engine time is set back has no timer in the future, of the graph or of
// a key; and a replay of its journal sets it back where it was.
func TestM26SetBack(t *testing.T) {
	t.Parallel()
	doc := graphOf("  a: { strategy: sequential }\n", "{ when: any, rate_limit: 1s }",
		"nodes:\n  n: { expr: '[key, a]' }\n"+
			"outputs:\n  out: { from: n, sink: { drop: {} } }\n")
	ttl := keyed(func(k *Keys) { k.TTL = time.Minute })
	r := newRig(t, doc, ttl, withJournal)
	right := r.now
	r.now = right.Add(24 * time.Hour)
	r.give("a", "x", 1)
	r.want(r.fire(), `out=["x",1]@1`)
	r.give("a", "x", 2)
	r.give("a", "y", 3)
	r.want(r.fire(), `out=["y",3]@2`)
	cells := map[string]checkpoint.Cell{}
	r.reload(cells, withJournal)
	head := checkpoint.Head{Epoch: 2, Meta: r.c.meta()}

	r.now = right
	r.c.Begin()
	r.c.SetBack(r.now)
	r.start()
	checkKeys(t, r.c)
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), `out=["x",2]@3`)
	r.advance(time.Minute)
	r.c.Tick(r.now)
	if n, evicted := r.c.KeyCount(); n != 0 || evicted != 2 {
		t.Errorf("%d keys, %d evicted a minute after the last arrival", n, evicted)
	}
	checkKeys(t, r.c)
	entries := r.c.DrainJournal()

	again := NewCore(r.c.cfg)
	if _, err := again.Restore(head, listCells(cells)); err != nil {
		t.Fatal(err)
	}
	replayer := NewReplayer(again, head)
	for _, e := range entries {
		if err := replayer.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	replayer.Done()
	if n, _ := again.KeyCount(); n != 0 || again.Epoch() != 3 || !again.Now().Equal(r.c.Now()) {
		t.Errorf("the replay has %d keys, epoch %d, %v; want none, 3, %v", n, again.Epoch(), again.Now(), r.c.Now())
	}
}

// M26, M8: what was queued under a clock that was wrong waits for no time that has not come: when a cut has taken some
// of it, the rest goes when the cadence or the longest wait says so.
func TestM26SetBackReachesWhatIsQueued(t *testing.T) {
	t.Parallel()
	const one = "  a: { strategy: sequential }\n"
	const both = one + "  b: { strategy: sequential }\n"
	const grid, wait = "{ when: any, every: 10s }", "{ when: all, max_wait: 5s, rate_limit: 1s }"
	for _, c := range []struct {
		name, inputs, reactor string
		key                   string // whose the events are; "" for a graph without keys
		step                  time.Duration
	}{
		{name: "cadence", inputs: one, reactor: grid, step: 10 * time.Second},
		{name: "cadence of a key", inputs: one, reactor: grid, key: "x", step: 10 * time.Second},
		{name: "longest wait", inputs: both, reactor: wait, step: 5 * time.Second},
		{name: "longest wait of a key", inputs: both, reactor: wait, key: "x", step: 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			nodes := pair
			if !strings.Contains(c.inputs, "b:") {
				nodes = strings.ReplaceAll(pair, "b ?? nil", "nil")
			}
			var opts []option
			if c.key != "" {
				opts = append(opts, keyed(nil))
			}
			r := newRig(t, graphOf(c.inputs, c.reactor, nodes), opts...)
			right := r.now
			r.now = right.Add(24*time.Hour + time.Second) // at no instant of the cadence
			r.fire()                                      // a tick that is owed
			for n := range 3 {
				r.give("a", c.key, n+1)
			}
			r.want(r.fire(), "")
			r.reload(map[string]checkpoint.Cell{})
			r.now = right
			r.c.SetBack(r.now)
			r.start()
			for _, want := range []string{"out=[1,null]", "out=[2,null]", "out=[3,null]"} {
				r.advance(c.step)
				got, _, _ := strings.Cut(r.fire(), "@")
				r.want(got, want)
			}
			if c.key != "" {
				checkKeys(t, r.c)
			}
		})
	}
}

// M26: a step of the wall clock shows in health and in the records of the epochs, and goes again.
func TestM26ClockStepIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, graphOf("  a: {}\n", "{ when: any }", "nodes:\n  n: { expr: a }\n"))
	r.c.SetClockStep(-time.Hour)
	r.push("a", 1)
	r.fire()
	code, detail := r.c.HealthReason()
	if r.c.Health() != HealthDegraded || code != "clock_stepped" || detail == "" {
		t.Errorf("health %s %s %s", r.c.Health(), code, detail)
	}
	if d := r.last().Degraded; len(d) != 1 || d[0] != "clock" {
		t.Errorf("the record names %v", d)
	}
	if r.c.SetClockStep(0); r.c.Health() != HealthLive {
		t.Errorf("health %s although the clocks agree", r.c.Health())
	}
}
