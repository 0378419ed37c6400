package calls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor"
)

// keyAt is the n-th key of a core that open has made.
func keyAt(n int64) boundary.Key { return boundary.KeyOf(boundary.Int(n)) }

// force commands an epoch of a key.
func force(core *reactor.Core, n int64) Fire {
	return func(now time.Time) (reactor.FireResult, error) { return core.ForceFire(now, keyAt(n), false) }
}

// take has a desk take what comes next.
func take(core *reactor.Core, d *Desk, wake <-chan struct{}) {
	for !d.Take(core.Now()) {
		<-wake
	}
}

// M11: a command asks, waits and is tried again with the answer; then nothing is known of it.
func TestM11ACommandWaitsForItsAnswers(t *testing.T) {
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "7") }, 3)
	c := d.Command(t.Context(), force(core, 2))
	c.Try(core.Now())
	if core.Epoch() != 0 || fmt.Sprint(c.nodes) != "[n]" || len(d.commands) != 1 {
		t.Fatalf("epoch %d, it waits for %s", core.Epoch(), c.nodes)
	}
	take(core, d, wake)
	res, err := c.Await(nil, nil)
	if err != nil || res.Epoch != 1 || fmt.Sprint(res.Values) != "[7]" || core.Epoch() != 1 {
		t.Errorf("%+v, %v, at epoch %d", res, err, core.Epoch())
	}
	if c.End(); len(d.commands) != 0 {
		t.Errorf("%d commands are known", len(d.commands))
	}
}

// M11: a command whose caller goes, or whose time is up, has not happened and never does, and says what has not
// answered.
func TestM11ACommandThatIsNotAnswered(t *testing.T) {
	goOn := make(chan struct{})
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) {
		<-goOn
		fmt.Fprint(w, "7")
	}, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c := d.Command(ctx, force(core, 2))
	c.Try(core.Now())
	_, err := c.Await(nil, nil)
	if !errors.Is(err, reactor.ErrUnanswered) ||
		!strings.Contains(err.Error(), "n asked for: their servers have said") {
		t.Errorf("it says %v", err)
	}
	asked := c.epoch.Asked[0]
	c.End()
	if !core.Wanted(&asked) {
		t.Error("it is forgotten before the reactor has looked")
	}
	if d.Take(core.Now()); core.Wanted(&asked) || len(d.commands) != 0 {
		t.Errorf("%d commands are known", len(d.commands))
	}
	close(goOn)
	take(core, d, wake)
	if c.Try(core.Now()); core.Epoch() != 0 {
		t.Errorf("it has happened: epoch %d", core.Epoch())
	}
	if _, err := d.Command(ctx, nil).Await(nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that was not tried says %v", err)
	}
	stopped, ended := make(chan struct{}), errors.New("ended")
	close(stopped)
	if _, err := d.Command(t.Context(), nil).Await(stopped, ended); !errors.Is(err, ended) {
		t.Errorf("the end of the reactor is told as %v", err)
	}
}

// M11: a command that has run is never told as one that has not, whenever its time is up; one that misses an answer as
// its time is up has not run.
func TestM11WhatHasRunIsTold(t *testing.T) {
	const keys = 20 // of what is ready at once any may be seen first
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "7") }, keys)
	for key := range int64(keys) {
		tries, timeUp := 0, context.CancelCauseFunc(nil)
		command := func(most int) *Command {
			c := d.Command(t.Context(), func(now time.Time) (reactor.FireResult, error) {
				if tries++; tries == most {
					timeUp(context.DeadlineExceeded)
				}
				return force(core, key)(now)
			})
			c.ctx, timeUp = context.WithCancelCause(t.Context())
			return c
		}
		c := command(1)
		c.Try(core.Now())
		if len(c.done) != 1 {
			t.Fatal("who has seen that it was being tried waits for ever")
		}
		if _, err := c.Await(nil, nil); !errors.As(err, new(*UnansweredError)) || core.Epoch() != key {
			t.Fatalf("one that misses an answer: %v, at epoch %d", err, core.Epoch())
		}
		c.End()
		tries = 0
		c = command(2)
		c.Try(core.Now())
		for core.Epoch() == key {
			take(core, d, wake)
		}
		if res, err := c.Await(nil, nil); err != nil || res.Epoch != key+1 {
			t.Fatalf("one that has run: %+v, %v", res, err)
		}
		c.End()
	}
}

