package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// What made an epoch run is told by its cause, and by what the reactor is declared to wait for.
func TestWhatMadeAnEpochRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cause   string
		reactor spec.Reactor
		taken   []string
		lanes   []string
		want    string
	}{
		"one of any": {"criteria", spec.Reactor{}, []string{"a"}, nil,
			"a had something new, and any of 2 inputs fires"},
		"all of any": {"criteria", spec.Reactor{}, []string{"a", "c"}, nil, "a and c had something new"},
		"all": {"criteria", spec.Reactor{When: "all"}, []string{"a", "c"}, nil,
			"all of a and c had something new"},
		"one of all": {"criteria", spec.Reactor{When: "all"}, []string{"a"}, nil,
			"a had something new, and c had arrived"},
		"nothing by now": {"criteria", spec.Reactor{Debounce: time.Second}, nil, nil, "something new had arrived"},
		"timers": {"criteria", spec.Reactor{Debounce: time.Second, RateLimit: 2 * time.Second, Every: time.Minute},
			[]string{"a", "c"}, nil,
			"a and c had something new; it was let run by debounce 1s, rate_limit 2s and every 1m0s"},
		"force": {"force", spec.Reactor{}, []string{"a"}, nil,
			"an operator asked for it: criteria, guard and timers were not asked"},
		"with": {"with", spec.Reactor{}, nil, nil, "an operator handed in values"},
		"tick": {"tick", spec.Reactor{Every: time.Minute}, nil, nil,
			"its cadence was due, every 1m0s, with nothing new"},
		"tick of a lane": {"tick", spec.Reactor{}, nil, []string{"l", "m"},
			"the cadence of l and m was due, with nothing new"},
		"tick, no more": {"tick", spec.Reactor{}, nil, nil, "its cadence was due, with nothing new"},
		"max_wait of all": {"max_wait", spec.Reactor{When: "all", MaxWait: time.Second}, []string{"a"}, nil,
			"a had waited for 1s, which is as long as max_wait allows; c had not come"},
		"max_wait, of any": {"max_wait", spec.Reactor{MaxWait: time.Second}, []string{"a"}, nil,
			"a had waited for 1s, which is as long as max_wait allows"},
	} {
		p, x := onePicture(t), facts()
		p.spec.Accumulators = append(p.spec.Accumulators, spec.Accumulator{Name: "c"})
		p.spec.Reactor = &tt.reactor
		x.Firing.Cause, x.Firing.Lanes, x.Firing.Cut = tt.cause, tt.lanes, map[string]api.CutInput{}
		for _, name := range tt.taken {
			x.Firing.Cut[name] = api.CutInput{Taken: true}
		}
		if w := p.Tell(x); w.Cause.Detail != tt.want || w.Cause.Code != tt.cause {
			t.Errorf("%s: %s, %q", name, w.Cause.Code, w.Cause.Detail)
		}
		x.Other = true // then only what the record has
		if w := p.Tell(x); tt.cause == "tick" && tt.lanes != nil && w.Cause.Detail != tt.want ||
			w.Cause.Code != tt.cause || w.Cause.Detail == "" {
			t.Errorf("%s, of another declaration: %q", name, w.Cause.Detail)
		}
	}
}

// The guard is told of where it was asked, with what it read: of a node what that was before, never what may be secret.
func TestWhatTheGuardRead(t *testing.T) {
	t.Parallel()
	before := func(epoch int64, ok bool, n string) api.FiringDetail {
		return api.FiringDetail{Firing: api.Firing{Epoch: epoch, OK: ok},
			Nodes: map[string]api.NodeRecord{"n": {Value: raw(n)}}}
	}
	p, x := onePicture(t), facts()
	p.guard, p.spec.Reactor.Guard.Text = []string{"a", "n", "key", "vars"}, "a > n"
	x.Firing.Key = raw(`"k"`)
	if g := p.Tell(x).Guard; g == nil || len(g.Reads) != 3 || g.Expression != "a > n" || string(g.Reads["a"]) != "1" ||
		string(g.Reads["n"]) != "null" || string(g.Reads["key"]) != `"k"` {
		t.Errorf("%+v", g)
	}
	x.Before = []api.FiringDetail{before(2, false, "9"), before(1, true, "8"), before(0, true, "7")}
	if g := p.Tell(x).Guard; string(g.Reads["n"]) != "8" {
		t.Errorf("of a node it read %s", g.Reads["n"])
	}
	for _, cause := range []string{"force", "with"} {
		if x.Firing.Cause = cause; p.Tell(x).Guard != nil {
			t.Errorf("%s: the guard was not asked", cause)
		}
	}
	p.guard, x.Firing.Cause = nil, "criteria"
	if p.Tell(x).Guard != nil {
		t.Error("there is no guard")
	}
}

