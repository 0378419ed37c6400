package why

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/refused"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
)

// treePlan is of a route and what comes after it, beside a node with memory of itself:
//
//	a → big → pick → (x) low ─┐
//	              └→ (y) high ┴→ both (after all)  either (after any)
//	b → other → sum ← big
const treePlan = `{"nodes":[{"name":"big"},{"name":"pick","routes":["x","y"]},{"name":"low"},{"name":"high"},
	{"name":"both"},{"name":"either"},{"name":"other"},{"name":"sum"},{"name":"last"}],
	"edges":[{"from":"a","to":"big","kind":"plain"},{"from":"big","to":"pick","kind":"plain"},
	{"from":"pick","to":"low","kind":"after","route":"x"},{"from":"pick","to":"high","kind":"after","route":"y"},
	{"from":"low","to":"both","kind":"after"},{"from":"high","to":"both","kind":"after"},
	{"from":"low","to":"either","kind":"after"},{"from":"high","to":"either","kind":"after"},
	{"from":"b","to":"other","kind":"plain"},{"from":"other","to":"sum","kind":"plain"},
	{"from":"big","to":"sum","kind":"plain"},{"from":"sum","to":"sum","kind":"delay"},
	{"from":"sum","to":"other","kind":"delay"},
	{"from":"either","to":"big","kind":"plain","feedback":true},{"from":"sum","to":"last","kind":"maybe"}],
	"outputs":[{"name":"o","from":"sum"},{"name":"i","from":"a"},{"name":"r","from":"reactor"}]}`

