package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// manyAtOnce is a sink to which several messages go at once; each takes as long as it likes, and some fail.
type manyAtOnce struct {
	most  int
	took  func(m *sink.Message) time.Duration
	fails func(m *sink.Message) error

	mu       sync.Mutex
	out      int
	greatest int
	lanes    map[boundary.Key]bool // that have one out
	got      []sink.Message
	faults   []string
	closed   bool
}

func (s *manyAtOnce) Deliver(ctx context.Context, batch []sink.Message) error {
	m := &batch[0]
	s.mu.Lock()
	if len(batch) != 1 || s.lanes[m.Key] {
		s.faults = append(s.faults, fmt.Sprintf("%d messages at once, or two of %s", len(batch), m.Key))
	}
	s.out++
	s.greatest = max(s.greatest, s.out)
	s.lanes[m.Key] = true
	wait := s.took(m)
	s.mu.Unlock()
	var err error
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out--
	delete(s.lanes, m.Key)
	if err == nil {
		err = s.fails(m)
	}
	if err == nil {
		s.got = append(s.got, *m)
	}
	return err
}

func (s *manyAtOnce) DeliversSingly()             {}
func (s *manyAtOnce) Concurrency() int            { return s.most }
func (s *manyAtOnce) AtOnce() int                 { return s.most }
func (s *manyAtOnce) Lane(m *sink.Message) string { return string(m.Key) }
func (s *manyAtOnce) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// told is how many it has, how many it had at once, and whether it is closed.
func (s *manyAtOnce) told() (got, greatest int, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got), s.greatest, s.closed
}

func newManyAtOnce(most int) *manyAtOnce {
	return &manyAtOnce{
		most: most, lanes: map[boundary.Key]bool{},
		took:  func(*sink.Message) time.Duration { return time.Millisecond },
		fails: func(*sink.Message) error { return nil },
	}
}

// written are messages of so many keys, of which the store has all.
type written []sink.Message

func messages(n, keys int64) (list written) {
	for seq := int64(1); seq <= n; seq++ {
		list = append(list, sink.Message{Output: "out", Seq: seq, Epoch: seq, Value: boundary.Int(seq),
			Key: boundary.Key(fmt.Sprint(seq * 7 % keys))})
	}
	return list
}

func (l written) read(_ context.Context, after int64) ([]sink.Message, error) {
	return l[after:min(after+100, int64(len(l)))], nil
}

// runs runs a writer until the test ends or stop is called.
func runs(t *testing.T, w *Writer) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return sync.OnceValue(func() error { cancel(); return <-ended })
}

// M30: whatever a sink answers in which order, each key's values are in order, each comes once or is a letter, no more
// are out than may be, and what counts as through has nothing before it that is not.
func TestM30SeveralAtOnce(t *testing.T) {
	for seed := range uint64(60) {
		for _, outbox := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { severalAtOnce(t, seed, outbox) })
		}
	}
}

func severalAtOnce(t *testing.T, seed uint64, outbox bool) {
	// The first is the sink's from here on.
	rnd, pace := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	all := messages(400, 1+rnd.Int64N(40))
	to := newManyAtOnce(2 + rnd.IntN(20))
	to.took = func(*sink.Message) time.Duration { return time.Duration(rnd.IntN(40)) * time.Millisecond }
	to.fails = func(*sink.Message) error {
		switch rnd.IntN(20) {
		case 0:
			return &sink.PermanentError{Code: "http_404", Err: errors.New("refused")}
		case 1:
			return &sink.RetryError{After: time.Duration(rnd.IntN(300)) * time.Millisecond, Err: errors.New("busy")}
		case 2:
			panic("it does not know what to do")
		}
		return nil
	}
	letters := map[int64]bool{}
	cfg := Config{Output: "out", Sink: to, Retry: RetryPolicy{Attempts: 3},
		DeadLetter: func(_ context.Context, m *sink.Message, _, _ string) error {
			to.mu.Lock()
			defer to.mu.Unlock()
			letters[m.Seq] = true
			return nil
		}}
	if outbox {
		cfg.Outbox = &Outbox{Read: all.read, Committed: 150}
	} else {
		cfg.Carried = all[:150]
	}
	w := NewWriter(cfg)
	stop := runs(t, w)
	defer stop()
	for at := int64(150); at < 400; at += 50 {
		w.Put(all[at : at+50])
		for range 5 {
			time.Sleep(time.Duration(pace.IntN(200)) * time.Millisecond)
			synctest.Wait() // what is due at this instant has happened
			to.mu.Lock()
			through, have := w.Delivered(), map[int64]bool{}
			for _, m := range to.got {
				have[m.Seq] = true
			}
			for seq := int64(1); seq <= through; seq++ {
				if !have[seq] && !letters[seq] {
					t.Errorf("seed %d: %d counts as through, and %d is not", seed, through, seq)
				}
			}
			to.mu.Unlock()
			if !outbox && len(w.Undelivered(0, at+50)) != int(at+50-through) {
				t.Errorf("seed %d: %d of %d are not through, and %d are carried over", seed, at+50-through, at+50,
					len(w.Undelivered(0, at+50)))
			}
		}
	}
	w.CloseWhenEmpty()
	time.Sleep(time.Hour)
	_ = stop()
	if s := w.Status(); s.Pending != 0 || w.Delivered() != 400 || !to.closed || len(to.got)+len(letters) != 400 {
		t.Errorf("seed %d: %+v, %d through, %d delivered and %d refused, closed: %v", seed, s, w.Delivered(),
			len(to.got), len(letters), to.closed)
	}
	last := map[boundary.Key]int64{}
	for _, m := range to.got {
		if last[m.Key] >= m.Seq {
			t.Errorf("seed %d: of %s came %d after %d", seed, m.Key, m.Seq, last[m.Key])
		}
		last[m.Key] = m.Seq
	}
	if to.greatest > to.most || len(to.faults) > 0 {
		t.Errorf("seed %d: %d at once of %d; %v", seed, to.greatest, to.most, to.faults)
	}
}

