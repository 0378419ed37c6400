package pump

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// M11, M42, M46: a stopped mailbox refuses what is pushed, queued and waiting for room, counts
// it, and lets the values of another graph wait; the start takes them in order.
func TestM11StoppedMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(3, 0)
		push := func(events ...boundary.Event) <-chan error {
			out := make(chan error, 1)
			go func() {
				o, err := box.Push(t.Context(), events)
				if err == nil && o.Taken != len(events) {
					err = errors.New("not all were taken")
				}
				out <- err
			}()
			synctest.Wait()
			return out
		}
		ended := func(what string, ch <-chan error, want error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-ch:
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
			default:
				t.Errorf("%s still waits", what)
			}
		}
		// A graph that feeds this one may be sooner than what says that the input is stopped.
		queued, fed := push(eventsOf("1", "2")...), push(*pulled(1, "3"))
		waiting, fedWaiting := push(eventsOf("4")...), push(*pulled(2, "5"))
		box.Stop()
		ended("what was queued", queued, ErrStopped)
		ended("what waited", waiting, ErrStopped)
		ended("what came later", push(eventsOf("6")...), ErrStopped)
		fedLater := push(*pulled(3, "7"))
		r := start(t, spec.Accumulator{}, nil, newPort(0), box, accumulator.Mark{})
		synctest.Wait()
		if values, _, _ := r.port.seen(); len(fed)+len(fedWaiting)+len(fedLater)+len(values) > 0 {
			t.Errorf("values of another graph did not wait: %v", values)
		}
		box.Start()
		ended("what another graph sent before", fed, nil)
		ended("what another graph sent", fedWaiting, nil)
		ended("what another graph sent later", fedLater, nil)
		ended("what came after the start", push(eventsOf("8")...), nil)
		r.end(t)
		values, mark, _ := r.port.seen()
		if got := len(values); got != 4 || values[0] != "3" || values[3] != "8" {
			t.Errorf("got %v", values)
		}
		if mark.Counters.Rejected != 4 {
			t.Errorf("%+v", mark.Counters)
		}
		r.port.balance(t, 8)
	})
}
