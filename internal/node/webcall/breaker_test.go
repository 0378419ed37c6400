package webcall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/spec"
)

// A breaker lets nothing through behind so many failures, then one for all.
func TestBreaker(t *testing.T) {
	b := breaker{cfg: Breaker{Failures: 3, Open: time.Minute}}
	now := time.Unix(0, 0)
	fails := func(want string) {
		t.Helper()
		trial, open := b.begin(now)
		if got := fmt.Sprint(trial, " ", open); got != want {
			t.Errorf("trial and open are %s, want %s", got, want)
		}
		if !open {
			b.end(now, trial, true, false)
		}
	}
	fails("false false")
	fails("false false")
	_, _ = b.begin(now)
	b.end(now, false, false, false) // one that succeeds has it count anew
	fails("false false")
	fails("false false")
	fails("false false")
	fails("false true")
	now = now.Add(time.Minute)
	fails("true false") // the trial fails, and it is open again
	fails("false true")
	now = now.Add(time.Minute)
	trial, _ := b.begin(now)
	if _, open := b.begin(now); !trial || !open || !b.isOpen(now.Add(-time.Second)) {
		t.Error("beside a trial there is another")
	}
	b.end(now, trial, false, true) // nobody knows
	trial, _ = b.begin(now)
	b.end(now, trial, false, false)
	if trial, open := b.begin(now); trial || open || b.isOpen(now) {
		t.Error("it is not closed after a trial that was answered")
	}
}

// While the breaker is open the server is not asked.
func TestOpenBreaker(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	e := compile(t, Declared{URL: url, Breaker: Breaker{Failures: 2, Open: time.Hour}}, spec.Retry{})
	client := open(t, e)
	for n, want := range []string{"http_500", "http_500", CodeOpen, CodeOpen} {
		if _, err := ask(t, e, client, 1); codeOf(err) != want {
			t.Errorf("call %d: %v, want %s", n+1, err, want)
		}
	}
	if told := client.Told(); asked.Load() != 2 || !told.Open || told.Calls != 4 || told.Failed != 4 || told.Row != 2 ||
		!strings.Contains(told.Trouble, "500") {
		t.Errorf("asked %d times: %+v", asked.Load(), told)
	}
}

// With retry a call waits for the breaker where its failure would cost events, and its tries are not used up by that;
// with an on_error that goes on it fails at once.
func TestABreakerIsWaitedFor(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 4 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	e := compile(t, Declared{URL: url, Concurrency: 8, Breaker: Breaker{Failures: 2, Open: 20 * time.Millisecond}},
		spec.Retry{Base: time.Millisecond, Max: time.Millisecond, Attempts: 5})
	e.patient = true
	one := open(t, e)
	if _, err := ask(t, e, one, 1); err != nil || asked.Load() != 5 || one.Told().Retries != 4 {
		t.Errorf("behind a breaker that opens three times: %v, %d times asked, %+v", err, asked.Load(), one.Told())
	}
	asked.Store(0)
	all := open(t, e)
	var calls sync.WaitGroup
	for range 8 { // some of them wait for a trial of another
		calls.Go(func() {
			if _, err := ask(t, e, all, 1); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if told := all.Told(); told.Failed != 0 || told.Calls != 8 || told.Retrying != 0 || told.Open {
		t.Errorf("%+v", told)
	}
	asked.Store(0)
	e.patient, e.cfg.Breaker.Open = false, time.Hour
	if _, err := ask(t, e, open(t, e), 1); codeOf(err) != CodeOpen {
		t.Errorf("of a node that goes on: %v", err)
	}
}

// Who waits for a breaker goes on when its trial has ended, and when nobody wants the answer any more.
func TestWhoWaitsForABreaker(t *testing.T) {
	b := breaker{cfg: Breaker{Failures: 1, Open: time.Hour}}
	b.end(time.Now().Add(-time.Hour), false, true, false)
	trial, _ := b.begin(time.Now())
	waited := make(chan error)
	go func() { waited <- b.wait(t.Context()) }()
	b.end(time.Now(), trial, true, false) // it is open again, for an hour
	given, giveUp := context.WithCancel(t.Context())
	if !trial {
		t.Error("there is no trial")
	}
	giveUp()
	if err := b.wait(given); !errors.Is(err, context.Canceled) {
		t.Errorf("one that is given up: %v", err)
	}
	b.end(time.Now(), true, false, false)
	if err := <-waited; err != nil {
		t.Errorf("one whose trial has ended: %v", err)
	}
}
