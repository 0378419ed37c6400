package why

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// codes are those of a list, in its order.
func codes(list []api.Because) string {
	var all []string
	for i := range list {
		all = append(all, list[i].Code)
	}
	return strings.Join(all, " ")
}

// not asks why nothing comes of a graph that is live, where nothing else is said.
func not(t *testing.T, q api.WhyNotQuery, sum api.GraphSummary, all ...Seen) api.WhyNot {
	t.Helper()
	if sum.Health == "" {
		sum.Health = "live"
	}
	return onePicture(t).Not(&q, q.Key, noon, &sum, all)
}

// stands is what a shard has seen that says only how it stands.
func stands(s reactor.Standing) Seen { return Seen{Shard: 2, Running: true, Standing: &s} }

// One that does not fire says that before all else; one that fires says of itself what is not said otherwise, last.
func TestWhatAGraphSaysOfItself(t *testing.T) {
	t.Parallel()
	paused := api.GraphSummary{Paused: true, PausedBy: "Ada"}
	for _, tt := range []struct {
		health string
		reason *api.Reason
		want   string
		first  string
	}{
		{"live", nil, "paused", "the graph is paused by Ada: what comes waits until somebody resumes it"},
		{"live", &api.Reason{Code: "awaiting_answer", Detail: "n is waited for"}, "paused awaiting_answer", ""},
		{"degraded", &api.Reason{Code: "feedback_livelock", Detail: "they feed themselves"},
			"paused feedback_livelock", ""},
		{"failed", &api.Reason{Code: "crash_loop", Detail: "three times"}, "crash_loop paused",
			"the graph is failed: crash_loop: three times"},
		{"standby", nil, "graph_standby paused", "the graph is standby"},
		{"stopped", &api.Reason{Detail: "by nobody"}, "graph_stopped paused", "the graph is stopped"},
	} {
		sum := paused
		sum.Health, sum.HealthReason = tt.health, tt.reason
		w := not(t, api.WhyNotQuery{}, sum)
		first := strings.ReplaceAll(tt.first, "crash_loop: three", "three")
		if got := codes(w.Now); got != tt.want || tt.first != "" && w.Sentence != first {
			t.Errorf("%s: %s, %q", tt.health, got, w.Sentence)
		}
		if tt.reason != nil && tt.reason.Code != "" && !slices.ContainsFunc(w.Now, func(b api.Because) bool {
			return b.Do == "graphd explain "+tt.reason.Code+" says what to do"
		}) {
			t.Errorf("%s: what to do is %+v", tt.health, w.Now)
		}
	}
	w := not(t, api.WhyNotQuery{}, api.GraphSummary{Health: "warming", WaitingFor: []string{"a", "b"},
		HealthReason: &api.Reason{Code: "waiting", Detail: "not all have come"}})
	if w.Sentence != "the graph is warming: not all have come; it waits for a and b" {
		t.Errorf("%q", w.Sentence)
	}
	w = not(t, api.WhyNotQuery{}, api.GraphSummary{WaitingFor: []string{"a"},
		HealthReason: &api.Reason{Code: "x", Detail: "y"}})
	if strings.Contains(w.Sentence, "it waits for") {
		t.Errorf("%q", w.Sentence)
	}
}

