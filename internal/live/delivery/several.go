package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/graphd/graphd/internal/sink"
)

// several delivers up to most messages of an output at once, and those of one lane one after the other. A message keeps
// its place until it is through, also while it waits to be tried again: a sink that is away is not asked by more than
// that, and what hangs holds up its own lane and one place.
//
// All of it is for the goroutine of Run; what runs beside that are single tries, which tell it by ended.
//
// What counts as through is what has nothing before it that is not: a message that has overtaken another is delivered
// again after a crash, and none is lost. So the window is bounded, and with it what is delivered again.
type several struct {
	w     *Writer
	to    sink.Concurrent
	most  int // just now
	tries sync.WaitGroup
	ended chan *passage // room for all tries that may run, so that none waits

	window  []*passage            // from the first that is not through, in order
	ready   []*passage            // those of the window that may begin, in order
	behind  map[string][]*passage // by lane that has one in ready or under way, those behind it
	again   []*passage            // to be tried again, at most most
	calling int                   // tries that run
	last    int64                 // the last that was taken into the window
	passed  []sink.Message        // room
	readAt  time.Time             // not before is the store read again
	pause   *backoff.ExponentialBackOff
}

// passage is a message on its way through the window.
type passage struct {
	m       [1]sink.Message
	lane    string
	through bool
	tries   int       // that have failed
	at      time.Time // when it is to be tried again
	pause   *backoff.ExponentialBackOff

	// Of the last try.
	began, ended time.Time
	err          error
}

// newSeveral is how to deliver to a sink that takes several at once; nil where it takes one.
func newSeveral(w *Writer) *several {
	to, ok := w.cfg.Sink.(sink.Concurrent)
	if !ok || to.Concurrency() <= 1 {
		return nil
	}
	return &several{
		w: w, to: to, ended: make(chan *passage, to.Concurrency()),
		behind: map[string][]*passage{}, pause: w.cfg.Retry.backOff(),
	}
}

// run delivers until nothing is left and nothing comes, or ctx is done.
func (s *several) run(ctx context.Context) {
	defer s.join(ctx)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []sink.Message
	for ctx.Err() == nil && s.w.open.Err() == nil && !s.w.leaves() {
		s.most = min(s.to.AtOnce(), cap(s.ended))
		stopped := s.w.stoppedBy()
		closing := false
		if stopped == nil {
			batch, closing = s.fill(ctx, batch)
			s.begin(ctx)
		} else if s.calling == 0 && s.w.closes() {
			s.w.GiveUp()
			return
		}
		if closing && len(s.window) == 0 {
			return
		}
		timer.Reset(s.sleep(stopped != nil))
		select {
		case p := <-s.ended:
			if !s.settle(ctx, p) {
				return
			}
		case <-timer.C:
		case <-s.w.wake:
		case <-stopped:
		case <-ctx.Done():
		}
	}
}

// join waits for the tries that run: what they have delivered is through.
func (s *several) join(ctx context.Context) {
	s.tries.Wait()
	for range len(s.ended) {
		s.settle(ctx, <-s.ended)
	}
}

// fill takes more into the window while there are places for more. closing says that nothing else comes.
func (s *several) fill(ctx context.Context, room []sink.Message) (batch []sink.Message, closing bool) {
	if len(s.ready) >= s.most-s.under() || len(s.window) >= Capacity || time.Now().Before(s.readAt) {
		return room, false
	}
	batch, closing, err := s.w.Next(ctx, room)
	if err != nil {
		s.w.fails(err)
		s.readAt = time.Now().Add(s.pause.NextBackOff())
		return batch, false
	}
	s.pause.Reset()
	for i := range batch {
		s.last = batch[i].Seq
		p := &passage{m: [1]sink.Message{batch[i]}, lane: s.to.Lane(&batch[i])}
		s.window = append(s.window, p)
		if waits, busy := s.behind[p.lane]; busy {
			s.behind[p.lane] = append(waits, p)
			continue
		}
		s.behind[p.lane] = nil
		s.ready = append(s.ready, p)
	}
	s.oldest()
	return batch, closing && len(batch) == 0
}

