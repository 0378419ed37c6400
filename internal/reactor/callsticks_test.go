package reactor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/answers"
)

// ticking is a graph of which a node calls, and so is in a lane or not; other is beside it.
func ticking(reactor, asks, other string) string {
	doc := "graph: g\naccumulators: { a: { strategy: sequential } }\nreactor: " + reactor + "\n" +
		"nodes:\n  asks: { http: { url: \"http://there\", body: a }" + asks + " }\n" +
		"  said: { expr: '[asks, now().Second()]'" + asks + " }\n  other: { expr: a * 10" + other + " }\n" +
		"outputs: { s: { from: said, sink: { drop: {} } }, o: { from: other, sink: { drop: {} } } }\n"
	if asks+other != "" {
		doc += "lanes: { beat: { fixed_rate: { period: 1s } } }\n"
	}
	return doc
}

// M22, M23: an epoch that waits for an answer comes before whatever has become due since, so that ticks which come more
// often than answers keep no epoch from coming, and the answers and now() of one are not those of another. A replay of
// the journal comes to the same.
func TestM22TicksWaitBehindWhatHasAsked(t *testing.T) {
	t.Parallel()
	type step struct {
		after time.Duration
		push  int
		reply bool
		want  string
	}
	for name, c := range map[string]struct {
		doc   string
		steps []step
	}{
		"an epoch of events, and a lane": {ticking("{}", "", ", lane: beat"), []step{
			{0, 7, false, ""}, {2500 * time.Millisecond, 8, false, ""},
			{0, 0, true, "s=[77,5]@1 o=70@2"}, // the tick is late, and then the second event asks
			{time.Second, 0, true, "s=[88,7]@3 o=80@4"},
		}},
		"the tick of a lane": {ticking("{}", ", lane: beat", ""), []step{
			{0, 7, false, "o=70@1"}, {time.Second, 0, false, ""}, {1500 * time.Millisecond, 8, false, ""},
			{0, 0, true, "s=[77,6]@2"}, // the next one is late, and asks
			{0, 0, true, "s=[77,7]@3 o=80@4"},
		}},
		"an epoch of events, and the reactor's cadence": {ticking("{ every: 1s }", "", ""), []step{
			{time.Second, 7, false, ""}, {1500 * time.Millisecond, 8, false, ""}, {0, 0, true, "s=[77,6]@1 o=70@1"},
			{500 * time.Millisecond, 0, false, ""}, {0, 0, true, "s=[88,8]@2 o=80@2"},
		}},
		"the tick of the reactor": {strings.NewReplacer("body: a", "body: n", "nodes:\n", "nodes:\n"+
			"  n: { expr: '(n ?? 4) + 1', delay: [n] }\n").Replace(ticking("{ every: 1s }", "", "")), []step{
			{time.Second, 7, false, ""}, {0, 0, true, "s=[55,6]@1 o=70@1"}, {time.Second, 0, false, ""},
			{1500 * time.Millisecond, 8, false, ""}, {0, 0, true, "s=[66,7]@2"}, // the next one is late, and asks
			{500 * time.Millisecond, 0, false, ""}, {0, 0, true, "s=[77,8]@3"}, {0, 0, true, "s=[88,9]@4 o=80@4"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rig{t: t, now: epochZero, sent: map[string]int64{}, c: NewCore(testConfig(t, c.doc, withJournal))}
			r.c.Begin()
			r.start()
			for n, s := range c.steps {
				r.advance(s.after)
				if s.push > 0 {
					r.push("a", s.push)
				}
				if s.reply {
					for _, a := range r.c.Asked() {
						r.reply(a)
					}
				}
				if got := r.fire(); got != s.want {
					t.Fatalf("step %d: got %q, want %q; it asks for %s", n, got, s.want, askedFor(r.c.Asked()))
				}
			}
			again := NewCore(testConfig(t, c.doc, withJournal))
			NewReplayer(again, checkpoint.Head{}).all(t, r.c.DrainJournal())
			for n := range r.c.ring.total {
				got, want := again.cfg.AppendRecord(nil, again.ring.at(n)), r.c.cfg.AppendRecord(nil, r.c.ring.at(n))
				if string(got) != string(want) {
					t.Errorf("record %d is\n%s, want\n%s", n, got, want)
				}
			}
			if fmt.Sprint(again.Look().Paces) != fmt.Sprint(r.c.Look().Paces) || again.Epoch() != r.c.Epoch() {
				t.Errorf("epoch %d, %+v, want %d, %+v", again.Epoch(), again.Look().Paces, r.c.Epoch(),
					r.c.Look().Paces)
			}
		})
	}
}

// M29: a try that has missed an answer leaves the turn of late ticks as it was, so a replay, which knows nothing of it,
// picks what was picked.
func TestM29ATryTakesNoTurn(t *testing.T) {
	t.Parallel()
	doc := ticking("{}", "", ", lane: beat")
	r := &rig{t: t, now: epochZero.Add(100 * time.Millisecond), sent: map[string]int64{},
		c: NewCore(testConfig(t, doc, withJournal))}
	r.c.Begin()
	r.start()
	r.push("a", 1)
	r.fire()
	r.reply(r.c.Asked()[0])
	r.fire()
	r.advance(2500 * time.Millisecond)
	r.want(r.fire(), "o=10@2")
	r.push("a", 2, 3)
	r.want(r.fire(), "")
	force := &answers.Epoch{}
	_, err := r.forced(force, "")
	r.reply(force.Asked[0])
	if _, again := r.forced(force, ""); !errors.Is(err, ErrUnanswered) || again != nil {
		t.Fatal(err, again)
	}
	r.released()
	r.advance(2500 * time.Millisecond)
	r.want(r.fire(), "") // the third event has its turn before the next late tick
	r.reply(r.c.Asked()[0])
	if got := r.fire(); !strings.HasSuffix(got, "o=30@5") {
		t.Errorf("got %q", got)
	}
	c := replayed(t, testConfig(t, doc, withJournal), r.c.DrainJournal())
	if c.Epoch() != 5 || r.c.Epoch() != 5 {
		t.Errorf("epoch %d, in the replay %d", r.c.Epoch(), c.Epoch())
	}
}
