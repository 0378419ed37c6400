package pace

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// M23: ticks of several lanes that are due together are one; each late one is as its lane says. What is undone is due
// again, and a restart goes on from where they stand.
func TestM23Lanes(t *testing.T) {
	t.Parallel()
	rates := []graph.Rate{{Name: "one", Period: 10, Overrun: lanes.DropTick}, {Name: "two", Period: 20,
		Overrun: lanes.SkipNext}, {Name: "odd", Period: 15, Overrun: lanes.CatchUpOnce}}
	l := New(rates)
	if _, ok := l.Due(); ok || l.First(100) {
		t.Error("something is due before it has begun")
	}
	if !l.Begin(0) || l.Begin(7) {
		t.Error("it begins once")
	}
	for n, s := range []struct {
		now   int64
		first bool
		want  Tick
		due   int64
	}{
		{10, true, Tick{Lanes: 0b001}, 15},
		{15, true, Tick{Lanes: 0b100}, 20},
		{20, true, Tick{Lanes: 0b011}, 30},
		{30, true, Tick{Lanes: 0b101}, 40},
		// one: 40, 50, 60 and 70; two: 40, 60 and 80; odd: 45, 60 and 75.
		{75, true, Tick{Lanes: 0b111, Dropped: 3 + 2 + 1}, 75},
		{75, true, Tick{Lanes: 0b100}, 80}, // the one that is made up for
		{85, true, Tick{Lanes: 0b001}, 90},
	} {
		if first := l.First(s.now); first != s.first {
			t.Errorf("step %d: first is %t", n, first)
		}
		got := l.Take(s.now)
		l.Undo()
		again := New(rates)
		again.Restore(l.State())
		if undone := again.Take(s.now); got != s.want || undone != got || l.Take(s.now) != got {
			t.Errorf("step %d: got %+v and, undone, %+v, want %+v", n, got, undone, s.want)
		}
		if at, ok := l.Due(); !ok || at != s.due {
			t.Errorf("step %d: %d is due next, want %d", n, at, s.due)
		}
	}
	if l.First(91) {
		t.Error("a late tick comes after what waited meanwhile")
	}
	l.Yield()
	if !l.First(91) {
		t.Error("nothing else waits")
	}
	if l.SetBack(5); l.State().Served["one"] != 5 {
		t.Error("it was served at a time that has not come")
	}
	if l.Forget(); len(l.State().Served) != 0 {
		t.Error("it has been forgotten")
	}
}

// M28: where a graph has no such lane, or a checkpoint is from before it had one, there is nothing.
func TestM28NoLanes(t *testing.T) {
	t.Parallel()
	none := New(nil)
	none.Restore(&form.Pace{Served: map[string]int64{"gone": 1}})
	none.SetBack(1)
	none.Forget()
	none.Yield()
	if _, ok := none.Due(); ok || none.State() != nil || none.Told() != nil || none.Behind() != "" || none.Begin(1) {
		t.Error("there is something")
	}
	l := New([]graph.Rate{{Name: "new", Period: time.Second}})
	l.Restore(&form.Pace{Served: map[string]int64{"gone": 1}})
	if _, ok := l.Due(); ok {
		t.Error("a lane that the checkpoint does not know has begun")
	}
}
