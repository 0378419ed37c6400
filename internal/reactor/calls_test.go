package reactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor/answers"
)

// callGraph asks for twice of what it is given, and what the answer says of that; other goes on beside it.
const callGraph = `graph: calls
accumulators: { a: { strategy: sequential } }
nodes:
  twice: { http: { url: "http://there", body: a } }
  again: { http: { url: "http://there/again", query: { of: twice, a: a, at: now() } } }
  other: { expr: a * 100 }
  both: { expr: '[key ?? nil, twice, again, other]' }
outputs: { o: { from: both, sink: { drop: {} } } }
`

// askedFor is what was asked, as a text, and are kept to be answered.
func askedFor(list []Ask) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, fmt.Sprintf("%s %s %s", a.Key, strings.TrimPrefix(a.Request.URL, "http://there"),
			a.Request.Body))
	}
	return strings.Join(parts, ", ")
}

// reply answers a question: twice what was asked, or its length.
func (r *rig) reply(a Ask) {
	body := fmt.Appendf(nil, "%d", len(a.Request.URL))
	if len(a.Request.Body) > 0 {
		body = fmt.Appendf(nil, "%s%s", a.Request.Body, a.Request.Body)
	}
	r.c.Answer(a.Key, a.Node, a.Request.ID(), &kind.Answer{Status: 200, Body: body})
}

// M15, M22: an epoch asks, and has not run until it is answered; what waits is where it was.
func TestM22AnEpochWaitsForAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph)
	r.push("a", 7, 8)
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked()), "  7")
	if b := r.books("a"); !r.c.Asking() || b.Queued != 2 || r.c.Epoch() != 0 || r.c.shared.nodes.Stamp() != 0 {
		t.Errorf("asking %v, %+v, epoch %d", r.c.Asking(), b, r.c.Epoch())
	}
	first := r.c.Asked()[0]
	at := r.now.Format("2006-01-02T15%3A04%3A05.000Z")
	r.advance(time.Second)
	r.reply(first)
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked()), fmt.Sprintf(" /again?of=77&a=7&at=%s ", at)) // now() is that of the first try
	r.advance(time.Second)
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked()), fmt.Sprintf(" /again?of=77&a=7&at=%s ", at))
	r.reply(r.c.Asked()[0])
	n := len(r.c.Asked()[0].Request.URL)
	r.want(r.fire(), fmt.Sprintf("o=[null,77,%d,700]@1", n))
	r.want(askedFor(r.c.Asked()), "  8")
	if b := r.books("a"); b.Queued != 1 || b.Consumed != 1 {
		t.Errorf("%+v", b)
	}
	// An answer to what nobody asks any more changes nothing.
	r.reply(first)
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked()), "  8")
}

// M21: an answer that is an error is the node's, and what was known of the epoch goes with it.
func TestM21AnAnswerMayBeAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph)
	r.push("a", 7, 7)
	r.fire()
	a := r.c.Asked()[0]
	r.c.Answer(a.Key, a.Node, a.Request.ID(), &kind.Answer{Status: 404})
	r.want(r.fire(), "")
	if rec := r.last(); rec.ErrCode != "http_404" || r.c.Epoch() != 1 || r.books("a").DeadLettered != 1 {
		t.Errorf("%s in epoch %d: %+v", rec.ErrCode, r.c.Epoch(), r.books("a"))
	}
	r.want(askedFor(r.c.Asked()), "  7") // the next asks by itself, although it asks for the same
}