// The sinks that hold something up are told of, and of another output only what may hold up the graph.
func TestOutputsInTheWay(t *testing.T) {
	t.Parallel()
	since := noon.Add(-time.Hour)
	for name, tt := range map[string]struct {
		o          api.OutputSummary
		own, other string // asked for itself, for another output
	}{
		"stopped": {api.OutputSummary{Stopped: &api.Stopped{By: "Ada", Since: since}}, CodeOutputStops, ""},
		"stopped, waits": {api.OutputSummary{Stopped: &api.Stopped{By: "Ada"}, Pending: 1}, CodeOutputStops,
			CodeNothingNew + " " + CodeOutputStops},
		"stopped, full": {api.OutputSummary{Stopped: &api.Stopped{By: "Ada"}, Pending: 1, Full: true},
			CodeOutputStops, CodeOutputStops},
		"fails": {api.OutputSummary{Error: "no route", FailingSince: &since}, CodeSink, ""},
		"fails, waits": {api.OutputSummary{Error: "no route", Pending: 1}, CodeSink,
			CodeNothingNew + " " + CodeSink},
		"fails, full":     {api.OutputSummary{Error: "no route", Pending: 1, Full: true}, CodeSink, CodeSink},
		"slow, full":      {api.OutputSummary{Path: "direct", Pending: 1, Full: true}, CodeSink, CodeSink},
		"slow":            {api.OutputSummary{Path: "direct", Pending: 1}, CodeSink, ""},
		"to be committed": {api.OutputSummary{Path: "outbox", Pending: 1}, CodeCommit, ""},
		"is through":      {api.OutputSummary{Path: "direct"}, "", ""},
	} {
		tt.o.Name, tt.o.Sink = "o", "http"
		sum := api.GraphSummary{Epoch: 9, Durability: api.DurabilityStatus{CheckpointEpoch: 8},
			Outputs: []api.OutputSummary{tt.o, {Name: "p"}}}
		for output, want := range map[string]string{"": tt.own, "o": tt.own, "p": tt.other} {
			if want == "" {
				want = CodeNothingNew
			}
			w := not(t, api.WhyNotQuery{Output: output}, sum)
			last := w.Now[len(w.Now)-1]
			if got := codes(w.Now); got != want || want != CodeNothingNew && last.Output != "o" ||
				!strings.HasPrefix(w.Sentence, w.Now[0].Detail) || strings.Contains(last.Detail,
				"as many as may wait") != tt.o.Full {
				t.Errorf("%s, asked for %q: %s, %q", name, output, got, w.Sentence)
			}
		}
	}
	sum := api.GraphSummary{Epoch: 9, Durability: api.DurabilityStatus{CheckpointEpoch: 9},
		Outputs: []api.OutputSummary{{Name: "o", Sink: "http", Path: "outbox", Pending: 1}}}
	if w := not(t, api.WhyNotQuery{}, sum); codes(w.Now) != CodeSink {
		t.Errorf("what is committed and waits: %+v", w.Now)
	}
}

// What was asked for comes first: what the graph says of itself is the last, and not the sentence, where it is of
// another output, or of inputs on which the output does not rest.
func TestWhatIsOfOthersComesLast(t *testing.T) {
	t.Parallel()
	for code, degraded := range map[string][]string{"output_failing": nil, "output_refused": nil, "part_stopped": nil,
		"source_disconnected": {"b"}} {
		for output, want := range map[string]string{"": code, "o": "nothing_new " + code} {
			sum := api.GraphSummary{Degraded: degraded, HealthReason: api.ReasonOf(code, "it is so")}
			w := not(t, api.WhyNotQuery{Output: output}, sum)
			if codes(w.Now) != want || !strings.HasPrefix(w.Sentence, w.Now[0].Detail) {
				t.Errorf("%s, asked for %q: %s, %q", code, output, codes(w.Now), w.Sentence)
			}
		}
	}
	for _, own := range [][]string{{"a"}, {"a", "b"}, {"checkpoint"}} { // o rests on a
		sum := api.GraphSummary{Health: "degraded", Degraded: own,
			HealthReason: api.ReasonOf("checkpoint_failing", "x")}
		if w := not(t, api.WhyNotQuery{Output: "o"}, sum); codes(w.Now) != "checkpoint_failing" {
			t.Errorf("degraded %v: %s", own, codes(w.Now))
		}
	}
}

// An answer is waited for only where the next epoch does.
func TestCallsInTheWay(t *testing.T) {
	t.Parallel()
	since := noon.Add(-time.Minute)
	w := not(t, api.WhyNotQuery{}, api.GraphSummary{Calls: []api.NodeCalls{{Node: "m", Out: 3},
		{Node: "n", Out: 1, AwaitedSince: &since}, {Node: "o", BreakerOpen: true, AwaitedSince: &since}}})
	if codes(w.Now) != "waits_for_answer breaker_open" || w.Now[0].Node != "n" || !w.Now[0].At.Equal(since) ||
		w.Now[1].Node != "o" || strings.HasSuffix(w.Now[1].Detail, ": ") {
		t.Errorf("%+v", w.Now)
	}
}