// M11: whose time is up while a command is being tried is told what comes of it, as long as its caller waits.
func TestM11WhoseTimeIsUpWhileItIsTried(t *testing.T) {
	_, d, _ := open(t, func(http.ResponseWriter, *http.Request) {}, 1)
	for name, callerGoes := range map[string]bool{"the caller waits": false, "the caller goes": true} {
		ctx, gone := context.WithCancel(t.Context())
		c := d.Command(ctx, nil)
		c.state.Store(trying)
		c.cancel()
		if callerGoes {
			gone()
		}
		told := make(chan string)
		go func() {
			res, err := c.Await(nil, nil)
			told <- fmt.Sprint(res.Epoch, " ", err)
		}()
		want := "5 <nil>"
		if callerGoes {
			want = "0 context canceled"
		} else {
			c.done <- fired{FireResult: reactor.FireResult{Epoch: 5}}
		}
		if got := <-told; got != want {
			t.Errorf("%s: it is told %s", name, got)
		}
		gone()
	}
}

// Where nothing is called a command is its try.
func TestACommandWithoutADesk(t *testing.T) {
	c := (*Desk)(nil).Command(t.Context(), func(time.Time) (res reactor.FireResult, err error) { return res, io.EOF })
	defer c.End()
	c.Try(time.Time{})
	if _, err := c.Await(nil, nil); !errors.Is(err, io.EOF) || c.Context() != t.Context() {
		t.Errorf("it is told %v", err)
	}
}

// theLine is the line of the only node that calls.
func (d *Desk) theLine() (node int, l *line) {
	for node, l = range d.lines {
	}
	return node, l
}

// M21: what waits for its turn is not called for when its epoch has ended meanwhile.
func TestM21NobodyIsCalledForAnEpochThatHasEnded(t *testing.T) {
	const keys = 8
	var asked atomic.Int64
	goOn := make(chan struct{})
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-goOn
		fmt.Fprint(w, "7")
	}, keys)
	d.Tried()
	core.Fire(core.Now())
	d.Look(d.ahead, time.Hour, nil) // four are on their way, and four wait
	node, l := d.theLine()
	for q := range l.known {
		core.Answer(q.key, node, q.id, &kind.Answer{Status: http.StatusOK, Body: []byte("1")})
	}
	for core.Fire(core.Now()) {
	}
	close(goOn)
	for l.under > 0 {
		take(core, d, wake)
	}
	if asked.Load() != 4 || len(l.waiting) != 0 || len(l.known) != 0 || core.Epoch() != keys {
		t.Errorf("%d calls were made, %d wait, %d are known, at epoch %d", asked.Load(), len(l.waiting), len(l.known),
			core.Epoch())
	}
}

// M4: while there are as many bytes of answers as there may be, only what the next epoch asks for is called for.
func TestM4NothingIsAskedAheadOfAFullBook(t *testing.T) {
	const keys = 8
	var asked, out, most atomic.Int64
	goOn := make(chan struct{})
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-goOn
		if n := out.Add(1); n > most.Load() && asked.Load() > 4 {
			most.Store(n)
		}
		out.Add(-1)
		fmt.Fprint(w, "7")
	}, keys)
	d.Tried()
	core.Fire(core.Now())
	d.Look(d.ahead, time.Hour, nil)
	node, l := d.theLine()
	last := l.waiting[len(l.waiting)-1]
	large := append(bytes.Repeat([]byte{' '}, 64<<20), '7')
	core.Answer(last.Key, node, last.ID, &kind.Answer{Status: http.StatusOK, Body: large})
	close(goOn)
	for core.Epoch() < keys {
		d.Take(core.Now())
		if core.Brimful() && l.under > 1 && asked.Load() > 4 {
			t.Errorf("%d calls are on their way", l.under)
		}
		if d.Waits() {
			<-wake
			continue
		}
		for d.Tried(); core.Fire(core.Now()); {
		}
		d.Look(d.ahead, time.Hour, nil)
	}
	if asked.Load() != keys-1 || most.Load() != 1 || core.Brimful() {
		t.Errorf("%d calls were made, %d at once; the book is full: %v", asked.Load(), most.Load(), core.Brimful())
	}
}

// What is in the way of calls is told in a line, with how long the next epoch has waited.
func TestHindrances(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, told := range map[string]kind.Told{
		"":                         {Calls: 7, Out: 3, WaitedFor: now.Add(-700 * time.Millisecond)},
		"false it has asked, and":  {Out: 1, WaitedFor: now.Add(-800 * time.Millisecond)},
		"true no; 3 in a row; the": {Trouble: "no", Row: 3, WaitedFor: now.Add(-time.Minute)},
		"true no; 1 in a row; cal": {Trouble: "no", Row: 1, Retrying: 1},
		"true nobody is called fo": {Open: true, Trouble: "no"},
	} {
		failing, why := Hindrance(&told, now)
		got := ""
		if why != "" {
			got = fmt.Sprint(failing, " ", why)
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", told, got, want)
		}
	}
	if _, why := Hindrance(&kind.Told{Trouble: "n answered 404 Not Found", Row: 1}, now); why != "" {
		t.Errorf("one answer that is none is told: %s", why)
	}
}