// M25: an epoch that is not answered in its time fails, by its epoch_timeout.
func TestM25AnswersThatDoNotCome(t *testing.T) {
	t.Parallel()
	mono := int64(0)
	r := newRig(t, callGraph, withJournal, func(c *Config) {
		c.Mono, c.EpochTimeout = func() int64 { return mono }, time.Second
	})
	r.push("a", 7)
	r.fire()
	if left := r.c.Patience(); left != time.Second {
		t.Errorf("it waits for %v", left)
	}
	mono += int64(time.Second) + 1
	r.want(r.fire(), "")
	if rec := r.last(); rec.ErrCode != "epoch_timeout" || r.books("a").DeadLettered != 1 || r.c.Asking() {
		t.Errorf("%q: %+v", rec.ErrCode, r.books("a"))
	}
	c := replayed(t, testConfig(t, callGraph, withJournal), r.c.DrainJournal())
	if c.Epoch() != 1 || c.Books(0).DeadLettered != 1 {
		t.Errorf("a replay comes to epoch %d, %+v", c.Epoch(), c.Books(0))
	}
}

// M11: a commanded epoch asks as well, and comes when it is answered.
func TestM11CommandsAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph)
	r.c.Pause(r.now, "op")
	r.push("a", 3)
	force := &answers.Epoch{}
	for n := 0; ; n++ {
		res, err := r.forced(force, "")
		if err == nil {
			if n != 2 || res.Epoch != 1 {
				t.Errorf("epoch %d after %d questions", res.Epoch, n)
			}
			break
		}
		if !errors.Is(err, ErrUnanswered) || n > 2 {
			t.Fatal(err)
		}
		r.reply(force.Asked[0])
	}
	r.released()
	with := &answers.Epoch{}
	err := r.fired(with, boundary.Int(5), false)
	if !errors.Is(err, ErrUnanswered) || askedFor(with.Asked) != "  5" || r.c.Epoch() != 1 {
		t.Errorf("%v, asked %s, epoch %d", err, askedFor(with.Asked), r.c.Epoch())
	}
}

// forced tries a ForceFire, fired a FireWith of one value.
func (r *rig) forced(e *answers.Epoch, key boundary.Key) (res FireResult, err error) {
	err = r.c.Trying(e, func() (err error) {
		res, err = r.c.ForceFire(r.now, key, false)
		return err
	})
	return res, err
}

func (r *rig) fired(e *answers.Epoch, v boundary.Value, replace bool) error {
	return r.c.Trying(e, func() error {
		_, err := r.c.FireWith(r.now, "anything", []boundary.Value{v}, replace)
		return err
	})
}

// ahead is what the epochs ask for that come next, of so many keys.
func (r *rig) ahead(most int) []Ask {
	asks, _ := r.c.Ahead(most, time.Hour)
	return asks
}

// keyedCalls drives a keyed graph that calls: how many keys it looks ahead, and in which order answers come.
func keyedCalls(t *testing.T, seed uint64, ahead int, more ...option) (released string, r *rig, questions int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r = newRig(t, callGraph, append([]option{keyed(nil)}, more...)...)
	given := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		r.give("a", string(rune('a'+given.IntN(8))), given.IntN(5))
	}
	var open []Ask
	known := map[string]bool{}
	var all []string
	for range 10_000 {
		if out := r.fire(); out != "" {
			all = append(all, out)
		}
		if !r.c.Asking() {
			return strings.Join(all, " "), r, questions
		}
		want := append([]Ask(nil), r.c.Asked()...)
		for _, a := range append(want, r.ahead(ahead)...) {
			if id := fmt.Sprint(a.Key, a.Node, a.Request.ID()); !known[id] {
				known[id] = true
				questions++
				open = append(open, a)
			}
		}
		if len(open) == 0 {
			t.Fatal("it waits, and has asked for nothing")
		}
		k := rnd.IntN(len(open))
		a := open[k]
		open = append(open[:k], open[k+1:]...)
		delete(known, fmt.Sprint(a.Key, a.Node, a.Request.ID()))
		r.reply(a)
	}
	t.Fatal("it never comes to an end")
	return "", nil, 0
}