// How far a key or the graph is from its next epoch, by what its shard says.
func TestStandings(t *testing.T) {
	t.Parallel()
	until := noon.Add(time.Hour)
	for name, tt := range map[string]struct {
		s    reactor.Standing
		key  string
		want string
		says string
		at   *time.Time
	}{
		"ready": {reactor.Standing{Known: true, Ready: true, Missing: []string{"b"}}, "", CodeNothingNew, "", nil},
		"missing": {reactor.Standing{Known: true, Missing: []string{"b", "c"}}, "", CodeWaitsFor,
			"the graph waits for b and c: when: all takes something new of each", nil},
		"some have come": {reactor.Standing{Known: true, Missing: []string{"b"}, News: []string{"a"}}, `"k"`,
			CodeWaitsFor, `key "k" waits for b: when: all takes something new of each; a has come`, nil},
		"max_wait": {reactor.Standing{Known: true, Missing: []string{"b"}, MaxWait: until}, "", CodeWaitsFor,
			"the graph waits for b: when: all takes something new of each; max_wait fires with what is there", &until},
		"guard": {reactor.Standing{Known: true, Ready: true, Guard: []string{"a", "b"}}, "", CodeGuardWaits,
			"the guard of the graph waits for a and b, of which nothing has arrived", nil},
		"timer": {reactor.Standing{Known: true, Ready: true, Due: until, By: "debounce"}, "", CodeTimer,
			"the graph has something to fire on, and waits for debounce", &until},
		"unknown": {reactor.Standing{}, `"k"`, CodeKeyUnknown, `the graph has nothing for key "k": nothing has ` +
			`arrived for it, or it was evicted`, nil},
	} {
		w := not(t, api.WhyNotQuery{Key: tt.key}, api.GraphSummary{}, stands(tt.s))
		if codes(w.Now) != tt.want || tt.says != "" && w.Sentence != tt.says {
			t.Errorf("%s: %s, %q", name, codes(w.Now), w.Sentence)
		}
		b := w.Now[0]
		if tt.says != "" && b.Shard != 2 || (b.Until == nil) != (tt.at == nil) || tt.at != nil &&
			!b.Until.Equal(*tt.at) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// Inputs that are ill, stopped or silent are told of where they matter to what is asked for.
func TestInputsInTheWay(t *testing.T) {
	t.Parallel()
	since := noon.Add(-time.Minute)
	got := api.Counters{Received: 1, Rejected: 2, DeadLettered: 3}
	for name, tt := range map[string]struct {
		a    api.AccumulatorSummary
		want string
		says string
	}{
		"stopped": {api.AccumulatorSummary{Health: "halted", Stopped: &api.Stopped{By: "Ada", Since: since}},
			CodeInputStops, "Ada has stopped input b alone"},
		"ill": {api.AccumulatorSummary{Health: "disconnected"}, CodeInputIll, "input b is disconnected"},
		"ill, and why": {api.AccumulatorSummary{Health: "failed", HealthReason: &api.Reason{Code: "no_broker",
			Detail: "refused"}}, CodeInputIll, "input b is failed: no_broker refused"},
		"silent":    {api.AccumulatorSummary{Health: "live"}, CodeInputSilent, "nothing has ever come to input b"},
		"of a node": {api.AccumulatorSummary{Health: "live", Source: "node"}, CodeNothingNew, ""},
		"of a join": {api.AccumulatorSummary{Health: "live", Source: "join"}, CodeNothingNew, ""},
		"has had some": {api.AccumulatorSummary{Health: "ended", Counters: api.Counters{Received: 1}},
			CodeNothingNew, ""},
		"socket alone":   {api.AccumulatorSummary{Health: "socket_only", Counters: got}, CodeNothingNew, ""},
		"with a default": {api.AccumulatorSummary{Name: "dflt", Health: "live"}, CodeNothingNew, ""},
	} {
		for _, output := range []string{"", "o"} {
			p, q := onePicture(t), &api.WhyNotQuery{Output: output}
			p.spec.Accumulators[1] = spec.Accumulator{Name: "b"}
			p.spec.Accumulators = append(p.spec.Accumulators, spec.Accumulator{Name: "dflt", HasDefault: true})
			a := tt.a
			if a.Name == "" {
				a.Name = "b"
			}
			w := p.Not(q, "", noon, &api.GraphSummary{Health: "live", Accumulators: []api.AccumulatorSummary{a}},
				[]Seen{{Opened: []reactor.Opened{}}})
			want, books := tt.want, tt.a.Counters.Rejected > 0
			if output == "o" { // it rests on a alone
				want, books = CodeNothingNew, false
			}
			if codes(w.Now) != want || want != CodeNothingNew && w.Sentence != tt.says {
				t.Errorf("%s, for %q: %s, %q", name, output, codes(w.Now), w.Sentence)
			}
			if (codes(w.Refused) == "rejected dead_lettered") != books || books &&
				(w.Counts["rejected"] != 2 || w.Counts["dead_lettered"] != 3 || w.Refused[0].Events != 2) {
				t.Errorf("%s, for %q: counts %v, refused %+v", name, output, w.Counts, w.Refused)
			}
		}
	}
}

// What is open says how far its time has come, and what that goes by.
func TestOpenWindows(t *testing.T) {
	t.Parallel()
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for name, tt := range map[string]struct {
		o    reactor.Opened
		want string
	}{
		"batch": {reactor.Opened{Input: "a", Events: 3}, "input a holds 3 events until what it belongs to is complete"},
		"pushes": {reactor.Opened{Input: "a", Events: 1, Watermark: at(1), Newest: at(2)}, "input a holds 1 event " +
			"until what it belongs to is complete; the watermark is at 2026-11-26T12:01:00Z and goes by pushes, " +
			"whose newest event is of 2026-11-26T12:02:00Z"},
		"partition": {reactor.Opened{Input: "a", Events: 1, Until: at(5), Watermark: at(1), HeldBy: "t/1",
			Newest: at(2)}, "input a holds 1 event until what it belongs to is complete: the first window ends at " +
			"2026-11-26T12:05:00Z; the watermark is at 2026-11-26T12:01:00Z and goes by partition t/1, whose newest " +
			"event is of 2026-11-26T12:02:00Z"},
	} {
		seen := Seen{Shard: 1, Opened: []reactor.Opened{tt.o}}
		w := not(t, api.WhyNotQuery{}, api.GraphSummary{}, seen)
		if codes(w.Now) != CodeOpen || w.Sentence != tt.want || w.Now[0].Shard != 1 ||
			(w.Now[0].Do != "") != !tt.o.Watermark.IsZero() {
			t.Errorf("%s: %q, %+v", name, w.Sentence, w.Now)
		}
		seen.Opened[0].Input = "b" // on which o does not rest
		if w = not(t, api.WhyNotQuery{Output: "o"}, api.GraphSummary{}, seen); codes(w.Now) != CodeNothingNew {
			t.Errorf("%s: of another input %+v", name, w.Now)
		}
	}
}

// Boundaries that wait in keys are told of where no key is asked for.
func TestKeysThatWait(t *testing.T) {
	t.Parallel()
	sum := api.GraphSummary{Keys: &api.KeysSummary{Waiting: 1}}
	if w := not(t, api.WhyNotQuery{}, sum); codes(w.Now) != CodeKeysWait || w.Now[0].Events != 1 {
		t.Errorf("%+v", w.Now)
	}
	for _, w := range []api.WhyNot{not(t, api.WhyNotQuery{Key: `"k"`}, sum),
		not(t, api.WhyNotQuery{}, api.GraphSummary{Keys: &api.KeysSummary{}})} {
		if codes(w.Now) != CodeNothingNew {
			t.Errorf("%+v", w.Now)
		}
	}
}

// Where nothing stands in the way the newest epoch of all shards is told of, or what it came to.
func TestNothingInTheWay(t *testing.T) {
	t.Parallel()
	seen := func(shard int, epoch int64, gave bool, s int) Seen {
		return Seen{Shard: shard, Looked: 1, Newest: epoch, Gave: gave, Fired: noon.Add(time.Duration(s) * time.Second)}
	}
	silent := seen(0, 3, false, 1)
	silent.Epochs = []api.Because{{Code: CodeCutOff, Detail: "of an older one", Epoch: 2, Epochs: 1},
		{Code: CodeNotDue, Detail: "of the newest", Epoch: 3, Epochs: 5}}
	const nothing = "nothing stands in the way: all that has come was taken"
	for _, tt := range []struct {
		output string
		all    []Seen
		want   string
		epoch  int64
	}{
		{"", nil, nothing + ", and no epoch has run", 0},
		{"", []Seen{{Newest: 9}}, nothing + ", and no epoch has run", 0},
		{"", []Seen{seen(0, 7, true, 1), seen(1, 2, true, 2)}, nothing + "; the newest epoch, 2, gave values", 2},
		{"", []Seen{seen(1, 2, true, 2), seen(0, 7, true, 1)}, nothing + "; the newest epoch, 2, gave values", 2},
		{"o", []Seen{seen(0, 7, true, 1)}, nothing + "; output o gave a value in the newest epoch, 7", 7},
		{"o", []Seen{seen(0, 7, false, 1)}, nothing + "; the newest epoch is 7", 7},
		{"", []Seen{silent}, "of the newest", 3},
		{"", []Seen{silent, seen(1, 4, false, 2)}, nothing + "; the newest epoch is 4", 4},
	} {
		w := not(t, api.WhyNotQuery{Output: tt.output}, api.GraphSummary{}, tt.all...)
		if codes(w.Now) != CodeNothingNew || w.Sentence != tt.want || w.Now[0].Epoch != tt.epoch {
			t.Errorf("%+v: %q, %+v", tt.all, w.Sentence, w.Now)
		}
	}
	w := not(t, api.WhyNotQuery{}, api.GraphSummary{}, silent, seen(1, 4, false, 2))
	if codes(w.Epochs) != "not_due cut_off" || w.Looked != 2 {
		t.Errorf("%d looked at, %+v", w.Looked, w.Epochs)
	}
	never := not(t, api.WhyNotQuery{}, api.GraphSummary{Accumulators: []api.AccumulatorSummary{{Name: "a",
		Health: "live"}}}, Seen{Refused: []api.Because{{Code: "late", Detail: "too late", At: &noon}}})
	if codes(never.Now) != CodeInputSilent || never.Sentence != "too late" {
		t.Errorf("%q, %+v", never.Sentence, never.Now)
	}
}

// What shards have refused is one sample, newest first and bounded, and one count; what has no time comes last, and is
// not the sentence.
func TestWhatShardsRefused(t *testing.T) {
	t.Parallel()
	var all [2]Seen
	for i := range all {
		all[i] = Seen{Shard: i, Looked: 1, Newest: 1, Fired: noon, Gave: true, Counts: map[string]int64{"late": 200}}
		for n := range 200 {
			at := noon.Add(time.Duration(1+2*n+i) * time.Second)
			all[i].Refused = append(all[i].Refused, api.Because{Code: "late", Detail: fmt.Sprint(2*n + i), At: &at})
		}
	}
	w := not(t, api.WhyNotQuery{}, api.GraphSummary{Accumulators: []api.AccumulatorSummary{{Name: "a", Health: "live",
		Counters: api.Counters{Received: 400, Rejected: 1}}}}, all[:]...)
	n := len(w.Refused)
	if n != maxRefused+1 || w.Refused[0].Detail != "399" || w.Refused[n-2].Detail != "144" ||
		w.Refused[n-1].Code != CodeRejected || w.Counts["late"] != 400 || w.Sentence != "399" {
		t.Errorf("%d, %q, counts %v, last %+v", n, w.Sentence, w.Counts, w.Refused[n-1])
	}
	for i := range all { // before the newest epoch, so that something has come since
		all[i].Fired = noon.Add(time.Hour)
	}
	if w = not(t, api.WhyNotQuery{}, api.GraphSummary{}, all[:]...); w.Now[0].Detail != w.Sentence {
		t.Errorf("%q", w.Sentence)
	}
	only := not(t, api.WhyNotQuery{}, api.GraphSummary{Accumulators: []api.AccumulatorSummary{{Name: "a",
		Health: "live", Counters: api.Counters{Received: 1, Rejected: 1}}}})
	if only.Sentence != only.Now[0].Detail || only.Now[0].Code != CodeNothingNew {
		t.Errorf("%q", only.Sentence)
	}
	if data, err := json.Marshal(only); err != nil || !strings.Contains(string(data), `"epochs":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}
