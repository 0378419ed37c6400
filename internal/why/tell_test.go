package why

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec"
)

// onePlan is of a graph with the inputs a and b, the node n of a, and the output o of it.
const onePlan = `{"nodes":[{"name":"n","kind":"expr"}],"edges":[{"from":"a","to":"n","kind":"plain"}],
	"outputs":[{"name":"o","from":"n"}]}`

func onePicture(t *testing.T) *Picture {
	t.Helper()
	p, err := Of("g", &spec.Graph{
		Reactor:      &spec.Reactor{},
		Accumulators: []spec.Accumulator{{Name: "a"}, {Name: "b", Passive: true, HasDefault: true, Default: int64(5)}},
		Nodes:        []spec.Node{{Name: "n", Kind: "expr"}}, Outputs: []spec.Output{{Name: "o", From: "n"}},
	}, []byte(onePlan))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// facts are those of an epoch that gave 1 to o, in a graph that runs and has delivered all.
func facts() *Facts {
	return &Facts{
		Firing: &api.FiringDetail{
			Firing: api.Firing{Epoch: 3, Incarnation: 1, Cause: "criteria", Key: raw("null"), OK: true,
				Inputs:  map[string]json.RawMessage{"a": raw("1"), "b": raw("5")},
				Outputs: map[string]json.RawMessage{"o": raw("1")}},
			Cut:   map[string]api.CutInput{"a": {Taken: true, Events: 1}, "b": {}},
			Nodes: map[string]api.NodeRecord{"n": {Status: ran, Value: raw("1")}},
		},
		Summary: &api.GraphSummary{Instance: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Incarnation: 1, Health: "live",
			Epoch: 4, Durability: api.DurabilityStatus{CheckpointEpoch: 3},
			Outputs: []api.OutputSummary{{Name: "o", Sink: "http", Path: "direct"}}},
		Stable: func(int) bool { return false },
		Waits:  func(int) Waited { return Waited{Known: true} },
	}
}

// What has become of a value is told where it is known, and nowhere else.
func TestFates(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	output := func(x *Facts) *api.OutputSummary { return &x.Summary.Outputs[0] }
	waits := func(w Waited) func(int) Waited { return func(int) Waited { return w } }
	for name, tt := range map[string]struct {
		make           func(x *Facts)
		fate           string
		says, sentence string
	}{
		"delivered": {func(*Facts) {}, "delivered", "sink http has it", "; o went out"},
		"pending": {func(x *Facts) {
			output(x).Pending, output(x).Error, x.Waits = 2, "no route", waits(Waited{Waits: true, Known: true})
		}, "pending", "2 values to deliver still; it fails: no route", "; o waits for its sink"},
		"stopped": {func(x *Facts) {
			output(x).Pending, output(x).Stopped = 1, &api.Stopped{By: "Ada", Since: since}
			x.Waits = waits(Waited{Waits: true, Known: true})
		}, "pending", "; Ada has stopped the output", "; o waits for its sink"},
		"others wait": {func(x *Facts) { output(x).Pending = 2 }, "delivered", "", ""},
		"watched":     {func(x *Facts) { x.Waits = waits(Waited{Known: true, Nobody: true}) }, "watched", "", ""},
		"held": {func(x *Facts) { output(x).Path, x.Firing.Epoch = "outbox", 4 }, "held",
			"the last one has epoch 3", "; o waits for its commit"},
		"committed to the outbox": {func(x *Facts) { output(x).Path = "outbox" }, "delivered", "sink http has it", ""},
		"a row": {func(x *Facts) {
			output(x).Path, x.Waits = "co-transaction", func(int) Waited { panic("it has no writer") }
		}, "delivered", "the commit of its epoch has written its row", ""},
		"a row to come": {func(x *Facts) { output(x).Path, x.Firing.Epoch = "co-transaction", 4 }, "held", "", ""},
		"refused": {func(x *Facts) {
			x.Letters = []api.DeadLetter{{ID: "7", Output: "o", Code: "http_400", Reason: "no such"}} // its id: below
		}, "dead_letter", "http_400: no such; it is dead letter 7", "; o became a dead letter"},
		"another's was refused": {func(x *Facts) {
			x.Letters = []api.DeadLetter{{ID: "7", Output: "o", FiringID: "another"}}
		}, "delivered", "sink http has it", ""},
		"some was refused, and no id is known": {func(x *Facts) {
			x.Summary.Instance, x.Letters = "", []api.DeadLetter{{ID: "7", Output: "o"}}
		}, "unknown", "has not run in this daemon", ""},
		"a shard that went": {func(x *Facts) {
			x.Summary, x.Untold = &api.GraphSummary{}, "the graph has no shard 3"
		}, "unknown", "the graph has no shard 3", "; what has become of o is not known"},
		"an outbox that cannot be asked": {func(x *Facts) {
			output(x).Path, x.Untold = "outbox", "the member does not answer"
		}, "unknown", "the member does not answer", "; what has become of o is not known"},
		"no such output": {func(x *Facts) { x.Summary.Outputs = nil }, "unknown", "has the output no more", ""},
		"never came up": {func(x *Facts) {
			output(x).Path, x.Summary.Instance, x.Summary.Health = "outbox", "", "standby"
			x.Summary.Durability.CheckpointEpoch = 0
		}, "unknown", "the graph is standby, and has not run in this daemon", ""},
		"nobody answers": {func(x *Facts) { x.Waits, x.Summary.Health = waits(Waited{}), "failed" }, "unknown",
			"the graph is failed, and who delivers", ""},
		"perhaps a dead letter": {func(x *Facts) { x.Missed = "the reactor is busy" }, "unknown",
			"whether its sink refused it could not be asked: the reactor is busy", ""},
		"perhaps in the outbox": {func(x *Facts) {
			output(x).Path, output(x).Pending, x.Waits = "outbox", 2, waits(Waited{})
		}, "unknown", "2 values to deliver still; whether it is among them is not known", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, x := onePicture(t), facts()
			tt.make(x)
			if name == "refused" {
				x.Letters[0].FiringID = p.Tell(x).Outputs[0].FiringID
			}
			w := p.Tell(x)
			if o := w.Outputs[0]; o.Fate != tt.fate || !strings.Contains(o.Detail, tt.says) {
				t.Errorf("told as %s, %q; want %s, %q", o.Fate, o.Detail, tt.fate, tt.says)
			}
			if !strings.Contains(w.Sentence, tt.sentence) {
				t.Errorf("the sentence is %q", w.Sentence)
			}
		})
	}
}

