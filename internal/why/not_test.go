package why

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// The answer about a key begins with what is the key's, or of all: not with what may be another's.
func TestSentenceOfAKey(t *testing.T) {
	t.Parallel()
	p := onePicture(t)
	seen := func(key string) []Seen {
		at := func(s int) *time.Time { when := noon.Add(time.Duration(s) * time.Second); return &when }
		return []Seen{{
			Key: key, Running: true, Looked: 1, Newest: 4, Fired: noon, Gave: true,
			Opened: []reactor.Opened{{Input: "a", Events: 2}},
			Refused: []api.Because{{Code: "filtered_where", Detail: "an event without a key", At: at(2)},
				{Code: "guard_false", Detail: "a cut of the key", Key: raw(`"x"`), At: at(1)}},
		}}
	}
	live := &api.GraphSummary{Health: "live"}
	for _, tt := range []struct {
		key   string
		older bool // the key's is from before its newest epoch
		want  string
	}{
		{"", false, "input a holds 2 events"}, {`"x"`, false, "a cut of the key"},
		{`"x"`, true, "nothing stands in the way: all that has come was taken; the newest epoch, 4, gave values"},
	} {
		all := seen(tt.key)
		if tt.older {
			all[0].Fired = noon.Add(time.Minute)
		}
		w := p.Not(&api.WhyNotQuery{Key: tt.key}, tt.key, noon, live, all)
		if !strings.HasPrefix(w.Sentence, tt.want) {
			t.Errorf("of key %s: %q, want %q", tt.key, w.Sentence, tt.want)
		}
		if len(w.Refused) != 2 || w.Now[0].Code != CodeOpen {
			t.Errorf("of key %s: now %+v, refused %+v", tt.key, w.Now, w.Refused)
		}
	}
}

// The inputs that matter to an output are those without which it gives nothing.
func TestInputsThatMatter(t *testing.T) {
	t.Parallel()
	p := onePicture(t)
	p.spec.Accumulators = append(p.spec.Accumulators, spec.Accumulator{Name: "c"})
	p.outputs["all"] = &output{Name: "all", From: spec.FromReactor}
	of := func(output string) string { return strings.Join(p.of(output), " ") }
	if got := of("o"); got != "a" {
		t.Errorf("any: %s", got)
	}
	if p.of("all") != nil || p.of("") != nil {
		t.Errorf("from the reactor: %v, of none: %v", p.of("all"), p.of(""))
	}
	p.spec.Reactor.When = "all"
	if got := of("o"); got != "a a c" {
		t.Errorf("all: %s", got)
	}
	p.spec.Reactor.When, p.guard = "any", []string{"b", "vars"}
	if got := of("o"); got != "a b" {
		t.Errorf("with a guard: %s", got)
	}
}

// Of records from before a change of the declaration nothing is said of outputs that they could not have.
func TestSilenceBeforeAChange(t *testing.T) {
	t.Parallel()
	p := onePicture(t)
	p.outputs["of_a"] = &output{Name: "of_a", From: "b"}
	before := facts().Firing
	before.Outputs, before.Nodes = nil, map[string]api.NodeRecord{"m": {Status: ran}}
	delete(before.Cut, "b")
	after := facts().Firing
	after.Outputs, after.Epoch = nil, 4
	after.Nodes = map[string]api.NodeRecord{"n": {Status: "idle"}}
	var s Seen
	p.Silent(&s, []api.FiringDetail{*after, *before}, "", time.Time{})
	if s.Looked != 2 || len(s.Epochs) != 2 {
		t.Fatalf("%d looked at, %+v", s.Looked, s.Epochs)
	}
	for _, b := range s.Epochs {
		if b.Epochs != 1 || b.Epoch != 4 || b.Code != CodeNotDue {
			t.Errorf("%+v", b)
		}
	}
}

