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

// force is a try of a command that fires a key.
func force(core *reactor.Core, n int64) func() error {
	return func() error {
		_, err := core.ForceFire(core.Now(), keyAt(n), false)
		return err
	}
}

// M11: a command asks, waits and is tried again with the answer; then nothing is known of it.
func TestM11ACommandWaitsForItsAnswers(t *testing.T) {
	core, d, wake := open(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "7") }, 3)
	c := d.Command(t.Context())
	missed, err := c.Try(force(core, 2))
	if err != nil || missed == nil {
		t.Fatalf("it has missed %v, %v", missed, err)
	}
	for !d.Take() {
		<-wake
	}
	if err := c.Await(missed, nil, nil); err != nil {
		t.Fatal(err)
	}
	if missed, err = c.Try(force(core, 2)); err != nil || missed != nil || core.Epoch() != 1 {
		t.Errorf("it has missed %v, %v, at epoch %d", missed, err, core.Epoch())
	}
	c.End()
	if d.Take(); len(d.commands) != 0 {
		t.Errorf("%d commands are known", len(d.commands))
	}
}

// M11: a command whose caller goes, or whose time is up, has not happened, and says what has not answered.
func TestM11ACommandThatIsNotAnswered(t *testing.T) {
	core, d, _ := open(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		<-r.Context().Done()
	}, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c := d.Command(ctx)
	missed, err := c.Try(force(core, 2))
	if err != nil || missed == nil {
		t.Fatalf("it has missed %v, %v", missed, err)
	}
	err = c.Why(c.Await(missed, nil, nil))
	if !errors.Is(err, reactor.ErrUnanswered) ||
		!strings.Contains(err.Error(), "n asked for: their servers have said") {
		t.Errorf("it says %v", err)
	}
	asked := c.epoch.Asked[0]
	c.End()
	if !core.Wanted(&asked) {
		t.Error("it is forgotten before the reactor has looked")
	}
	if d.Take(); core.Wanted(&asked) || len(d.commands) != 0 || core.Epoch() != 0 {
		t.Errorf("%d commands are known at epoch %d", len(d.commands), core.Epoch())
	}
	gone := d.Command(ctx)
	if err := gone.Why(ctx.Err()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that was not tried says %v", err)
	}
	stopped, ended := make(chan struct{}), errors.New("ended")
	close(stopped)
	if err := d.Command(t.Context()).Await(missed, stopped, ended); !errors.Is(err, ended) {
		t.Errorf("the end of the reactor is told as %v", err)
	}
}

// Where nothing is called a command is its try.
func TestACommandWithoutADesk(t *testing.T) {
	c := (*Desk)(nil).Command(t.Context())
	defer c.End()
	if missed, err := c.Try(func() error { return io.EOF }); missed != nil || !errors.Is(err, io.EOF) ||
		c.Context() != t.Context() {
		t.Errorf("%v, %v", missed, err)
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
	d.Look() // four are on their way, and four wait
	node, l := d.theLine()
	for q := range l.known {
		core.Answer(q.key, node, q.id, &kind.Answer{Status: http.StatusOK, Body: []byte("1")})
	}
	for core.Fire(core.Now()) {
	}
	close(goOn)
	for l.under > 0 {
		<-wake
		d.Take()
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
	d.Look()
	node, l := d.theLine()
	last := l.waiting[len(l.waiting)-1]
	large := append(bytes.Repeat([]byte{' '}, 64<<20), '7')
	core.Answer(last.Key, node, last.ID, &kind.Answer{Status: http.StatusOK, Body: large})
	close(goOn)
	for core.Epoch() < keys {
		d.Take()
		if core.Brimful() && l.under > 1 && asked.Load() > 4 {
			t.Errorf("%d calls are on their way", l.under)
		}
		if d.Waits() {
			<-wake
			continue
		}
		for d.Tried(); core.Fire(core.Now()); {
		}
		d.Look()
	}
	if asked.Load() != keys-1 || most.Load() != 1 || core.Brimful() {
		t.Errorf("%d calls were made, %d at once; the book is full: %v", asked.Load(), most.Load(), core.Brimful())
	}
}

// What is in the way of calls is told in a line, with how long the next epoch has waited.
func TestHindrances(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, told := range map[string]kind.Told{
		"":                         {Calls: 7, Out: 3, WaitedFor: now.Add(-time.Second)},
		"false it has asked, and":  {Out: 1, WaitedFor: now.Add(-2 * time.Second)},
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