// What was pushed is no default, whether or not the history goes back to it; a value that is the default is one.
func TestWhatAnInputWas(t *testing.T) {
	t.Parallel()
	age := 2.0
	took := func(epoch int64, ok bool) api.FiringDetail {
		return api.FiringDetail{Firing: api.Firing{Epoch: epoch, OK: ok, At: time.Unix(8, 0)},
			Cut: map[string]api.CutInput{"b": {Taken: true}}}
	}
	for name, tt := range map[string]struct {
		value    string
		before   []api.FiringDetail
		position string
		state    string
		since    int64
	}{
		"default":           {"5", nil, "", "default", 0},
		"pushed, forgotten": {"6", nil, "", "cached", 0},
		"pushed":            {"6", []api.FiringDetail{took(2, true)}, "", "cached", 2},
		"pushed as default": {"5", []api.FiringDetail{took(2, true)}, "", "cached", 2},
		"taken in vain":     {"5", []api.FiringDetail{took(2, false)}, "", "default", 0},
		"read":              {"5", nil, "s@1", "cached", 0},
	} {
		p, x := onePicture(t), facts()
		x.Firing.At, x.Before = time.Unix(10, 0), tt.before
		x.Firing.Inputs["b"], x.Firing.Cut["b"] = raw(tt.value), api.CutInput{Position: tt.position}
		in := p.Tell(x).Inputs[1]
		if in.State != tt.state || in.SinceEpoch != tt.since || (in.AgeSeconds != nil) != (tt.since != 0) ||
			in.AgeSeconds != nil && *in.AgeSeconds != age {
			t.Errorf("%s: %+v", name, in)
		}
	}
	p, x := onePicture(t), facts()
	p.spec.Accumulators[1].Default, x.Firing.Inputs["b"] = nil, raw("null")
	if in := p.Tell(x).Inputs[1]; in.State != "default" {
		t.Errorf("a default that is null: %+v", in)
	}
	p, x = onePicture(t), facts()
	p.spec.Accumulators[1].Global = true
	x.Across = []api.FiringDetail{took(1, true)}
	x.Firing.Inputs["b"] = raw("6")
	if in := p.Tell(x).Inputs[1]; in.State != "cached" || in.SinceEpoch != 1 {
		t.Errorf("shared by the keys: %+v", in)
	}
	x.Across, x.Before = nil, []api.FiringDetail{took(2, true)} // without a key they are the same
	if in := p.Tell(x).Inputs[1]; in.SinceEpoch != 2 {
		t.Errorf("shared, without a key: %+v", in)
	}
	p.spec.Accumulators[1].Global, x.Across = false, []api.FiringDetail{took(1, true)}
	if in := p.Tell(x).Inputs[1]; in.SinceEpoch != 2 {
		t.Errorf("of the key alone: %+v", in)
	}
}

