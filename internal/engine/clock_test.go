package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// tape is a source whose test says what it gives, and when it has caught up.
type tape struct {
	say   chan func(ctx context.Context, out accumulator.Out) error
	knows bool // it tells when it has caught up
}

func newTape(knows bool) *tape {
	return &tape{knows: knows}
}

// load makes the tape's channel, in the bubble of its test.
func (s *tape) load() { s.say = make(chan func(context.Context, accumulator.Out) error, 64) }

func (s *tape) Follows() bool { return s.knows }

func (s *tape) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	for {
		select {
		case f := <-s.say:
			if err := f(ctx, out); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// events gives events of a stream that happen at so many seconds.
func (s *tape) events(stream string, seconds ...int) {
	s.say <- func(ctx context.Context, out accumulator.Out) error {
		var batch []boundary.Event
		for _, at := range seconds {
			batch = append(batch, boundary.Event{
				Raw: fmt.Appendf(nil, `{"at":%d}`, at), Pos: boundary.Position{Stream: stream, Offset: int64(at)},
			})
		}
		return out.Emit(ctx, batch)
	}
	synctest.Wait()
}

func (s *tape) caughtUp(stream string, yes bool) {
	s.say <- func(_ context.Context, out accumulator.Out) error {
		accumulator.CaughtUp(out, stream, yes)
		return nil
	}
	synctest.Wait()
}

func (s *tape) health(h accumulator.Health) {
	s.say <- func(_ context.Context, out accumulator.Out) error {
		out.Health(h, "")
		return nil
	}
	synctest.Wait()
}

// heard is a sink that keeps what it gets.
type heard struct {
	mu     sync.Mutex
	values []string
}

func (h *heard) Deliver(_ context.Context, batch []sink.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range batch {
		h.values = append(h.values, batch[i].Value.String())
	}
	return nil
}

func (h *heard) Close(context.Context) error { return nil }

// since is what came since the last call.
func (h *heard) since() string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := strings.Join(h.values, " ")
	h.values = nil
	// Times are told as seconds since 1970.
	return regexp.MustCompile(`"1970-[^"]*"`).ReplaceAllStringFunc(s, func(text string) string {
		at, err := time.Parse(`"`+time.RFC3339+`"`, text)
		if err != nil {
			return text
		}
		return fmt.Sprint(at.Unix())
	})
}

// clocked runs a graph of inputs a and b under the event clock.
func clocked(t *testing.T, a, b accumulator.Source, more string, test func(bed *bed, out *heard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []accumulator.Source{a, b} {
			if s, ok := s.(*tape); ok {
				s.load()
			}
		}
		out := &heard{}
		bed := newBed(t, memstore.New(), &scripted{
			source: func(name string) accumulator.Source { return map[string]accumulator.Source{"a": a, "b": b}[name] },
			sink:   func(string) sink.Sink { return out },
		})
		defer bed.close()
		bed.apply(`graph: g
accumulators:
  a: { time: event.at, time_unit: s, emit: event.at, strategy: sequential }
  b: { time: event.at, time_unit: s, emit: event.at, strategy: sequential }
nodes: { n: { event: true, expr: '[now(), a ?? 0, b ?? 0, cause()]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`+more, "g")
		for _, s := range []accumulator.Source{a, b} {
			if s, ok := s.(*tape); ok {
				s.health(accumulator.Live)
			}
		}
		test(bed, out)
	})
}