func tree(t *testing.T) *Picture {
	t.Helper()
	g := &spec.Graph{Reactor: &spec.Reactor{}, Accumulators: []spec.Accumulator{{Name: "a"}, {Name: "b"}},
		Outputs: []spec.Output{{Name: "o"}, {Name: "i"}, {Name: "r"}}}
	for _, name := range []string{"big", "pick", "low", "high", "both", "either", "other", "sum", "last"} {
		g.Nodes = append(g.Nodes, spec.Node{Name: name, AfterAll: name == "both"})
	}
	p, err := Of("g", g, []byte(treePlan))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// done is a record by what nodes did and came to: "ran 5", "cut_off 5", "skipped", "idle".
func done(nodes map[string]string) *api.FiringDetail {
	f := &api.FiringDetail{Firing: api.Firing{Epoch: 3, OK: true, Key: raw("null"), At: noon,
		Inputs: map[string]json.RawMessage{}, Outputs: map[string]json.RawMessage{}},
		Cut: map[string]api.CutInput{"a": {}, "b": {}}, Nodes: map[string]api.NodeRecord{}}
	for name, did := range nodes {
		status, value, _ := strings.Cut(did, " ")
		f.Nodes[name] = api.NodeRecord{Status: status, Value: raw(value)}
	}
	return f
}

// A loop whose condition found nothing to read is told by what that is, of each of its nodes.
func TestWhyALoopIsSkipped(t *testing.T) {
	t.Parallel()
	g := &spec.Graph{Reactor: &spec.Reactor{}, Accumulators: []spec.Accumulator{{Name: "a"}, {Name: "b"}},
		Nodes: []spec.Node{{Name: "x"}, {Name: "y"}},
		Loops: []spec.Loop{{Name: "l", Nodes: []cycles.Name{{Name: "x"}, {Name: "y"}}}}}
	p, err := Of("g", g, []byte(`{"nodes":[{"name":"x"},{"name":"y"}],"edges":[
		{"from":"a","to":"x","kind":"plain"},{"from":"x","to":"y","kind":"plain"},
		{"from":"y","to":"x","kind":"plain","feedback":true},{"from":"b","to":"y","kind":"until"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ a, b, ended, node, input, says string }{
		{"1", "null", "skipped", "x", "b", "the condition that ends the loop of node x reads input b"},
		{"1", "null", "skipped", "y", "b", "the condition that ends the loop of node y reads input b"},
		{"null", "1", "skipped", "y", "a", "node x reads input a"},
		{"null", "null", "settled", "x", "a", "node x reads input a"},
	} {
		f := done(map[string]string{"x": "skipped", "y": "skipped"})
		f.Inputs["a"], f.Inputs["b"] = raw(tt.a), raw(tt.b)
		for n, did := range f.Nodes {
			did.Ended = tt.ended
			f.Nodes[n] = did
		}
		b := p.node(f, tt.node, map[string]bool{})
		if b == nil || b.Code != CodeNoValue || b.Input != tt.input || !strings.Contains(b.Detail, tt.says) {
			t.Errorf("%+v: got %+v", tt, b)
		}
	}
}

// Of a node that came to nothing new the first that explains it is told.
func TestWhyANodeCameToNothing(t *testing.T) {
	t.Parallel()
	failure := "no number"
	for name, tt := range map[string]struct {
		node   string
		nodes  map[string]string
		inputs string // the values of a and b, "" for none
		code   string
		of     string // the node and the input that are named
		says   string
	}{
		"ran": {"big", map[string]string{"big": "ran 5"}, "1 1", "", "", ""},
		"cut off": {"big", map[string]string{"big": "cut_off 5"}, "1 1", CodeCutOff, "big",
			"came to what it was before"},
		"behind one that is cut off": {"sum", map[string]string{"big": "cut_off 5", "other": "idle 2", "sum": "idle 7"},
			"1 1", CodeCutOff, "big", ""},
		"not due": {"sum", map[string]string{"big": "idle 5", "other": "idle 2", "sum": "idle 7"}, "1 1",
			CodeNotDue, "sum", "node sum was not due: the epoch had nothing new of b or a, on which it rests"},
		"what goes back in a loop": {"big", map[string]string{"big": "idle 1", "either": "cut_off 1"}, "1 1",
			CodeNotDue, "big", "nothing new of a, on which it rests"},
		"what is delayed": {"other", map[string]string{"other": "idle 1", "sum": "cut_off 1"}, "1 1", CodeNotDue,
			"other", "nothing new of b, on which it rests"},
		"its own memory": {"last", map[string]string{"sum": "idle 7", "last": "idle 7"}, "1 1", CodeNotDue, "last",
			"nothing new of b or a"},
		"failed": {"big", map[string]string{"big": "failed"}, "1 1", CodeNodeFailed, "big",
			"node big failed: no number"},
		"behind one that failed": {"sum", map[string]string{"big": "failed", "other": "ran 2", "sum": "skipped"}, "1 1",
			CodeNodeFailed, "big", "no number"},
		"an input has not come": {"big", map[string]string{"big": "skipped"}, "", CodeNoValue, "big a",
			"node big reads input a, which had no value"},
		"an input is null": {"big", map[string]string{"big": "skipped"}, "null 1", CodeNoValue, "big a", ""},
		"behind an input": {"sum", map[string]string{"other": "skipped", "big": "ran 1", "sum": "skipped"}, "1 null",
			CodeNoValue, "other b", ""},
		"a node is null": {"sum", map[string]string{"other": "ran null", "big": "ran 1", "sum": "skipped"}, "1 1",
			CodeNoValue, "sum", "node sum reads node other, which had no value"},
		"something had no value": {"sum", map[string]string{"other": "ran 1", "big": "ran 1", "sum": "skipped"}, "1 1",
			CodeNoValue, "sum", "node sum reads something that had no value"},
		"no route": {"pick", map[string]string{"pick": "ran null"}, "1 1", CodeNoRoute, "pick",
			"no condition of route pick held"},
		"null is no lack of a route": {"big", map[string]string{"big": "ran null"}, "1 1", "", "", ""},
		"route not taken": {"high", map[string]string{"pick": `ran "x"`, "high": "skipped"}, "1 1", CodeRouteNotTaken,
			"high", "node high comes after route pick.y, and pick took x"},
		"behind no route": {"high", map[string]string{"pick": "ran null", "high": "skipped"}, "1 1", CodeNoRoute,
			"pick", ""},
		"route taken before": {"high", map[string]string{"pick": `idle "x"`, "high": "skipped"}, "1 1",
			CodeRouteNotTaken, "high", ""},
		"behind a route that had nothing": {"high", map[string]string{"big": "skipped", "pick": "skipped",
			"high": "skipped"}, "null 1", CodeNoValue, "big a", ""},
		"one of all": {"both", map[string]string{"pick": `ran "x"`, "low": "ran 1", "high": "skipped",
			"both": "skipped"}, "1 1", CodeRouteNotTaken, "high", "pick took x"},
		"one of any": {"either", map[string]string{"pick": `ran "x"`, "low": "ran 1", "high": "skipped",
			"either": "skipped"}, "1 1", CodeNoValue, "either", "reads something that had no value"},
		"none of any": {"either", map[string]string{"pick": `ran "z"`, "low": "skipped", "high": "skipped",
			"either": "skipped"}, "1 1", CodeRouteNotTaken, "low", "pick took z"},
		"after a cut off without a value": {"both", map[string]string{"low": "cut_off null", "high": "ran 1",
			"both": "skipped"}, "1 1", CodeNoValue, "both", "node both comes after low, which had no value"},
	} {
		p, f := tree(t), done(tt.nodes)
		if a, b, ok := strings.Cut(tt.inputs, " "); ok {
			f.Inputs["a"], f.Inputs["b"] = raw(a), raw(b)
		}
		for n, did := range f.Nodes {
			if did.Status == failed {
				did.Error = &failure
				f.Nodes[n] = did
			}
		}
		b := p.node(f, tt.node, map[string]bool{})
		if b == nil {
			b = &api.Because{}
		}
		if of := strings.TrimSpace(b.Node + " " + b.Input); b.Code != tt.code || of != tt.of ||
			!strings.Contains(b.Detail, tt.says) {
			t.Errorf("%s: %s of %s: %s", name, b.Code, of, b.Detail)
		}
		from := map[string]string{CodeRouteNotTaken: "pick", CodeCutOff: b.Node}[b.Code]
		if from != "" && string(b.Values[from]) != string(f.Nodes[from].Value) {
			t.Errorf("%s: values %s", name, b.Values)
		}
	}
}

// An output that gave nothing says whether it had nothing, or has kept it back.
func TestWhyAnOutputGaveNothing(t *testing.T) {
	t.Parallel()
	failure := "node sum: division by zero"
	ranSum := map[string]string{"big": "ran 1", "other": "ran 1", "sum": "ran 7"}
	for name, tt := range map[string]struct {
		output string
		as     output
		make   func(f *api.FiringDetail)
		code   string
		says   string
	}{
		"gave": {"o", output{}, func(f *api.FiringDetail) { f.Outputs["o"] = raw("7") }, "", ""},
		"gone": {"gone", output{}, func(*api.FiringDetail) {}, "", ""},
		"failed": {"o", output{}, func(f *api.FiringDetail) { f.OK, f.Error = false, &failure }, CodeEpochFailed,
			failure},
		"failed in a shard": {"o", output{}, func(f *api.FiringDetail) { f.OK, f.Shard = false, 2 }, CodeEpochFailed,
			"the epoch failed, and a failed epoch gives nothing"},
		"node": {"o", output{}, func(f *api.FiringDetail) { f.Nodes["sum"] = api.NodeRecord{Status: cutOff} },
			CodeCutOff, ""},
		"reactor": {"r", output{}, func(*api.FiringDetail) {}, CodeNotDue, "took nothing of any input"},
		"input": {"i", output{}, func(*api.FiringDetail) {}, CodeNotDue,
			"took nothing of input a, which i sends out"},
		"input, null": {"i", output{}, func(f *api.FiringDetail) { f.Cut["a"] = api.CutInput{Taken: true} }, CodeNull,
			"a came to null"},
		"null": {"o", output{}, func(f *api.FiringDetail) { f.Nodes["sum"] = api.NodeRecord{Status: ran} }, CodeNull,
			"sum came to null, which output o does not send out"},
		"null that is sent": {"o", output{EmitNull: true}, func(f *api.FiringDetail) {
			f.Nodes["sum"] = api.NodeRecord{Status: ran}
		}, CodeNoValue, "sum has no value"},
		"where": {"o", output{Where: true}, func(*api.FiringDetail) {}, CodeOutputWhere,
			"the value of sum does not meet the where of output o: value > 9"},
		"on_change": {"o", output{Emit: "on_change"}, func(*api.FiringDetail) {}, CodeUnchanged, "sent out last"},
		"either": {"o", output{Emit: "on_change", Where: true}, func(*api.FiringDetail) {}, CodeOutputWhere,
			"(value > 9), or is what it sent out last"},
	} {
		p, f := tree(t), done(ranSum)
		if o := p.outputs[tt.output]; o != nil {
			o.Where, o.Emit, o.EmitNull = tt.as.Where, tt.as.Emit, tt.as.EmitNull
		}
		p.spec.Outputs[0].Where.Text = "value > 9"
		tt.make(f)
		b := p.output(f, tt.output)
		if b == nil {
			b = &api.Because{Output: tt.output}
		}
		if b.Code != tt.code || !strings.Contains(b.Detail, tt.says) || b.Output != tt.output {
			t.Errorf("%s: %+v", name, b)
		}
		if f.Shard == 2 && !strings.Contains(b.Do, "graphd firings g 2/3") {
			t.Errorf("%s: what to do is %q", name, b.Do)
		}
		if b.Code == CodeOutputWhere && string(b.Values["sum"]) != "7" {
			t.Errorf("%s: values %s", name, b.Values)
		}
	}
}

// The newest epochs are counted by why they gave nothing, each with the newest of it, as far as since goes.
func TestSilentEpochs(t *testing.T) {
	t.Parallel()
	p := tree(t)
	delete(p.outputs, "i")
	delete(p.outputs, "r")
	var records []api.FiringDetail
	for n := range 10 { // the newest first
		f := done(map[string]string{"big": "idle 1", "other": "idle 1", "sum": "idle 7"})
		f.Epoch, f.At, f.Key = int64(10-n), noon.Add(-time.Duration(n)*time.Minute), raw(fmt.Sprintf(`"k%d"`, n))
		if n == 1 || n == 3 {
			f.Nodes["sum"] = api.NodeRecord{Status: cutOff, Value: raw("7")}
		}
		if n == 9 {
			f.Outputs["o"] = raw("7")
		}
		records = append(records, *f)
	}
	s := Seen{Shard: 4}
	p.Silent(&s, records, "", time.Time{})
	if s.Looked != 10 || s.Newest != 10 || !s.Fired.Equal(noon) || s.Gave || len(s.Epochs) != 2 {
		t.Fatalf("%+v", s)
	}
	due, cut := s.Epochs[0], s.Epochs[1]
	if due.Code != CodeNotDue || due.Epochs != 7 || due.Epoch != 10 || due.Shard != 4 || string(due.Key) != `"k0"` ||
		due.Output != "o" || !due.At.Equal(noon) || cut.Code != CodeCutOff || cut.Epochs != 2 || cut.Epoch != 9 {
		t.Errorf("%+v", s.Epochs)
	}
	s = Seen{}
	if p.Silent(&s, records, "o", noon.Add(-3*time.Minute)); s.Looked != 4 {
		t.Errorf("since: %d looked at", s.Looked)
	}
	s, p.spec.Clock = Seen{}, "event"
	if p.Silent(&s, records, "o", noon.Add(-3*time.Minute)); s.Looked != 10 {
		t.Errorf("under the clock of events %d looked at", s.Looked)
	}
	s = Seen{}
	if p.Silent(&s, records[9:], "o", time.Time{}); !s.Gave || len(s.Epochs) != 0 {
		t.Errorf("%+v", s)
	}
	s = Seen{}
	if p.Silent(&s, records[9:], "", time.Time{}); !s.Gave {
		t.Errorf("of all outputs: %+v", s)
	}
	broken := done(nil) // before any node ran
	broken.OK = false
	s = Seen{}
	if p.Silent(&s, []api.FiringDetail{*broken}, "", time.Time{}); codes(s.Epochs) != CodeEpochFailed {
		t.Errorf("of one that failed: %+v", s)
	}
	p.outputs["r"] = &output{Name: "r", From: "reactor"}
	s = Seen{}
	if p.Silent(&s, records[9:], "r", time.Time{}); codes(s.Epochs) != CodeNotDue {
		t.Errorf("from the reactor: %+v", s)
	}
	if p.Output("r") != nil || p.Output("") != nil || p.Output("none") == nil {
		t.Errorf("r: %v, none: %v", p.Output("r"), p.Output("none"))
	}
	p.outputs["p"] = &output{Name: "p", From: "other"}
	s = Seen{}
	if p.Silent(&s, records[9:], "p", time.Time{}); s.Gave || len(s.Epochs) != 1 || s.Epochs[0].Output != "p" {
		t.Errorf("of p: %+v", s)
	}
}

// What has come to nothing is put into words by its reason, with what to do, and of an output only what may matter.
func TestWhatCameToNothing(t *testing.T) {
	t.Parallel()
	p := tree(t)
	p.spec.Accumulators[0].Where.Text, p.spec.Reactor.Guard.Text = "event > 5", "a > 1"
	values := map[string]json.RawMessage{"event": raw("3")}
	at := boundary.Position{Stream: "s", Offset: 7}
	for name, tt := range map[string]struct {
		e    refused.Entry
		code string
		says string
	}{
		"where": {refused.Entry{Reason: refused.Where, Input: "a", Values: values}, "filtered_where",
			"the where of input a was false of an event: event > 5"},
		"late, dropped": {refused.Entry{Reason: refused.Late, Input: "a", Code: "drop", Detail: "by 3s"}, "late",
			"an event of a came too late and was dropped: by 3s"},
		"late, aside": {refused.Entry{Reason: refused.Late, Input: "a", Code: "side", Detail: "by 3s"}, "late",
			"an event of a came too late and went to the input of late events: by 3s"},
		"late, refused": {refused.Entry{Reason: refused.Late, Input: "a", Code: "dead_letter", Detail: "by 3s"}, "late",
			"an event of a came too late and was refused: by 3s"},
		"guard": {refused.Entry{Reason: refused.Guard, Input: "a"}, "guard_false",
			"the guard was false of what had come of a: a > 1"},
		"guard of a tick": {refused.Entry{Reason: refused.Guard}, "guard_false", "the guard was false: a > 1"},
		"guard that reads much": {refused.Entry{Reason: refused.Guard, Omitted: 2}, "guard_false",
			"the guard was false: a > 1 (2 values more that it read are not shown)"},
		"conflated": {refused.Entry{Reason: refused.Conflated, Input: "a"}, "conflated",
			"a value of a was overwritten by a newer one before an epoch read it"},
		"evicted": {refused.Entry{Reason: refused.Evicted, Detail: "ttl"}, "key_evicted", "the key was evicted: ttl"},
		"full": {refused.Entry{Reason: refused.Full, Input: "a", Detail: "more than 1"}, "key_full",
			"input a could hold no more: more than 1"},
		"another code": {refused.Entry{Reason: refused.Full, Input: "a", Code: "waiting_full"}, "waiting_full", ""},
	} {
		tt.e.At, tt.e.Key, tt.e.Position, tt.e.Events = noon, `"k"`, at, 2
		var s Seen
		s.Shard = 3
		counts := [refused.Reasons]int64{}
		counts[tt.e.Reason] = 5
		p.See(&s, &Glance{entries: []refused.Entry{tt.e}, counts: &counts}, "")
		b := s.Refused[0]
		if b.Code != tt.code || !strings.Contains(b.Detail, tt.says) || b.Do == "" || strings.Contains(b.Do, "GRAPH") ||
			!b.At.Equal(noon) || b.Shard != 3 || b.Input != tt.e.Input || string(b.Key) != `"k"` ||
			b.Position != at.String() || b.Events != 2 ||
			!maps.EqualFunc(b.Values, tt.e.Values, slices.Equal[json.RawMessage]) {
			t.Errorf("%s: %+v", name, b)
		}
		if len(s.Counts) != 1 || s.Counts[tt.e.Reason.String()] != 5 || !s.Running {
			t.Errorf("%s: counts %v", name, s.Counts)
		}
	}
	var s Seen
	p.See(&s, &Glance{entries: []refused.Entry{{Input: "b"}, {Input: "a"}, {Reason: refused.Guard}}}, "i")
	if len(s.Refused) != 2 || s.Refused[0].Input != "a" || s.Counts != nil {
		t.Errorf("of an output of a: %+v, counts %v", s.Refused, s.Counts)
	}
	if b := s.Refused[1]; len(b.Key) > 0 || b.Position != "" {
		t.Errorf("without a key and a position: %+v", b)
	}
}

// An input that comes of others brings these with it.
func TestInputsBehindInputs(t *testing.T) {
	t.Parallel()
	p := tree(t)
	add := func(a spec.Accumulator) { p.spec.Accumulators = append(p.spec.Accumulators, a) }
	add(spec.Accumulator{Name: "late", Owner: "a"})
	add(spec.Accumulator{Name: "of_sum", From: "sum"})
	p.outputs["from_late"], p.outputs["from_node"] = &output{From: "late"}, &output{From: "of_sum"}
	for output, want := range map[string]string{"from_late": "late a", "from_node": "of_sum b a",
		"o": "b a", "i": "a"} {
		if got := strings.Join(p.of(output), " "); got != want {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}
