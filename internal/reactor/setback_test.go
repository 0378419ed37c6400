package reactor

import (
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
