package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/reactor"
)

// script is a run of the simulator's world step by step, as written.
type script struct{ *world }

// feed hands values of the source's first stream over: the first of them that is turned away is the second.
func (s script) feed() {
	if s.streams[0].next >= simEvents/2 {
		return
	}
	if err := s.own.ports[inA].Put(ended(), s.sourceBatch(s.streams, 0, 2)); err != nil {
		return // full: they are read again
	}
	s.streams[0].next += 2
}

// turn is one of the reactor in which a seal is due.
func (s script) turn() { s.pass(30 * time.Millisecond); s.own.turn() }

// soon is a turn of the reactor in which no seal is due.
func (s script) soon() { s.own.turn() }

// sealAsTheyRefuse takes a checkpoint as the reactor does, while the writers go on.
func (s script) sealAsTheyRefuse() {
	r := s.own.r
	for range 4 { // one at a time
		s.own.storeCall(checkpointtest.Pass)
		if err := r.collect(s.now); err != nil {
			s.wrong("the reactor ended: %v", err)
		}
	}
	if r.inflight != nil {
		s.wrong("a commit does not come back")
		return
	}
	delivered := r.delivered()
	r.drainRefused()
	r.inflight = &flight{Seal: r.Core.Seal(s.now), delivered: delivered}
	s.own.deliver(directA, goesThrough)
	r.launch()
}

// resend sends all letters of the direct output again.
func (s script) resend() {
	r, letters := s.own.r, s.letters()
	r.commands <- command{caller: context.Background(), run: func(now time.Time) {
		for i := range letters {
			l := &letters[i]
			if l.Output != s.cfg.Outputs[directA] || r.mayResend(&Resent{Letter: l, To: directA}, 0) != nil {
				continue
			}
			seq, err := r.Core.Resend(now, directA, l, func(_, _ string) {})
			if err != nil {
				s.wrong("resend: %v", err)
				return
			}
			r.resent = append(r.resent, resent{letter: l.ID, to: directA, seq: seq})
		}
	}}
}

// M5, M28, M29: a value of the direct path that its sink has refused is in a commit until its letter is, at
// whichever moment it is refused and the process ends then; so is one that is sent again from its letter.
func TestM5RefusedValueOutlivesACrash(t *testing.T) {
	passes := func(s script) { s.own.storeCall(checkpointtest.Pass) }
	fails := func(s script) { s.own.storeCall(checkpointtest.Fail) }
	steps := []func(s script){
		// In a journaled graph values are with the writer, the seal waits for what is logged, and they are refused.
		script.turn, passes, script.turn, script.feed, script.soon, passes, script.soon,
		script.feed, script.turn, script.soon, passes, script.turn, passes, script.turn,
		// With checkpoints alone that is a moment.
		script.feed, script.soon, script.sealAsTheyRefuse, fails, script.turn, script.turn, passes, script.turn,
		script.feed, script.soon, script.sealAsTheyRefuse, passes, script.turn, passes, script.turn,
		// And again, of what is sent again.
		script.resend, script.soon, passes, script.soon, script.feed, script.turn, passes, script.turn, passes,
		script.turn, script.resend, script.soon, script.sealAsTheyRefuse, passes, script.turn, passes, script.turn,
	}
	cfgs := simConfigs(t)
	for _, cfg := range []int{0, 2} { // with checkpoints alone, and with a journal
		if problem := crashEverywhere(t, cfgs[cfg], steps); problem != "" {
			t.Errorf("journal %v: %s", cfgs[cfg].Journal, problem)
		}
	}
}

// crashEverywhere delivers from each step on, and kills after each: the first thing that goes wrong.
func crashEverywhere(t *testing.T, cfg reactor.Config, steps []func(s script)) string {
	for refusal := range steps {
		for crash := refusal; crash < min(len(steps), refusal+7); crash++ { // by then what is refused has its letter
			s := script{newWorld(t, cfg, 1, noBug)}
			for i := range crash + 1 {
				steps[i](s)
				if i >= refusal {
					s.own.deliver(directA, goesThrough)
				}
			}
			s.crash()
			s.heal()
			if s.problem != "" {
				return fmt.Sprintf("refused from step %d on, killed after step %d: %s", refusal, crash, s.problem)
			}
		}
	}
	return ""
}