// M26: who is known to be behind is waited for; who has caught up, is disconnected or silent, or of
// whom nothing is known, is not.
func TestM26WhoHoldsBackWhom(t *testing.T) {
	for name, c := range map[string]struct {
		b    *tape
		does func(b *tape)
		free bool
	}{
		"behind from its start": {newTape(true), func(*tape) {}, false},
		"caught up":             {newTape(true), func(b *tape) { b.caughtUp("", true) }, true},
		"behind again": {newTape(true), func(b *tape) {
			b.caughtUp("", true)
			b.caughtUp("", false)
		}, false},
		"one stream behind": {newTape(true), func(b *tape) {
			b.caughtUp("p1", false)
			b.caughtUp("", true)
		}, false},
		"that stream has caught up": {newTape(true), func(b *tape) {
			b.caughtUp("p1", false)
			b.caughtUp("", true)
			b.caughtUp("p1", true)
		}, true},
		"disconnected":        {newTape(true), func(b *tape) { b.health(accumulator.Disconnected) }, true},
		"silent":              {newTape(true), func(*tape) { time.Sleep(10*time.Second + time.Millisecond) }, true},
		"nearly silent":       {newTape(true), func(*tape) { time.Sleep(8 * time.Second) }, false},
		"nothing known of it": {newTape(false), func(*tape) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newTape(false)
			clocked(t, a, c.b, "", func(bed *bed, out *heard) {
				c.does(c.b)
				a.events("s", 100)
				if got := out.since(); (got == `[100,100,0,"criteria"]`) != c.free || !c.free && got != "" {
					t.Errorf("got %s, free %v", got, c.free)
				}
				if held := bed.summary("g").HeldBackBy; held != "" {
					t.Errorf("held back by %q at once", held)
				}
				time.Sleep(time.Second + time.Millisecond)
				sum := bed.summary("g")
				told := sum.HealthReason != nil && sum.HealthReason.Code == "held_back"
				if held := sum.HeldBackBy; (held == "") != c.free || told == c.free {
					t.Errorf("held back by %q, because of %+v, free %v", held, sum.HealthReason, c.free)
				}
				if c.free {
					return
				}
				c.b.events("p1", 50)
				c.b.events("p1", 150)
				if got := out.since(); got != `[50,0,50,"criteria"] [100,100,50,"criteria"]` {
					t.Errorf("when it comes: %s", got) // what comes with 150 is not known yet
				}
			})
		})
	}
}