// An epoch is told with its key, its shard, its failure and what it was degraded by; of one that failed before its
// nodes ran nothing is said of these.
func TestWhatIsToldOfAnEpoch(t *testing.T) {
	t.Parallel()
	p, x := onePicture(t), facts()
	f := x.Firing
	f.Key, f.Shard, f.Degraded = raw(`"k"`), 3, []string{"a"}
	x.Revision = &api.Revision{Revision: 4}
	w := p.Tell(x)
	if w.Sentence != `epoch 3 of g for key "k" ran because a had something new; o went out` || w.Shard != 3 || !w.OK ||
		string(w.Key) != `"k"` || !slices.Equal(w.Degraded, []string{"a"}) || w.Revision.Revision != 4 ||
		w.Incarnation != 1 || w.Graph != "g" {
		t.Errorf("%+v", w)
	}
	if in := w.Inputs[0]; in.State != "new" || in.Events != 1 || in.AgeSeconds == nil || *in.AgeSeconds != 0 {
		t.Errorf("%+v", in)
	}
	if o := w.Outputs[0]; o.Sink != "" || o.Value == nil || o.FiringID == "" {
		t.Errorf("%+v", o)
	}
	stable := facts()
	stable.Stable = func(int) bool { return true }
	keyless := facts()
	if a, b, c := p.Tell(facts()).Outputs[0].FiringID, p.Tell(stable).Outputs[0].FiringID,
		w.Outputs[0].FiringID; a == b || a == c || a != p.Tell(keyless).Outputs[0].FiringID {
		t.Errorf("firing ids %s, stable %s, of a key %s", a, b, c)
	}
	failure := "node n: no"
	f.OK, f.Error, f.Nodes, f.Outputs = false, &failure, nil, nil
	w = p.Tell(x)
	if len(w.Nodes) != 0 || w.Outputs[0].Fate != "silent" || w.Outputs[0].Because.Code != CodeEpochFailed ||
		w.Outputs[0].Detail != w.Outputs[0].Because.Detail || *w.Error != failure {
		t.Errorf("%+v", w)
	}
	delete(f.Inputs, "a")
	delete(f.Cut, "a")
	if in := p.Tell(x).Inputs[0]; in.State != "absent" || string(in.Value) != "null" {
		t.Errorf("%+v", in)
	}
	quiet := facts()
	quiet.Firing.Outputs = nil
	if w = p.Tell(quiet); w.Sentence != "epoch 3 of g ran because a had something new; no output gave anything" {
		t.Errorf("%q", w.Sentence)
	}
}

// A default that records show by its size is one all the same.
func TestLargeDefault(t *testing.T) {
	t.Parallel()
	p, x := onePicture(t), facts()
	large := strings.Repeat("x", reactor.MaxRecordValue+1)
	p.spec.Accumulators[1].Default = large
	for text, want := range map[string]string{`{"omitted_bytes":1}`: "cached",
		fmt.Sprintf(`{"omitted_bytes":%d}`, boundary.String(large).Size()): "default"} {
		x.Firing.Inputs["b"] = raw(text)
		if in := p.Tell(x).Inputs[1]; in.State != want {
			t.Errorf("%s: %s, want %s", text, in.State, want)
		}
	}
}
