package pump

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// M1: pushes and a source are merged into one fold.
func TestM1SocketAndSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		src := scripted(emit(0, 4), func(ctx context.Context, _ []boundary.Position, _ accumulator.Out) error {
			<-gate
			return nil
		}, emit(4, 5), untilStopped)
		a := spec.Accumulator{Kind: kindBatch, Config: batch.Declared{Size: 3}}
		r := start(t, a, src, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
		synctest.Wait()
		if o := <-r.push(t.Context(), `"a"`); o.Accepted != 1 || o.Full || o.Taken != 1 {
			t.Errorf("got %+v", o)
		}
		close(gate)
		synctest.Wait()
		got, m, _ := r.port.seen()
		if want := `[[0,1,2] [3,"a",4]]`; fmt.Sprint(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if m.Counters != (accumulator.Counters{Received: 6}) || m.Positions[0].Offset != 5 {
			t.Errorf("got %+v", m)
		}
		r.port.balance(t, 6)
		r.end(t)
	})
}

// M2: the healths, in the order they come about.
func TestM2Health(t *testing.T) {
	for name, c := range map[string]struct {
		src  accumulator.Source
		want string
	}{
		"socket only": {nil, "[socket_only]"},
		"live, lost and back": {scripted(func(ctx context.Context, from []boundary.Position,
			out accumulator.Out) error {
			out.Health(accumulator.Live, "")
			out.Health(accumulator.Disconnected, "the broker is away")
			out.Health(accumulator.Live, "")
			return nil
		}, untilStopped), "[connecting live disconnected:source_disconnected live]"},
		"ended": {scripted(func(_ context.Context, _ []boundary.Position, out accumulator.Out) error {
			out.Health(accumulator.Live, "")
			return nil
		}, emit(0, 7)), "[connecting live ended]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, spec.Accumulator{}, c.src, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
				synctest.Wait()
				if got := r.port.said(); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				// The socket is always there (M1).
				if o := <-r.push(t.Context(), "1"); o.Accepted != 1 {
					t.Errorf("a push after it: %+v", o)
				}
				r.end(t)
			})
		})
	}
}

// M2: ended is said after everything was handed over, the last mark included.
func TestM2EndedComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{Where: expr("event < 3")}, scripted(emit(0, 7)), newPort(0), NewMailbox(0, 0),
			accumulator.Mark{})
		synctest.Wait()
		_, m, _ := r.port.seen()
		if m.Positions[0].Offset != 7 || r.port.said() != "[connecting ended]" {
			t.Errorf("got %+v after %s", m, r.port.said())
		}
		r.port.balance(t, 7)
		r.end(t)
	})
}

// M4: a full input stops its source; nothing is lost, and nothing is taken past the bound.
func TestM4BackpressureStopsTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{Capacity: 8}, scripted(emit(0, 100), untilStopped), newPort(8), NewMailbox(0, 0),
			accumulator.Mark{})
		synctest.Wait()
		if got, _, _ := r.port.seen(); len(got) != 8 {
			t.Errorf("got %d boundaries with room for 8", len(got))
		}
		for range 100 {
			r.port.consume(1)
			synctest.Wait()
		}
		got, m, _ := r.port.seen()
		for i, v := range got {
			if v != fmt.Sprint(i) {
				t.Fatalf("boundary %d is %s", i, v)
			}
		}
		if len(got) != 100 || m.Positions[0].Offset != 100 {
			t.Errorf("got %d boundaries, %+v", len(got), m)
		}
		r.port.balance(t, 100)
		r.end(t)
	})
}

// M4: a full input holds a push until its deadline; what was not taken is refused exactly.
func TestM4PushHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{Capacity: 4}, nil, newPort(4), NewMailbox(0, 0), accumulator.Mark{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		first := r.push(ctx, "0", "1", "2", "3", "4", "5")
		second := r.push(t.Context(), `"b"`)
		begin := time.Now()
		o := <-first
		if o.Taken != 4 || o.Accepted != 4 || !o.Full || time.Since(begin) != 5*time.Second {
			t.Errorf("got %+v after %v, want 4 taken after 5s", o, time.Since(begin))
		}
		synctest.Wait()
		r.port.consume(-1)
		if o := <-second; o.Taken != 1 || o.Full {
			t.Errorf("who waited longer: got %+v", o)
		}
		time.Sleep(2 * time.Second) // a mark carries the refused tail
		synctest.Wait()
		got, m, _ := r.port.seen()
		if want := `[0 1 2 3 "b"]`; fmt.Sprint(got) != want ||
			m.Counters != (accumulator.Counters{Received: 7, Rejected: 2}) {
			t.Errorf("got %s, %+v", got, m.Counters)
		}
		r.port.balance(t, 7)
		r.end(t)
	})
}

// M4: a source and the socket take turns; neither starves.
func TestM4Fairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{Capacity: 8}, scripted(emit(0, 1<<30)), newPort(8), NewMailbox(0, 0),
			accumulator.Mark{})
		texts := strings.Split(strings.Repeat(`"p" `, 50), " ")[:50]
		done := r.push(t.Context(), texts...)
		for rounds := 0; ; rounds++ {
			r.port.consume(-1)
			synctest.Wait()
			if len(done) == 1 || rounds > 200 {
				break
			}
		}
		got, _, _ := r.port.seen()
		p := strings.Count(fmt.Sprint(got), "p")
		if o := <-done; o.Accepted != 50 || p != 50 {
			t.Errorf("the push was starved: %+v", o)
		}
		if n := len(got) - p; n < 40 || n > 80 {
			t.Errorf("%d events of the source beside 50 pushed ones, want about as many", n)
		}
		r.end(t)
	})
}

