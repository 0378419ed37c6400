package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
)

// What a sink could not take now is tried again, as often as retry.attempts says, and then
// is a dead letter; what was taken before it is not sent again.
func TestRetryAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{}
		tries := map[string]int{}
		got.fail = func(batch []sink.Message) error {
			for i := range batch {
				v := batch[i].Value.String()
				if tries[v]++; v == "2" || v == "4" && tries[v] < 3 {
					got.took = append(got.took, values(batch[:i])...)
					return &sink.RetryError{Index: i, Err: errors.New("busy")}
				}
			}
			return nil
		}
		b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		doc := "graph: g\naccumulators: { a: { strategy: sequential } }\noutputs: { o: { from: a, sink: { stdout: " +
			"{} }, on_error: dead_letter, retry: { attempts: 5, base: 10ms, max: 1s } } }\n"
		b.apply(doc, "g")
		b.push("g", "a", "1", "2", "3", "4", "5")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got.taken() != "[1 3 4 5]" || tries["2"] != 6 || tries["4"] != 3 || tries["3"] != 1 {
			t.Errorf("took %s after %v tries", got.taken(), tries)
		}
		if l := b.letters("g"); len(l) != 1 || l[0].Code != "retries_exhausted" || string(l[0].Payload) != "2" {
			t.Errorf("letters %+v", l)
		}
		if o := b.summary("g").Outputs[0]; o.Pending != 0 || o.Failed != 1 || o.Error != "" {
			t.Errorf("%+v", o)
		}
	})
}

// The pause is no shorter than the other side asks for, and never longer than retry.max else.
func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{}
		var at []time.Time
		got.fail = func([]sink.Message) error {
			at = append(at, time.Now())
			switch n := len(at); {
			case n == 1:
				return &sink.RetryError{After: 7 * time.Second, Err: errors.New("429")}
			case n < 200:
				return errors.New("no")
			}
			return nil
		}
		b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { stdout: {} }, retry: { base: "+
			"100ms, max: 2s } } }\n", "g")
		b.push("g", "a", "1")
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if len(at) != 200 || got.taken() != "[1]" {
			t.Fatalf("%d tries, took %s", len(at), got.taken())
		}
		if p := at[1].Sub(at[0]); p != 7*time.Second {
			t.Errorf("after the server asked for 7s the pause was %v", p)
		}
		short, long := 0, 0
		for i := 8; i < 200; i++ { // the pauses have grown to the most by now
			switch p := at[i].Sub(at[i-1]); {
			case p > 2*time.Second:
				t.Errorf("pause %d was %v", i, p)
			case p < time.Second/2:
				short++
			case p > 3*time.Second/2:
				long++
			}
		}
		if short < 15 || long < 15 {
			t.Errorf("%d short and %d long pauses: they are not spread over all of the interval", short, long)
		}
	})
}

// The calls on the way are a limit like any other.
func TestOutboundCallsAreALimit(t *testing.T) {
	g, err := outbound.New(outbound.Config{MaxCalls: 3})
	if err != nil {
		t.Fatal(err)
	}
	release, err := g.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	e := New(Config{Store: memstore.New(), Outbound: g})
	defer e.Close()
	for _, l := range e.Limits(t.Context()) {
		if l.Name == "outbound_calls" {
			if l.Limit != 3 || l.Used == nil || *l.Used != 1 {
				t.Errorf("%+v", l)
			}
			return
		}
	}
	t.Error("the limit is not listed")
}
