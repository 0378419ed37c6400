package live

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

const twoInputs = oneInput + "  b: { strategy: sequential }\n"

// joined starts a reactor that waits for both of two inputs, each with room for five.
func joined(t *testing.T, criteria string, change func(*reactor.Config)) *shell {
	s := newShell(t, func(cfg *reactor.Config, o *bedding) {
		before := *cfg
		*cfg = testConfig(t, graphOf(twoInputs, criteria, "nodes:\n  n: { expr: '[a ?? nil, b ?? nil]' }\n"))
		cfg.ID, cfg.Incarnation, cfg.Fence = before.ID, before.Incarnation, before.Fence
		if change != nil {
			change(cfg)
		}
		lane := reactor.Lane{Sequential: true, Keyed: cfg.Keys != nil, Capacity: 5, MaxBytes: 1 << 20}
		o.Inbox = NewInbox([]reactor.Lane{lane, lane})
		o.Writers = nil
	})
	s.port = append(s.port, s.Inbox.Port(1))
	s.port[1].Health(accumulator.Live, "", "")
	synctest.Wait()
	return s
}

// offer hands over one event that may have to wait for room; done is closed when it has it.
func (s *shell) offer(input int, n int64) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		if err := s.port[input].Put(s.t.Context(), handoff(n, 1, n)); err != nil && s.t.Context().Err() == nil {
			s.t.Error(err)
		}
	}()
	synctest.Wait()
	return done
}

// M4, M10: an input that is full while its counterpart has nothing says so after a while, who is
// waited for and since when, and no more once an epoch has run.
func TestM4FullInputSaysWhoIsWaitedFor(t *testing.T) {
	for criteria, want := range map[string]string{
		"{ when: all }":                   "until b has something: when: all",
		"{ when: all, max_wait: 1h }":     "until b has something: when: all",
		"{ when: any, guard: a + b > 0 }": "until b has something: the guard waits",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := joined(t, criteria, nil)
			defer func() { _ = s.end() }()
			began := time.Now()
			for n := range int64(5) {
				<-s.offer(0, n+1)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if v := s.View(); v.Health != reactor.HealthLive || v.Code != "" {
				t.Fatalf("%s: with room for nobody else it is %s %s", criteria, v.Health, v.Code)
			}
			waits := s.offer(0, 6)
			time.Sleep(fullFor - time.Millisecond)
			synctest.Wait()
			if v := s.View(); v.Health != reactor.HealthLive {
				t.Fatalf("%s: at once it is %s %s", criteria, v.Health, v.Code)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			v := s.View()
			since := "a is full (the first waits since " + began.UTC().Format(time.RFC3339)
			if v.Health != reactor.HealthDegraded || v.Code != "input_full" || !strings.Contains(v.Detail, since) ||
				!strings.Contains(v.Detail, want) {
				t.Fatalf("%s: got %s %s %q, want %q and %q", criteria, v.Health, v.Code, v.Detail, since, want)
			}
			<-s.offer(1, 1)
			<-waits
			synctest.Wait()
			if v := s.View(); v.Health != reactor.HealthLive || v.Code != "" || v.Epoch == 0 {
				t.Fatalf("%s: in the end it is %s %s after epoch %d", criteria, v.Health, v.Code, v.Epoch)
			}
		})
	}
}

// M4: an input that has refused a push is full although whoever pushed has given up, and its books were handed over.
func TestM4FullInputIsToldWhenPushesGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := joined(t, "{ when: all }", nil)
		defer func() { _ = s.end() }()
		for n := range int64(5) {
			<-s.offer(0, n+1)
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), fullFor/2)
			if err := s.port[0].Put(ctx, handoff(6, 1, 6)); err == nil {
				t.Fatal("there was room")
			}
			cancel()
			if err := s.port[0].Put(t.Context(), &accumulator.Handoff{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if v := s.View(); v.Code != "input_full" || !strings.Contains(v.Detail, "until b has something") {
			t.Fatalf("%s %s", v.Code, v.Detail)
		}
		<-s.offer(1, 1)
		synctest.Wait()
		if v := s.View(); v.Health != reactor.HealthLive || v.Code != "" {
			t.Fatalf("in the end it is %s %s", v.Health, v.Code)
		}
	})
}

// M4, M13: keys that wait for their counterpart fill no input, paused or not; what may fire and is
// not fired does.
func TestM13WaitingKeysFillNoInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := joined(t, "{ when: all }", keyed)
		defer func() { _ = s.end() }()
		for _, pause := range []bool{false, true} {
			if pause {
				if err := s.Pause(t.Context(), "somebody"); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 100 {
				<-s.offerKey(t.Context(), 0, int64(n))
			}
		}
		done := 0
		for n := range int64(10) { // the other halves, while it is paused
			d := s.offerKey(t.Context(), 1, n)
			select {
			case <-d:
				done++
			default:
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v := s.View(); done != 5 || v.Code == "input_full" || v.Inputs[0].Own.Boundaries != 200 {
			t.Fatalf("%d were taken in while it is paused, %s, %+v", done, v.Code, v.Inputs[0])
		}
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v := s.View(); v.Epoch != 10 || v.Inputs[0].Own.Boundaries != 190 || v.Inputs[1].Depth != 0 {
			t.Fatalf("after the pause epoch %d, %+v", v.Epoch, v.Inputs)
		}
	})
}

// offerKey is offer for an event of a key.
func (s *shell) offerKey(ctx context.Context, input int, key int64) (done chan struct{}) {
	done = make(chan struct{})
	h := handoff(key+1, 1, key)
	h.Boundaries[0].Key = boundary.KeyOf(boundary.Int(key))
	go func() {
		defer close(done)
		if err := s.port[input].Put(ctx, h); err != nil && ctx.Err() == nil {
			s.t.Error(err)
		}
	}()
	synctest.Wait()
	return done
}