// What stands in the way now is told of how the graph stands.
func TestWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sum  api.GraphSummary
		code string
		says string
	}{
		"answer": {api.GraphSummary{Calls: []api.NodeCalls{{Node: "n", Out: 1, Waiting: 2, AwaitedSince: &noon}}},
			CodeAnswer, "waits for an answer to node n: 1 call on the way, 2 that wait to begin"},
		"breaker": {api.GraphSummary{Calls: []api.NodeCalls{{Node: "n", BreakerOpen: true, Error: "refused"}}},
			CodeBreaker, "node n calls nobody for a while, since the last tries have failed: refused"},
		"held back": {api.GraphSummary{HeldBackBy: "b of s", EngineTime: &noon}, CodeHeldBack,
			"the other inputs wait for b of s"},
		"commit": {api.GraphSummary{Epoch: 9, Durability: api.DurabilityStatus{CheckpointEpoch: 7},
			Outputs: []api.OutputSummary{{Name: "o", Path: "outbox", Pending: 2}}}, CodeCommit,
			"output o has 2 values to deliver still, with their commit or after it: the last commit has epoch 7 of 9"},
		"sink": {api.GraphSummary{Outputs: []api.OutputSummary{{Name: "o", Sink: "http", Path: "direct", Pending: 2}}},
			CodeSink, "sink http of output o has 2 values to deliver still"},
		"keys": {api.GraphSummary{Keys: &api.KeysSummary{Waiting: 3}}, CodeKeysWait, "waiting in keys: 3 boundaries"},
	} {
		p := onePicture(t)
		tt.sum.Health = "live"
		w := p.Not(&api.WhyNotQuery{}, "", noon, &tt.sum, nil)
		if w.Now[0].Code != tt.code || !strings.Contains(w.Sentence, tt.says) {
			t.Errorf("%s: %q, now %+v", name, w.Sentence, w.Now)
		}
	}
	stale := api.GraphSummary{Health: "live", HealthReason: api.ReasonOf("stale", "output o has given nothing"),
		Accumulators: []api.AccumulatorSummary{{Name: "a", Health: "live", Counters: api.Counters{Received: 3},
			LastEventAt: &noon}}}
	later := noon.Add(time.Minute)
	if w := onePicture(t).Not(&api.WhyNotQuery{}, "", noon, &stale, nil); !strings.HasSuffix(w.Sentence,
		"; events have come to a just now") {
		t.Errorf("while events come: %q", w.Sentence)
	}
	if w := onePicture(t).Not(&api.WhyNotQuery{}, "", later, &stale, nil); w.Now[0].Code != CodeNothingNew ||
		!strings.HasSuffix(w.Sentence, "; nothing has come to a since "+noon.Format(time.RFC3339)) {
		t.Errorf("of a stale output: %q, now %+v", w.Sentence, w.Now)
	}
	dead := api.GraphSummary{Health: "live",
		Accumulators: []api.AccumulatorSummary{{Name: "a", Health: "live", Counters: api.Counters{Received: 3,
			DeadLettered: 2, Rejected: 1}}}}
	w := onePicture(t).Not(&api.WhyNotQuery{}, "", noon, &dead, nil)
	if w.Counts[CodeDeadLettered] != 2 || w.Counts[CodeRejected] != 1 || len(w.Refused) != 2 ||
		!strings.Contains(w.Refused[1].Detail, "has made dead letters of 2 events") {
		t.Errorf("counts %v, refused %+v", w.Counts, w.Refused)
	}
}

// What is told of now does not contradict what the answer begins with: what has come last and to nothing is no answer
// that all was taken, nor is what a limit holds back or refuses.
func TestNothingNewContradictsNothing(t *testing.T) {
	t.Parallel()
	limited := onePicture(t)
	limited.spec.Limits.EventsPerSecond = 2
	later := noon.Add(time.Second)
	guard := []api.Because{{Code: "guard_false", Detail: "the guard was false: a > 1", Do: "see", At: &later}}
	for name, tt := range map[string]struct {
		p                      *Picture
		rejected               int64
		seen                   Seen
		sentence, now, refused string
	}{
		"guard": {p: onePicture(t), seen: Seen{Refused: guard}, sentence: "the guard was false: a > 1",
			now: "nothing waits, for what has come last has come to nothing: the guard was false: a > 1"},
		"guard before the newest epoch": {p: onePicture(t),
			seen: Seen{Refused: guard, Looked: 1, Newest: 3, Fired: later.Add(1)},
			now:  "nothing stands in the way: all that has come was taken; the newest epoch is 3"},
		"limit": {p: limited, rejected: 3,
			now: "nothing stands in the way of what was let in: all of it was taken, and no epoch has run; " +
				"where more come than limits.events_per_second lets in, 2, the rest waits, and pushes are refused",
			refused: "the answer to a push says why, as limit_exceeded where more come than " +
				"limits.events_per_second lets in, 2"},
		"refused": {p: onePicture(t), rejected: 3, refused: "the answer to a push says why",
			now: "input a has refused 3 events, and told who pushed; nothing stands in the way of what was " +
				"let in: all of it was taken, and no epoch has run"},
	} {
		sum := api.GraphSummary{Health: "live", Accumulators: []api.AccumulatorSummary{{Name: "a", Health: "live",
			Counters: api.Counters{Received: 3, Rejected: tt.rejected}}}}
		w := tt.p.Not(&api.WhyNotQuery{}, "", noon, &sum, []Seen{tt.seen})
		if len(w.Now) != 1 || w.Now[0].Detail != tt.now || w.Sentence != cmp.Or(tt.sentence, tt.now) {
			t.Errorf("%s: %q, now %+v", name, w.Sentence, w.Now)
		}
		if last := len(w.Refused) - 1; tt.refused != "" && w.Refused[last].Do != tt.refused {
			t.Errorf("%s: refused %+v", name, w.Refused)
		}
	}
}
