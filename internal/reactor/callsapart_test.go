package reactor

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor/answers"
)

// answerAll answers what the last Fire has asked for, until nothing is asked any more.
func (r *rig) answerAll() (out string) {
	for {
		out += r.fire()
		if !r.c.Asking() {
			return out
		}
		for _, a := range r.c.Asked() {
			r.reply(a)
		}
	}
}

// M11, M20: what a command has asked and was told is its own. One that was given up leaves neither its time nor its
// answers to the next epoch, whatever had been answered by then.
func TestM11AFireThatWasGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(r *rig, e *answers.Epoch) error{
		"force": func(r *rig, e *answers.Epoch) error { _, err := r.forced(e, ""); return err },
		"with":  func(r *rig, e *answers.Epoch) error { return r.fired(e, boundary.Int(7), true) },
		"aside": func(r *rig, e *answers.Epoch) error { return r.fired(e, boundary.Int(7), false) },
	} {
		r := newRig(t, callGraph)
		r.push("a", 7)
		e := &answers.Epoch{}
		for range 2 {
			if err := try(r, e); !errors.Is(err, ErrUnanswered) || len(e.Asked) != 1 {
				t.Fatalf("%s: %v, asked for %s", name, err, askedFor(e.Asked))
			}
			r.reply(e.Asked[0])
		}
		r.c.GiveUp(e)
		if bytes := r.c.calls.book.Weigh(); bytes != 0 {
			t.Errorf("%s: %d bytes are left of it", name, bytes)
		}
		r.advance(time.Hour)
		r.want(r.fire(), "")
		r.want(askedFor(r.c.Asked()), "  7")
		r.reply(r.c.Asked()[0])
		r.want(r.fire(), "")
		at := url.QueryEscape(r.now.Format("2006-01-02T15:04:05.000Z"))
		r.want(askedFor(r.c.Asked()), fmt.Sprintf(" /again?of=77&a=7&at=%s ", at))
	}
}

// M11: what an aside or one on other values is told changes nothing for the epoch that waits, and where they ask for
// the same both have the answer. What replaces the state has the epoch ask anew.
func TestM11AnEpochThatWaitsBesideCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph)
	r.push("a", 7)
	r.fire()
	first := r.c.Asked()[0]
	aside := &answers.Epoch{}
	if err := r.fired(aside, boundary.Int(7), false); !errors.Is(err, ErrUnanswered) {
		t.Fatal(err)
	}
	r.reply(first)
	for range 2 {
		if err := r.fired(aside, boundary.Int(7), false); err == nil {
			break
		}
		r.want(askedFor(aside.Asked)[:7], " /again")
		r.reply(aside.Asked[0])
	}
	if r.c.Epoch() != 1 || r.released() == "" {
		t.Fatalf("the aside has not come: epoch %d", r.c.Epoch())
	}
	r.want(r.fire(), "")
	r.want(askedFor(r.c.Asked())[:7], " /again") // the first answer is still there
	whole := &answers.Epoch{}
	for range 3 {
		if err := r.fired(whole, boundary.Int(9), true); err == nil {
			break
		}
		r.reply(whole.Asked[0])
	}
	if r.released() == "" || r.c.Asking() || r.c.calls.book.Keys() != 0 {
		t.Errorf("after another state it knows of %d epochs, asking %v", r.c.calls.book.Keys(), r.c.Asking())
	}
	if r.answerAll() == "" || r.books("a").Consumed != 1 {
		t.Errorf("%+v", r.books("a"))
	}
}

// M11, M25: while the graph is paused its epochs wait for nobody: that time is none of their epoch_timeout, and what
// comes meanwhile is admitted.
func TestM25APauseIsNoWait(t *testing.T) {
	t.Parallel()
	mono := int64(0)
	r := newRig(t, callGraph, func(c *Config) {
		c.Mono, c.EpochTimeout = func() int64 { return mono }, time.Second
	})
	r.push("a", 7)
	r.fire()
	r.c.Pause(r.now, "op")
	if r.c.Asking() || len(r.c.Asked()) > 0 {
		t.Error("it asks while it is paused")
	}
	mono += int64(time.Hour)
	r.want(r.fire(), "")
	r.c.Resume(r.now)
	r.want(r.fire(), "")
	if left := r.c.Patience(); left != time.Second || r.books("a").DeadLettered != 0 {
		t.Fatalf("it waits for %v, %+v", left, r.books("a"))
	}
	r.c.Pause(r.now, "op")
	for range 2 { // a step waits as long as an epoch, and the next one anew
		if err := r.c.Step(r.now, 1); err != nil {
			t.Fatal(err)
		}
		r.want(r.fire(), "")
		if left := r.c.Patience(); left != time.Second || !r.c.Asking() {
			t.Errorf("a step waits for %v, asking %v", left, r.c.Asking())
		}
		r.c.EndSteps()
		if r.c.Asking() {
			t.Error("it asks for a step that was withdrawn")
		}
		mono += int64(time.Hour)
	}
	r.c.Resume(r.now)
	if r.answerAll() == "" {
		t.Errorf("%+v", r.books("a"))
	}
}