// M22: whatever is asked ahead, and in whatever order answers come, the epochs are those of one after the other; and
// with nothing that changes beside them no question is asked in vain.
func TestM22AskedAheadIsTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		one, _, questions := keyedCalls(t, seed, 0)
		for _, ahead := range []int{2, 64} {
			many, _, asked := keyedCalls(t, seed, ahead)
			if many != one || asked != questions {
				t.Fatalf("seed %d, %d ahead: %d questions, not %d, and\n%s\nnot\n%s", seed, ahead, asked, questions,
					many, one)
			}
		}
	}
}

// M29: a replay of the journal asks nobody, and comes to the same.
func TestM29AReplayAsksNobody(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		released, r, _ := keyedCalls(t, seed, 4, withJournal)
		c := replayed(t, testConfig(t, callGraph, keyed(nil), withJournal), r.c.DrainJournal())
		var again []string
		for _, m := range c.Released() {
			again = append(again, fmt.Sprintf("%s=%s@%d", m.Output, m.Value, m.Epoch))
		}
		if got := strings.Join(again, " "); got != released || c.Asking() {
			t.Fatalf("seed %d: a replay comes to\n%s\nnot\n%s", seed, got, released)
		}
	}
}

// M28: a checkpoint that is taken while an epoch waits has its events still to come.
func TestM28ACheckpointWhileAnEpochWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph, keyed(nil))
	r.give("a", "x", 1)
	r.give("a", "y", 2)
	r.fire()
	r.reply(r.c.Asked()[0])
	r.want(r.fire(), "") // x has asked its first question, and asks the second
	r.want(askedFor(r.ahead(4)), `"y"  2`)
	r.reload(map[string]checkpoint.Cell{})
	r.start()
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked()), `"x"  1`)
	if b := r.books("a"); b.Queued != 2 {
		t.Errorf("%+v", b)
	}
}

// M25: what becomes of another key, that it goes for one, does not lengthen how long an epoch waits.
func TestM25AnotherKeyDoesNotLengthenAWait(t *testing.T) {
	t.Parallel()
	mono := int64(0)
	r := newRig(t, callGraph, keyed(nil), func(c *Config) {
		c.Mono, c.EpochTimeout = func() int64 { return mono }, time.Second
	})
	r.give("a", "x", 1)
	r.fire()
	for range 3 {
		mono += int64(time.Second) / 2
		r.c.answered(boundary.KeyOf(boundary.String("y")))
		r.fire()
	}
	if r.books("a").DeadLettered != 1 || r.last().ErrCode != "epoch_timeout" {
		t.Errorf("%+v", r.books("a"))
	}
}

// M29: where what was admitted is fired anew, it asks anew.
func TestM29WhatIsFiredAnewAsksAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph, withJournal)
	r.push("a", 7)
	for r.c.Epoch() == 0 {
		r.fire()
		for _, a := range r.c.Asked() {
			r.reply(a)
		}
	}
	c := NewCore(testConfig(t, callGraph, withJournal))
	replayer := NewReplayer(c, checkpoint.Head{})
	replayer.AdmitOnly = true
	replayer.all(t, r.c.DrainJournal())
	if n := c.calls.book.Keys(); n != 0 {
		t.Errorf("%d keys have answers of before", n)
	}
}

// M27: what comes next is looked at within a time, one epoch at least, and it is told whether there is more.
func TestM27AheadEndsInTime(t *testing.T) {
	t.Parallel()
	var mono int64
	r := newRig(t, callGraph, keyed(nil), func(c *Config) {
		c.Mono = func() int64 { mono += int64(time.Millisecond); return mono }
	})
	for _, key := range []string{"v", "w", "x", "y", "z"} {
		r.give("a", key, 1)
	}
	r.fire()
	for _, look := range []struct {
		within time.Duration
		want   string
	}{{0, `"w"  1 true`}, {time.Millisecond, `"x"  1 true`}, {time.Minute, `"y"  1, "z"  1 false`}, {0, " false"}} {
		asks, more := r.c.Ahead(100, look.within)
		r.want(fmt.Sprint(askedFor(asks), " ", more), look.want)
	}
}
