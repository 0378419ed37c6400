package accumulator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

func eventsOf(texts ...string) []boundary.Event {
	evs := make([]boundary.Event, len(texts))
	for i, s := range texts {
		evs[i] = *pushed(s)
	}
	return evs
}

// The queue is bounded in events and bytes; who does not fit waits, in order.
func TestMailboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(4, 100)
		if e, b := box.Bounds(); e != 4 || b != 100 {
			t.Errorf("got bounds %d, %d", e, b)
		}
		submit := func(ctx context.Context, texts ...string) <-chan *Push {
			out := make(chan *Push, 1)
			go func() {
				p, err := box.Submit(ctx, eventsOf(texts...))
				if err != nil {
					t.Error(err)
				}
				out <- p
			}()
			synctest.Wait()
			return out
		}
		a, b := submit(t.Context(), "1", "2"), submit(t.Context(), "3", "4")
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, d, e := submit(late, "5"), submit(t.Context(), "6", strings.Repeat("x", 200)), submit(t.Context(), "7")
		if len(a)+len(b) != 2 || len(c)+len(d)+len(e) != 0 {
			t.Fatal("want the first two admitted and the others waiting")
		}
		if n, bytes := box.Depth(); n != 4 || bytes != 4 {
			t.Errorf("got a depth of %d, %d", n, bytes)
		}
		if o, err := (<-c).Wait(late); !o.Full || o.Taken != 0 || err != nil {
			t.Errorf("who waited too long: %+v, %v", o, err)
		}
		r := start(t, spec.Accumulator{}, nil, newPort(0), box, Mark{})
		for name, p := range map[string]*Push{"a": <-a, "b": <-b, "d": <-d, "e": <-e} {
			if o, err := p.Wait(t.Context()); err != nil || o.Full || o.Taken == 0 {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
		}
		if n, bytes := box.Depth(); n != 0 || bytes != 0 {
			t.Errorf("got a depth of %d, %d at the end", n, bytes)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got, _, _ := r.port.seen()
		if s := fmt.Sprint(got); !strings.HasPrefix(s, "[1 2 3 4 6 ") && !strings.Contains(s, "7") {
			t.Errorf("got %s", s)
		}
		r.port.balance(t, 8)
		r.end(t)
	})
}

func TestMailboxClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(1, 0)
		answers := make(chan error, 2)
		for range 2 { // one is queued, one waits for room
			go func() {
				o, err := box.Push(t.Context(), eventsOf("1"))
				if o.Taken != 0 || o.Full {
					t.Errorf("got %+v", o)
				}
				answers <- err
			}()
			synctest.Wait()
		}
		box.Close()
		for range 2 {
			if err := <-answers; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if _, err := box.Push(t.Context(), eventsOf("1")); !errors.Is(err, ErrClosed) {
			t.Errorf("a push after Close: %v", err)
		}
		box.Close()
	})
}

// Without a Unit (between two restarts) a push waits, and is refused whole at its deadline.
func TestPushWithoutAUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(0, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o, err := box.Push(ctx, eventsOf("1", "2"))
		if !o.Full || o.Taken != 0 || err != nil {
			t.Errorf("got %+v, %v", o, err)
		}
		r := start(t, spec.Accumulator{}, nil, newPort(0), box, Mark{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.port.balance(t, 2) // counted by the Unit that came later
		r.end(t)
	})
}

// The list of refusals in an answer is bounded, the count is not.
func TestRejectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{}, nil, newPort(0), NewMailbox(0, 0), Mark{})
		texts := make([]string, 3*maxRejections)
		for i := range texts {
			texts[i] = "{"
		}
		o := <-r.push(t.Context(), texts...)
		if len(o.Rejected) != maxRejections || o.RejectedCount != len(texts) || o.Taken != len(texts) {
			t.Errorf("got %d listed, %d counted, %d taken", len(o.Rejected), o.RejectedCount, o.Taken)
		}
		r.end(t)
	})
}

// M4, M35, M42: many callers with and without deadlines, an input that is now full and now
// not, Units that come and go: each event is admitted exactly once or refused, per caller
// in order, and the books balance.
func TestMailboxUnderStress(t *testing.T) {
	const callers, rounds = 8, 40
	p, box := newPort(16), NewMailbox(64, 0)
	a := spec.Accumulator{Capacity: 32}
	stop := make(chan struct{})
	var helpers, pushers sync.WaitGroup
	var units int
	helpers.Go(func() { // Units, one after the other
		var m Mark
		for {
			units++
			r := start(t, a, nil, p, box, m)
			timer := time.NewTimer(3 * time.Millisecond)
			select {
			case <-timer.C:
			case <-stop:
			}
			timer.Stop()
			r.stop()
			if err := <-r.done; err != nil {
				t.Error(err)
			}
			_, m, _ = p.seen()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	helpers.Go(func() { // the reactor, by fits and starts
		for i := 0; ; i++ {
			timer := time.NewTimer(time.Duration(i%3) * 200 * time.Microsecond)
			select {
			case <-timer.C:
				p.consume(8)
			case <-stop:
				timer.Stop()
				return
			}
		}
	})
	taken := make([][]string, callers)
	var total, full [callers]int
	for c := range callers {
		pushers.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(c)))
			for round := range rounds {
				n := 1 + rnd.IntN(30)
				texts := make([]string, n)
				for i := range texts {
					texts[i] = fmt.Sprintf(`"%d-%d-%d"`, c, round, i)
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if rnd.IntN(2) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(3000))*time.Microsecond)
				}
				o, err := box.Push(ctx, eventsOf(texts...))
				cancel()
				if err != nil || o.Accepted != o.Taken || o.Full != (o.Taken < n) {
					t.Errorf("got %+v, %v for %d events", o, err, n)
				}
				if o.Full {
					full[c]++
				}
				taken[c] = append(taken[c], texts[:o.Taken]...)
				total[c] += n
			}
		})
	}
	pushers.Wait()
	close(stop)
	helpers.Wait()

	// A last Unit counts what was refused since the last mark.
	_, m, _ := p.seen()
	p.consume(-1)
	r := start(t, a, nil, p, box, m)
	if o, err := box.Push(t.Context(), eventsOf(`"x-last"`)); err != nil || o.Accepted != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
	r.stop()
	<-r.done
	box.Close()

	got, _, _ := p.seen()
	byCaller := map[byte][]string{}
	for _, v := range got {
		byCaller[v[1]] = append(byCaller[v[1]], v)
	}
	sum, refused := 1, 0
	for c := range callers {
		sum, refused = sum+total[c], refused+full[c]
		if g, w := strings.Join(byCaller[byte('0'+c)], " "), strings.Join(taken[c], " "); g != w {
			t.Errorf("caller %d: admitted and answered differ:\n%s\n%s", c, g, w)
		}
	}
	p.balance(t, int64(sum))
	if n, bytes := box.Depth(); n != 0 || bytes != 0 {
		t.Errorf("the mailbox is not empty: %d, %d", n, bytes)
	}
	if refused == 0 || units < 3 {
		t.Errorf("%d refusals and %d Units: the test has tried nothing", refused, units)
	}
}