// M5, M42: a push is told which of its events were refused; the others are taken.
func TestM5PushAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{Where: expr("event > 2")}, nil, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
		o := <-r.push(t.Context(), "1", "{", "3", `"x"`, "4")
		if o.Taken != 5 || o.Accepted != 3 || o.Filtered != 1 || o.RejectedCount != 2 || o.Full {
			t.Errorf("got %+v", o)
		}
		if len(o.Rejected) != 2 || o.Rejected[0].Index != 1 || o.Rejected[0].Code != "invalid_json" ||
			o.Rejected[1].Index != 3 || o.Rejected[1].Code != "type_error" {
			t.Errorf("got %+v", o.Rejected)
		}
		// The answer comes when the reactor has it all, the books included.
		r.port.balance(t, 5)
		if o := <-r.push(t.Context()); o.Taken != 0 || o.Full {
			t.Errorf("an empty push: %+v", o)
		}
		r.box.Reject(2)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.port.balance(t, 7)
		r.end(t)
	})
}

// M3: the interval of a batch runs on the Unit's clock.
func TestM3BatchInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := spec.Accumulator{Kind: kindBatch, Config: batch.Declared{Interval: time.Minute}}
		r := start(t, a, nil, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
		<-r.push(t.Context(), "1")
		time.Sleep(30 * time.Second)
		<-r.push(t.Context(), "2")
		time.Sleep(30*time.Second - 1)
		synctest.Wait()
		if got, _, _ := r.port.seen(); len(got) != 0 {
			t.Errorf("got %s before the interval was over", got)
		}
		time.Sleep(1)
		synctest.Wait()
		if got, _, _ := r.port.seen(); fmt.Sprint(got) != "[[1,2]]" {
			t.Errorf("got %s", got)
		}
		r.end(t)
	})
}

// M28: a mark is handed over at least once per interval when something changed, and not
// when nothing did.
func TestM28Marks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := scripted(emit(0, 6), func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
			return out.Advance(ctx, boundary.Position{Stream: "s", Offset: 9})
		}, untilStopped)
		r := start(t, spec.Accumulator{Where: expr("false")}, src, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
		synctest.Wait()
		if n := r.port.handoffs(); n != 0 {
			t.Errorf("%d handoffs without a boundary before the interval", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		_, m, _ := r.port.seen()
		if n := r.port.handoffs(); n != 1 || m.Counters.Filtered != 6 || m.Positions[0].Offset != 9 {
			t.Errorf("after the interval: %d handoffs, %+v", n, m)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := r.port.handoffs(); n != 1 {
			t.Errorf("%d handoffs although nothing changed", n)
		}
		r.end(t)
	})
}

// W13: a soft stop does not flush an open batch; a restart goes on with it.
func TestSoftStopKeepsTheOpenBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := spec.Accumulator{Kind: kindBatch, Config: batch.Declared{Size: 5}}
		p := newPort(0)
		r := start(t, a, scripted(emit(0, 13), untilStopped), p, NewMailbox(0, 0), accumulator.Mark{})
		time.Sleep(2 * time.Second)
		r.end(t)
		got, m, _ := p.seen()
		if fmt.Sprint(got) != "[[0,1,2,3,4] [5,6,7,8,9]]" || m.Counters.Open != 3 {
			t.Fatalf("got %s, %+v", got, m.Counters)
		}
		r = start(t, a, scripted(emit(0, 16), untilStopped), p, NewMailbox(0, 0), m)
		time.Sleep(2 * time.Second)
		r.end(t)
		if got, _, _ := p.seen(); fmt.Sprint(got[2:]) != "[[10,11,12,13,14]]" {
			t.Errorf("after the restart: %s", got[2:])
		}
		p.balance(t, 16)
	})
}

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		fail   func(context.Context, []boundary.Position, accumulator.Out) error
		health string
		check  func(error) bool
	}{
		"an error": {
			func(context.Context, []boundary.Position, accumulator.Out) error { return broken },
			"[connecting]", func(err error) bool { return errors.Is(err, broken) },
		},
		"M44 data lost": {
			func(context.Context, []boundary.Position, accumulator.Out) error {
				return fmt.Errorf("resume: %w", &accumulator.DataLost{Want: "a", Have: "b"})
			},
			"[connecting halted:source_data_lost]",
			func(err error) bool {
				lost := new(accumulator.DataLost)
				return errors.As(err, &lost) && lost.Want == "a"
			},
		},
		"M35 a panic": {
			func(context.Context, []boundary.Position, accumulator.Out) error { panic("boom") },
			"[connecting]",
			func(err error) bool {
				p := new(accumulator.PanicError)
				return errors.As(err, &p) && p.Value == "boom" && p.Event == nil &&
					strings.Contains(string(p.Stack), "unit_test.go")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, spec.Accumulator{}, scripted(emit(0, 4), c.fail), newPort(0), NewMailbox(0, 0),
					accumulator.Mark{})
				err := <-r.done
				if !c.check(err) || !strings.Contains(err.Error(), `accumulator "ticks"`) {
					t.Errorf("got %v", err)
				}
				if got := r.port.said(); got != c.health {
					t.Errorf("got %s, want %s", got, c.health)
				}
				r.port.balance(t, 4) // what it emitted before is handed over
			})
		})
	}
}

func TestPortErrorEndsTheUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPort(0)
		p.refusing = errors.New("the reactor is gone")
		r := start(t, spec.Accumulator{}, scripted(emit(0, 4), untilStopped), p, NewMailbox(0, 0), accumulator.Mark{})
		if err := <-r.done; !errors.Is(err, p.refusing) {
			t.Errorf("got %v", err)
		}
	})
}