// under is how many messages have a place.
func (s *several) under() int { return s.calling + len(s.again) }

// begin tries what may be tried.
func (s *several) begin(ctx context.Context) {
	now := time.Now()
	s.again = slices.DeleteFunc(s.again, func(p *passage) bool {
		due := !p.at.After(now)
		if due {
			s.try(ctx, p)
		}
		return due
	})
	for len(s.ready) > 0 && s.under() < s.most {
		p := s.ready[0]
		s.ready[0] = nil
		s.ready = s.ready[1:]
		s.try(ctx, p)
	}
}

func (s *several) try(ctx context.Context, p *passage) {
	s.calling++
	s.tries.Go(func() {
		p.began = time.Now()
		p.err = s.w.once(ctx, p.m[:])
		p.ended = time.Now()
		s.ended <- p
	})
}

// settle takes in the outcome of a try; it is false when a dead letter is taken by nobody.
func (s *several) settle(ctx context.Context, p *passage) bool {
	s.calling--
	w, m := s.w, &p.m[0]
	if !errors.Is(p.err, errDisowned) {
		w.tried(p.m[:], p.began, p.ended, p.err)
	}
	if p.err == nil {
		w.time(p.m[:], p.ended)
		w.settled(p.m[:], p.ended, "")
		m.Settle("", "")
		s.pass(p)
		// One that is not taken is no less trouble because others are.
		if len(s.window) == 0 || s.window[0].tries == 0 {
			w.trouble.Ends()
		}
		return true
	}
	if ctx.Err() != nil {
		return true
	}
	_, refused, after := w.judge(p.err, 1)
	p.tries++
	code := w.refusal(refused, p.tries)
	if code == "" || !w.letters(m) {
		if p.pause == nil {
			p.pause = w.cfg.Retry.backOff()
		}
		w.fails(p.err)
		p.at = time.Now().Add(max(p.pause.NextBackOff(), after))
		s.again = append(s.again, p)
		return true
	}
	if w.cfg.DeadLetter(ctx, m, code, p.err.Error()) != nil {
		return false
	}
	w.trouble.Refuses(p.err)
	w.settled(p.m[:], time.Now(), code)
	s.pass(p)
	return true
}

// pass notes that a message is through: the next of its lane may begin, and what was behind it in the window counts as
// through where nothing before it is left.
func (s *several) pass(p *passage) {
	p.through = true
	if waits := s.behind[p.lane]; len(waits) == 0 {
		delete(s.behind, p.lane)
	} else {
		next := waits[0]
		waits[0] = nil
		s.behind[p.lane] = waits[1:]
		// The oldest first, so that no lane falls back behind others.
		at, _ := slices.BinarySearchFunc(s.ready, next.m[0].Seq, func(r *passage, seq int64) int {
			return int(min(max(r.m[0].Seq-seq, -1), 1))
		})
		s.ready = slices.Insert(s.ready, at, next)
	}
	n := 0
	for n < len(s.window) && s.window[n].through {
		s.passed = append(s.passed, s.window[n].m[0])
		s.window[n] = nil
		n++
	}
	if n == 0 {
		return
	}
	s.window = s.window[n:]
	s.w.done(s.passed)
	s.w.forget()
	clear(s.passed)
	s.passed = s.passed[:0]
	s.oldest()
}

// oldest notes since when the first waits that is not through.
func (s *several) oldest() {
	if len(s.window) > 0 {
		s.w.oldest.Store(emitted(&s.window[0].m[0]).UnixNano())
	}
}

// sleep is how long nothing is due.
func (s *several) sleep(stopped bool) time.Duration {
	if stopped {
		return time.Hour
	}
	until, now := time.Hour, time.Now()
	for _, p := range s.again {
		until = min(until, p.at.Sub(now))
	}
	if s.readAt.After(now) {
		until = min(until, s.readAt.Sub(now))
	}
	return max(until, 0)
}