// M30: what is not taken holds up its own key and one place; the others go on, and only so far ahead.
func TestM30OneKeyHoldsUpItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := messages(30_000, 1000)
		to := newManyAtOnce(8)
		to.fails = func(m *sink.Message) error {
			if m.Seq == 5 {
				return &sink.PermanentError{Code: "http_400", Err: errors.New("never")}
			}
			return nil
		}
		w := NewWriter(Config{Output: "out", Sink: to, Block: true, Outbox: &Outbox{Read: all.read, Committed: 30_000},
			DeadLetter: func(context.Context, *sink.Message, string, string) error { return nil }})
		stop := runs(t, w)
		defer stop()
		time.Sleep(time.Hour)
		s := w.Status()
		if n, atOnce, _ := to.told(); n < Capacity/2 || n > 2*Capacity || w.Delivered() != 4 || s.Trouble == "" ||
			s.Pending != 30_000-4 || atOnce != 8 {
			t.Errorf("%d were delivered, %d count as through, %d at once: %+v", n, w.Delivered(), atOnce, s)
		}
		to.mu.Lock()
		to.fails = func(*sink.Message) error { return nil }
		to.mu.Unlock()
		time.Sleep(time.Hour)
		if n, _, _ := to.told(); w.Status().Pending != 0 || n != 30_000 || w.Status().Trouble != "" {
			t.Errorf("in the end %d were delivered: %+v", n, w.Status())
		}
	})
}

// M38: a stopped output begins nothing more, and what is out is finished; a writer that is to end leaves the rest.
func TestM38SeveralAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := messages(100, 100)
		to := newManyAtOnce(4)
		to.took = func(*sink.Message) time.Duration { return time.Second }
		w := NewWriter(Config{Output: "out", Sink: to, Outbox: &Outbox{Read: all.read, Committed: 100}})
		stop := runs(t, w)
		defer stop()
		time.Sleep(100 * time.Millisecond)
		w.Stop()
		time.Sleep(time.Minute)
		if n, _, _ := to.told(); n != 4 || w.Delivered() != 4 {
			t.Errorf("%d were delivered when it was stopped, want the 4 that were out", n)
		}
		w.Start()
		time.Sleep(500 * time.Millisecond)
		w.Stop()
		w.CloseWhenEmpty()
		time.Sleep(time.Minute)
		if n, _, closed := to.told(); n != 8 || w.Delivered() != 8 || !closed {
			t.Errorf("%d were delivered in the end, closed: %v; want 8 and closed", n, closed)
		}
	})
}

// M52: a writer whose outbox another daemon goes on with finishes what is out, and begins nothing more.
func TestM52SeveralAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := messages(100, 100)
		to := newManyAtOnce(4)
		to.took = func(*sink.Message) time.Duration { return time.Second }
		w := NewWriter(Config{Output: "out", Sink: to, Outbox: &Outbox{Read: all.read, Committed: 100}})
		stop := runs(t, w)
		defer stop()
		time.Sleep(100 * time.Millisecond)
		w.Leave()
		time.Sleep(time.Minute)
		if n, _, closed := to.told(); n != 4 || w.Delivered() != 4 || !closed {
			t.Errorf("%d were delivered, closed: %v; want the 4 that were out, and closed", n, closed)
		}
	})
}

// M38: who ends while values are out waits for them, and those that were taken all the same are through.
func TestM38SeveralAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := messages(100, 100)
		to := newManyAtOnce(4)
		to.took = func(*sink.Message) time.Duration { return 0 }
		block := make(chan struct{})
		deaf := &deafSink{manyAtOnce: to, goOn: block}
		w := NewWriter(Config{Output: "out", Sink: deaf, Outbox: &Outbox{Read: all.read, Committed: 100}})
		stop := runs(t, w)
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- stop() }()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("it ended while values were out")
		default:
		}
		close(block)
		if err := <-ended; err != nil || w.Delivered() != 4 || w.Status().Retries != 0 {
			t.Errorf("%v; %d through, want the 4 that were out: %+v", err, w.Delivered(), w.Status())
		}
	})
}

// deafSink does not hear that it is to end.
type deafSink struct {
	*manyAtOnce
	goOn chan struct{}
}

func (s *deafSink) Deliver(_ context.Context, batch []sink.Message) error {
	<-s.goOn
	return s.manyAtOnce.Deliver(context.Background(), batch)
}

// M45: a writer whose graph is another daemon's delivers nothing.
func TestM45SeveralOfTheDisowned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, to := messages(100, 100), newManyAtOnce(4)
		w := NewWriter(Config{Output: "out", Sink: to, Owned: func() bool { return false },
			Outbox: &Outbox{Read: all.read, Committed: 100}})
		stop := runs(t, w)
		defer stop()
		time.Sleep(time.Minute)
		if n, _, _ := to.told(); n != 0 || w.Status().Trouble == "" {
			t.Errorf("%d were delivered: %+v", n, w.Status())
		}
	})
}