// M21: where the graph halts on a failed epoch nothing is left of what that asked for.
func TestM21AHaltForgetsWhatWasAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph, func(c *Config) { c.HaltOnFailure = true })
	r.push("a", 7)
	r.fire()
	a := r.c.Asked()[0]
	r.c.Answer(a.Key, a.Node, a.ID, &kind.Answer{Status: 404, Body: []byte("gone")})
	r.fire()
	if b := r.books("a"); b.Queued != 1 || r.c.Health() != HealthHalted || r.c.calls.book.Weigh() != 0 ||
		r.c.calls.first != nil {
		t.Errorf("%s, %+v: %d bytes are known of it", r.c.Health(), b, r.c.calls.book.Weigh())
	}
}

// M4: answers that wait for their epochs are bounded in bytes, and weighed. Past the bound only the next epoch asks;
// what is known of keys that do not come next goes.
func TestM4AnswersAheadAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, callGraph, keyed(nil))
	for _, key := range []string{"x", "y", "z"} {
		r.give("a", key, 1)
	}
	before := r.c.Weigh().Queues
	r.fire()
	ahead := r.ahead(2)
	r.want(askedFor(ahead), `"y"  1`)
	large := bytes.Repeat([]byte("7"), 64<<20)
	r.c.Answer(ahead[0].Key, ahead[0].Node, ahead[0].ID, &kind.Answer{Status: 200, Body: large})
	if !r.c.Brimful() || r.c.Weigh().Queues < before+64<<20 {
		t.Errorf("%d bytes are weighed, full %v", r.c.Weigh().Queues-before, r.c.Brimful())
	}
	if more := r.ahead(3); more != nil {
		t.Errorf("it asks for %s", askedFor(more))
	}
	if !r.c.Wanted(&r.c.Asked()[0]) || r.c.Wanted(&ahead[0]) {
		t.Error("what the next epoch waits for is not wanted, or what was answered is")
	}
	more := r.ahead(1) // y does not come next
	if r.c.Brimful() || len(more) != 0 {
		t.Errorf("full %v, asked %s", r.c.Brimful(), askedFor(more))
	}
	r.want(askedFor(r.ahead(2)), `"y"  1`)
}

// M29: an epoch that asks for nothing in the end has the now() of its first try, in a replay too.
func TestM29AReplayHasTheTimeOfTheFirstTry(t *testing.T) {
	t.Parallel()
	const doc = `graph: calls
accumulators: { a: { strategy: latest } }
nodes:
  way: { route: { ask: a > 0, pass: true } }
  asked: { after: way.ask, http: { url: "http://there", body: a } }
  at: { expr: '[a, now()]' }
outputs: { o: { from: at, sink: { drop: {} } } }
`
	r := newRig(t, doc, withJournal)
	r.push("a", 1)
	r.want(r.fire(), "")
	first := r.now
	r.advance(time.Minute)
	r.push("a", -1)
	released := r.fire()
	r.want(released, fmt.Sprintf(`o=[-1,"%s"]@1`, first.Format("2006-01-02T15:04:05.000Z")))
	c := replayed(t, testConfig(t, doc, withJournal), r.c.DrainJournal())
	if out := c.Released(); len(out) != 1 || fmt.Sprintf("o=%s@1", out[0].Value) != released {
		t.Errorf("a replay comes to %v, not %s", out, released)
	}
}

// M29: in a replay the answers of an aside are its own, too: an epoch that asks for the same has the one that it had.
func TestM29AReplayTellsAnswersOfCommandsApart(t *testing.T) {
	t.Parallel()
	const doc = `graph: calls
accumulators: { a: { strategy: sequential } }
nodes: { n: { http: { url: "http://there", body: a } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
	r := newRig(t, doc, withJournal)
	say := func(a Ask, text string) {
		r.c.Answer(a.Key, a.Node, a.ID, &kind.Answer{Status: 200, Body: []byte(text)})
	}
	aside := &answers.Epoch{}
	for range 2 {
		if err := r.fired(aside, boundary.Int(7), false); err != nil {
			say(aside.Asked[0], "1")
		}
	}
	r.push("a", 7)
	r.fireOnce()
	say(r.c.Asked()[0], "2")
	r.c.Fire(r.now)
	c := replayed(t, testConfig(t, doc, withJournal), r.c.DrainJournal())
	var out []string
	for _, m := range c.Released() {
		out = append(out, m.Value.String())
	}
	if fmt.Sprint(out) != "[1 2]" || c.calls.book.Keys() != 0 {
		t.Errorf("a replay comes to %s, and knows of %d keys", out, c.calls.book.Keys())
	}
}