// M26: when all have been silent for `idle`, engine time goes on from where it stood, so that what
// waits for time fires; it never jumps to the wall clock's date, and who comes back late is late.
func TestM26SilenceOfAll(t *testing.T) {
	a, b := newTape(false), newTape(false)
	clocked(t, a, b, "reactor: { every: 4s }\n", func(bed *bed, out *heard) {
		a.events("s", 101)
		time.Sleep(9 * time.Second)
		if got := out.since(); got != "" {
			t.Errorf("before idle was over: %s", got)
		}
		time.Sleep(1500 * time.Millisecond)
		want := `[104,101,0,"criteria"] [108,101,0,"tick"]`
		if got := out.since(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(4 * time.Second)
		if got, want := out.since(), `[112,101,0,"tick"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		b.events("s", 105) // happens now: time does not go back
		a.events("s", 118)
		if got, want := out.since(), `[116,101,105,"criteria"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// M26: the last window closes in a silence.
func TestM26TheLastWindowCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := newTape(true), &heard{}
		a.load()
		bed := newBed(t, memstore.New(), &scripted{
			source: func(string) accumulator.Source { return a }, sink: func(string) sink.Sink { return out },
		})
		defer bed.close()
		bed.apply(`graph: g
idle: 5s
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 10s, lateness: 2s, aggregate: { n: count() } } }
nodes: { n: { expr: '[now(), a.start, a.n]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, "g")
		a.health(accumulator.Live)
		a.events("s", 103, 104, 109)
		a.caughtUp("", true)
		time.Sleep(4 * time.Second)
		if got := out.since(); got != "" {
			t.Errorf("after 4 s: %s", got)
		}
		time.Sleep(time.Second + time.Millisecond)
		if got, want := out.since(), "[112,100,3]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		a.events("s", 108) // late now
		if c := bed.summary("g").Counters; c.Received != 4 || c.Filtered != 1 {
			t.Errorf("%+v", c)
		}
		if late := bed.summary("g").Accumulators[0].Late; late != 1 {
			t.Errorf("%d late events, want 1", late)
		}
	})
}

// M26: pushed events take their turn by their times, are answered when they have had it, and a
// sender who gives up takes back what has not.
func TestM26PushesTakeTheirTurn(t *testing.T) {
	b := newTape(true)
	clocked(t, nil, b, "", func(bed *bed, out *heard) {
		push := func(ctx context.Context, at ...int) <-chan api.PushResult {
			answer := make(chan api.PushResult, 1)
			var list []json.RawMessage
			for _, s := range at {
				list = append(list, json.RawMessage(fmt.Sprintf(`{"at":%d}`, s)))
			}
			go func() {
				res, err := bed.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, "a", list)
				if err != nil {
					t.Log(err)
				}
				answer <- res
			}()
			synctest.Wait()
			return answer
		}
		soon := push(bed.t.Context(), 40, 60)
		b.events("s", 50)
		if got := out.since(); got != `[40,40,0,"criteria"]` || len(soon) != 0 {
			t.Errorf("got %s, answered: %v", got, len(soon) != 0)
		}
		hasty, cancel := context.WithTimeout(bed.t.Context(), time.Second)
		defer cancel()
		gone := push(hasty, 70)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(gone) != 1 {
			t.Error("who gave up has no answer")
		}
		b.caughtUp("", true)
		if got := out.since(); got != `[50,40,50,"criteria"] [60,60,50,"criteria"]` || len(soon) != 1 {
			t.Errorf("got %s, answered: %v", got, len(soon) != 0)
		}
		if c := bed.summary("g").Counters; c.Received != 4 || c.Rejected != 1 || c.Consumed != 3 {
			t.Errorf("%+v", c)
		}
	})
}

// M11, M26: a paused graph goes on taking in, in the order of times and within the bounds of its inputs;
// one that is full holds up no other.
func TestM26APausedGraphTakesInWithinItsBounds(t *testing.T) {
	a, b := newTape(false), newTape(false)
	clocked(t, a, b, "", func(bed *bed, out *heard) {
		ref := api.Ref{Tenant: "default", Name: "g"}
		if _, err := bed.e.Pause(bed.t.Context(), ref, "ann"); err != nil {
			t.Fatal(err)
		}
		var many []int
		for i := range 3000 {
			many = append(many, 100+i)
		}
		a.events("s", many...)
		b.events("s", 150)
		if s := bed.summary("g"); s.Accumulators[0].Depth != 1024 || s.Accumulators[1].Depth != 1 {
			t.Errorf("%d and %d wait", s.Accumulators[0].Depth, s.Accumulators[1].Depth)
		}
		if _, err := bed.e.Resume(bed.t.Context(), ref, "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c := bed.summary("g").Counters; c.Consumed != 3001 {
			t.Errorf("%+v", c)
		}
	})
}

// M26: a graph that has gone by the arrival clock, and goes by the event clock now, begins its time with its
// events: what was timed by the wall clock counts from there.
func TestM26FromTheArrivalClockToTheEventClock(t *testing.T) {
	a, b := newTape(false), newTape(false)
	clocked(t, a, b, "clock: arrival\n", func(bed *bed, out *heard) {
		doc := `graph: g
reactor: { rate_limit: 3s }
accumulators:
  a: { time: event.at, time_unit: s, batch: { interval: 30s }, emit: event.at }
  b: { time: event.at, time_unit: s, emit: event.at, strategy: sequential }
nodes: { n: { event: true, expr: '[now(), a ?? 0, b ?? 0, cause()]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
		change := func(clock string) {
			t.Helper()
			if _, err := bed.reapply(doc + clock); err != nil {
				t.Fatal(err)
			}
			a.health(accumulator.Live)
			b.health(accumulator.Live)
		}
		change("clock: arrival\n")
		b.events("s", 90, 91)
		a.events("s", 100)
		time.Sleep(time.Second)
		out.since()
		change("")
		if at := bed.summary("g").EngineTime; at != nil {
			t.Errorf("engine time %v before any event", at)
		}
		b.events("s", 110, 113, 150)
		want := `[113,0,91,"criteria"] [116,0,110,"criteria"] [119,0,113,"criteria"] ` +
			`[140,[100],113,"criteria"] [150,[100],150,"criteria"]`
		if got := out.since(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// M26, M30: how long a value has waited is told by the wall clock, whatever the time of the events; and after
// a restart from when it was read back.
func TestM26TheAgeOfWhatWaits(t *testing.T) {
	for _, path := range []string{"outbox", "direct"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, store := &receiver{}, lasting{memstore.New()}
				got.set(func([]sink.Message) error { return errors.New("away") })
				kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
				first := newBed(t, store, kinds())
				defer func() { _ = first.e.Close() }() // the second has taken its graph
				first.apply(`graph: g
accumulators: { a: { time: event, time_unit: s, strategy: sequential } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { file: { path: never.ndjson } }, delivery: `+path+` } }
`, "g")
				first.push("g", "a", "100", "200")
				time.Sleep(time.Minute)
				age := func(b *bed, least, most float64) {
					t.Helper()
					o := b.summary("g").Outputs[0]
					if s := o.OldestPendingSeconds; o.Pending != 2 || s == nil || *s < least || *s > most {
						t.Errorf("%d wait, the oldest for %v s; want %v to %v", o.Pending, s, least, most)
					}
				}
				age(first, 59, 61)
				second := newBed(t, store, kinds())
				defer second.close()
				time.Sleep(30 * time.Second)
				age(second, 20, 31)
			})
		})
	}
}
