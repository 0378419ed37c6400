package reactor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
)

// M11, W27, M28, M29: what is stopped is in the checkpoint and in the journal, and a checkpoint
// of before, or of other names, has nothing stopped.
func TestM11StoppedIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, journalGraph, withJournal)
	r.c.Begin()
	a, b, o := Part{Index: 0}, Part{Index: 1}, Part{Output: true}
	if !r.c.StopPart(r.now, a, "ann") || r.c.StopPart(r.now, a, "eve") || !r.c.StopPart(r.now, o, "bob") ||
		!r.c.StopPart(r.now, b, "ann") || !r.c.StartPart(r.now, b) || r.c.StartPart(r.now, b) {
		t.Error("a stop or start was said to change what it does not, or the other way round")
	}
	is := func(what string, c *Core, input, output bool) {
		t.Helper()
		if (c.Stopped(a) != nil) != input || (c.Stopped(o) != nil) != output || c.Stopped(b) != nil {
			t.Errorf("%s: a %v, b %v, o %v", what, c.Stopped(a), c.Stopped(b), c.Stopped(o))
		}
		if input && (c.Stopped(a).By != "ann" || !c.Stopped(a).At.Equal(r.now)) {
			t.Errorf("%s: %v", what, c.Stopped(a))
		}
	}
	entries := r.c.DrainJournal()
	replayed := NewCore(testConfig(t, journalGraph, withJournal))
	replay := NewReplayer(replayed, checkpoint.Head{})
	for _, e := range entries {
		if err := replay.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	replay.Done()
	is("replayed", replayed, true, true)

	restore := func(m []byte) *Core {
		c := NewCore(testConfig(t, journalGraph, withJournal))
		if _, err := c.Restore(checkpoint.Head{Meta: m}, nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	m := r.c.meta()
	is("restored", restore(m), true, true)
	is("reset", restore(Blank(m, 0, 1, "", "")), true, true)
	is("with another output", restore([]byte(strings.Replace(string(m), `"stopped_outputs":{"o"`,
		`"stopped_outputs":{"p"`, 1))), true, false)
	var old map[string]json.RawMessage
	if err := json.Unmarshal(m, &old); err != nil {
		t.Fatal(err)
	}
	delete(old, "stopped_inputs")
	delete(old, "stopped_outputs")
	before, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	is("of a checkpoint of before", restore(before), false, false)
}

// M10, M11: a stopped input is no fault, whatever its accumulator says; its graph is live, with
// the reason, and a halt for lost data ends with it.
func TestM11StoppedIsNoFault(t *testing.T) {
	t.Parallel()
	r := newRig(t, journalGraph)
	r.c.SetHealth(r.now, 0, accumulator.Disconnected, "source_disconnected", "away")
	r.c.StopPart(r.now, Part{Index: 0}, "ann")
	v := r.c.Look()
	if v.Health != HealthLive || v.Code != "part_stopped" || len(v.Degraded) > 0 ||
		v.Inputs[0].Health != accumulator.Stopped {
		t.Errorf("%s %s %v %s", v.Health, v.Code, v.Degraded, v.Inputs[0].Health)
	}
	r.c.StartPart(r.now, Part{Index: 0})
	if v := r.c.Look(); v.Health != HealthDegraded || v.Code != "accumulator_starting" {
		t.Errorf("after the start: %s %s", v.Health, v.Code)
	}
	r.c.SetHealth(r.now, 0, accumulator.Halted, "source_data_lost", "gone")
	r.c.StopPart(r.now, Part{Index: 0}, "ann")
	r.c.SetHealth(r.now, 0, accumulator.SocketOnly, "", "")
	if v := r.c.Look(); v.Health != HealthLive {
		t.Errorf("halted and stopped: %s %s", v.Health, v.Code)
	}
}