// A guard that could not be evaluated has not held.
func TestGuardThatFails(t *testing.T) {
	t.Parallel()
	p := onePicture(t)
	p.guard, p.spec.Reactor.Guard.Text = []string{"a"}, "1 / a > 0"
	x := facts()
	if w := p.Tell(x); !strings.Contains(w.Sentence, ", and the guard held") {
		t.Errorf("%q", w.Sentence)
	}
	for text, held := range map[string]bool{"guard: division by zero": false, "node n: division by zero": true} {
		x.Firing.OK, x.Firing.Error, x.Firing.Outputs = false, &text, nil
		w := p.Tell(x)
		if strings.Contains(w.Sentence, "the guard held") != held || !strings.HasSuffix(w.Sentence,
			"it failed and changed nothing: "+text) {
			t.Errorf("%q", w.Sentence)
		}
		if w.Guard == nil || string(w.Guard.Reads["a"]) != "1" {
			t.Errorf("the guard read %+v", w.Guard)
		}
	}
}

// An epoch of another declaration is told of by its record alone.
func TestEpochOfAnotherDeclaration(t *testing.T) {
	t.Parallel()
	p := onePicture(t)
	p.guard, p.spec.Reactor.Guard.Text, p.spec.Reactor.When = []string{"a"}, "a > 0", "all"
	p.spec.Reactor.Debounce = time.Hour
	failure := "no number"
	x := facts()
	x.Other, x.Revision = true, &api.Revision{Revision: 2}
	x.Firing.Cut["old"], x.Firing.Inputs["old"] = api.CutInput{Taken: true}, raw("7")
	x.Firing.Nodes = map[string]api.NodeRecord{"z": {Status: failed, Error: &failure}, "n": {Status: skipped},
		"m": {Status: cutOff, Value: raw("1")}}
	x.Firing.Outputs["gone"] = raw("8")
	w := p.Tell(x)
	if want := "epoch 3 of g ran because a and old had something new; o went out; what has become of gone is not " +
		"known; it ran under a declaration that is not the present one, so that its guard and conditions are not " +
		"told"; w.Sentence != want {
		t.Errorf("got  %q\nwant %q", w.Sentence, want)
	}
	if w.Guard != nil {
		t.Errorf("the guard %+v", w.Guard)
	}
	var got []string
	for _, in := range w.Inputs {
		got = append(got, in.Name+" "+in.State)
	}
	for _, n := range w.Nodes {
		text := n.Name
		if n.Because != nil {
			text += " " + n.Because.Code
		}
		got = append(got, text)
	}
	for _, o := range w.Outputs {
		got = append(got, o.Name+" "+o.Fate)
	}
	const want = "a new, b cached, old new, n, m cut_off, z node_failed, o delivered, gone unknown"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	x.Revision, x.Firing.Outputs = nil, nil
	if w = p.Tell(x); !strings.Contains(w.Sentence, "; no output gave anything; which declaration it ran under is "+
		"not known, so that") {
		t.Errorf("%q", w.Sentence)
	}
	for cause, says := range map[string]string{"tick": "its cadence was due", "max_wait": "a and old had waited for as",
		"force": "an operator asked for it"} {
		x.Firing.Cause = cause
		if w = p.Tell(x); !strings.Contains(w.Cause.Detail, says) || w.Cause.Code != cause {
			t.Errorf("%s: %+v", cause, w.Cause)
		}
	}
}
