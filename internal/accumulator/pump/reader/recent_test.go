package reader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// ticker is a tape without an end of an event every so often.
type ticker struct {
	tape
	every time.Duration
	pad   int // how much longer each event is
	begin time.Time
}

func (s *ticker) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	s.rig.opened(from)
	out.Health(accumulator.Live, "")
	accumulator.CaughtUp(out, "s/1#x", false)
	accumulator.CaughtUp(out, "", true)
	for next := int64(0); ctx.Err() == nil; next++ {
		ev := event(next)
		if given(from, ev) {
			continue
		}
		if wait := time.Until(s.begin.Add(time.Duration(next) * s.every)); wait > 0 {
			time.Sleep(wait) // there is nothing more yet
		}
		ev.At, ev.Raw = time.Now(), append(ev.Raw, strings.Repeat(" ", s.pad)...)
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev)); err != nil {
			return err
		}
		if next == 40 {
			accumulator.CaughtUp(out, "s/1#x", true)
		}
	}
	return nil
}

// follows checks that a shard was given all behind two offsets once and in order, and how much.
func (r *rig) follows(what string, s *shard, even, odd int64) (n int) {
	r.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]int64{"0": even, "1": odd}
	for _, g := range s.given {
		var stream string
		var offset int64
		if _, err := fmt.Sscanf(g, "s/%1s#x@%d", &stream, &offset); err != nil {
			r.t.Fatal(err)
		}
		if next[stream]++; next[stream] != offset {
			r.t.Errorf("%s: was given %s, and offset %d was next", what, g, next[stream])
			return len(s.given)
		}
	}
	return len(s.given)
}

func (r *rig) begun() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.opens)
}

// M49, M52: a shard that comes is given what was read lately and goes on with the others; the source begins again only
// for one that was not given what is not kept any more. Each is given everything once.
func TestM52WhoComesIsGivenWhatWasReadLately(t *testing.T) {
	for name, c := range map[string]struct {
		others int // that take part from the beginning
		before time.Duration
		even   int64 // where it stands, of what is read every ten milliseconds
		odd    int64
		pad    int
		begins int // how often the source has begun
	}{
		"a moment behind":               {1, 2 * time.Second, 70, 80, 0, 1},
		"as far as they are":            {1, 2 * time.Second, 100, 100, 0, 1},
		"past one partition":            {2, 2 * time.Second, 300, 80, 0, 1},
		"past all":                      {1, 2 * time.Second, 300, 300, 0, 1},
		"from the beginning":            {1, 2 * time.Second, 0, 0, 0, 1},
		"nothing of one partition":      {1, 2 * time.Second, 0, 90, 0, 1},
		"before what is kept by time":   {1, 15 * time.Second, 240, 240, 0, 2},
		"kept by time":                  {1, 15 * time.Second, 255, 255, 0, 1},
		"before what there is room for": {1, 2 * time.Second, 50, 50, 60 << 10, 2},
		"there is room for":             {1, 2 * time.Second, 80, 80, 60 << 10, 1},
		"nobody more can come":          {shards, 2 * time.Second, 90, 90, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				r := newRig(t, 0, func(r *rig) accumulator.Source {
					return &ticker{tape{rig: r}, 10 * time.Millisecond, c.pad, begin}
				})
				var here []*shard
				for n := range c.others {
					here = append(here, r.enterAs(n))
				}
				time.Sleep(c.before)
				var from []boundary.Position
				if c.even > 0 {
					from = append(from, at(0, c.even))
				}
				if c.odd > 0 {
					from = append(from, at(1, c.odd))
				}
				comes := r.enterAs(shards-1, from...)
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if got := r.begun(); got != c.begins {
					t.Errorf("%s: the source has begun %d times, want %d", name, got, c.begins)
				}
				all := int((c.before + 3*time.Second) / (10 * time.Millisecond))
				for n, s := range here {
					if got := r.follows(fmt.Sprintf("%s: shard %d", name, n), s, 0, 0); got < all*9/10 {
						t.Errorf("%s: shard %d has %d of %d events", name, n, got, all)
					}
				}
				left := max(all/2-int(c.even), 0) + max(all/2-int(c.odd), 0)
				if got := r.follows(name, comes, c.even, c.odd); got < left*9/10 {
					t.Errorf("%s: who came has %d of %d events", name, got, left)
				}
				words, before := strings.Join(comes.told(), " "), ""
				comes.mu.Lock()
				before = strings.Join(comes.words[:comes.before], " ")
				comes.mu.Unlock()
				if c.begins == 1 && (words != "live s/1#xfalse s/1#xtrue true" ||
					before != "live s/1#xfalse" && left > 600) {
					t.Errorf("%s: who came was told %q, before it was given anything %q", name, words, before)
				}
				r.leave(append(here, comes)...)
			})
		})
	}
}

// M52: who comes to a source at rest is given what it missed at once.
func TestM52WhoComesToASourceAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		first := r.enter()
		settle()
		second := r.enterAs(1, at(0, 20), at(1, 10))
		settle()
		r.each("the first", first, 100)
		if got := r.follows("the second", second, 20, 10); got != 70 {
			t.Errorf("got %d events, want 70", got)
		}
		if got := r.begun(); got != 1 {
			t.Errorf("the source has begun %d times", got)
		}
	})
}

// M4, M52: who comes and has no room holds the others back, and leaves them free when it ends.
func TestM52WhoComesWithoutRoomAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, 0, func(r *rig) accumulator.Source {
			return &ticker{tape{rig: r}, 10 * time.Millisecond, 0, begin}
		})
		first := r.enter()
		time.Sleep(2 * time.Second)
		second, err := r.reader.Source(1)
		if err != nil {
			t.Fatal(err)
		}
		full := &shard{at: map[string]boundary.Position{}, room: 3, done: make(chan error, 1)}
		ctx, stop := context.WithCancel(t.Context())
		go func() { full.done <- second.Run(ctx, []boundary.Position{at(0, 50), at(1, 50)}, full) }()
		time.Sleep(2 * time.Second)
		if got := r.follows("who has room for three", full, 50, 50); got != 3 {
			t.Errorf("who has room for three was given %d", got)
		}
		stop()
		if err := full.wait(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := r.follows("the first", first, 0, 0); got < 380 {
			t.Errorf("the first was given %d events: it was held up for good", got)
		}
		if err := first.leave(); err != nil {
			t.Error(err)
		}
	})
}

// M52: what a shard misses while another process runs it is kept from its leaving on, and what came before is not.
func TestM52WhoLeavesAndComesAgain(t *testing.T) {
	for back, begins := range map[int64]int{0: 1, 10: 2} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			r := newRig(t, 0, func(r *rig) accumulator.Source {
				return &ticker{tape{rig: r}, 10 * time.Millisecond, 0, begin}
			})
			var all []*shard
			for n := range shards {
				all = append(all, r.enterAs(n))
			}
			time.Sleep(2 * time.Second)
			if err := all[0].leave(); err != nil {
				t.Fatal(err)
			}
			even, odd := all[0].at["s/0#x"].Offset-back, all[0].at["s/1#x"].Offset-back
			time.Sleep(time.Second)
			again := r.enterAs(0, at(0, even), at(1, odd))
			time.Sleep(time.Second)
			synctest.Wait()
			if got := r.begun(); got != begins {
				t.Errorf("%d back: the source has begun %d times, want %d", back, got, begins)
			}
			if got := r.follows("who comes again", again, even, odd); got < 180+2*int(back) {
				t.Errorf("%d back: who comes again has %d events", back, got)
			}
			r.leave(append(all[1:], again)...)
		})
	}
}

// M52: for who has come too late for what is kept, and is gone before the source begins again, it does not.
func TestM52WhoComesAndLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		r.enter(at(0, 30), at(1, 30))
		settle()
		second := r.enterAs(1, at(0, 20), at(1, 10))
		time.Sleep(5 * time.Millisecond)
		if err := second.leave(); err != nil {
			t.Error(err)
		}
		settle()
		if got := r.begun(); got != 1 {
			t.Errorf("the source has begun %d times", got)
		}
	})
}

// loser is a ticker that loses its data once, some time after it has begun.
type loser struct {
	ticker
	after int64
}

func (s *loser) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	first := s.rig.begun() == 0
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if first {
		time.AfterFunc(time.Duration(s.after)*s.every, stop)
	}
	err := s.ticker.Run(ctx, from, out)
	if first {
		return &accumulator.DataLost{Want: "here", Have: "there"}
	}
	return err
}

// M52: what the source has lost while one has come to the others is not told to all: each finds out for itself.
func TestM52WhoCameFindsOutAloneWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, 0, func(r *rig) accumulator.Source {
			return &loser{ticker{tape{rig: r}, 10 * time.Millisecond, 0, begin}, 300}
		})
		first := r.enterAs(0)
		time.Sleep(2 * time.Second)
		second := r.enterAs(1, at(0, 200), at(1, 200)) // past what is there yet
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := r.begun(); got != 3 {
			t.Errorf("the source has begun %d times, want once for both and once for each", got)
		}
		if a, b := r.follows("the first", first, 0, 0), r.follows("the second", second, 200, 200); a < 480 || b < 90 {
			t.Errorf("got %d and %d events", a, b)
		}
		if told := first.told(); !slices.Contains(told, "false") {
			t.Errorf("the first was told %q, and not that it is behind when it began to read for itself", told)
		}
		for _, s := range []*shard{first, second} {
			if err := s.leave(); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("told that %v", err)
			}
		}
	})
}

// pairs is a tape without an end that gives an event of each partition at once.
type pairs struct{ tape }

func (s *pairs) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	s.rig.opened(from)
	for next := int64(0); ctx.Err() == nil; next += 2 {
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 2), event(next), event(next+1))); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// M26, M52: who comes is told which streams are held back.
func TestM52WhoComesIsToldWhatIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(r *rig) accumulator.Source { return &pairs{tape{rig: r}} })
		r.waits = 100 * time.Millisecond
		first := r.enterAs(0)
		time.Sleep(1260 * time.Millisecond) // the second pair has come, and none of it is let in
		second := r.enterAs(1, at(0, 1), at(1, 1))
		time.Sleep(100 * time.Millisecond) // the first of it is
		synctest.Wait()
		if words := strings.Join(second.told(), " "); words != "s/0#x:1 s/1#x:1" {
			t.Errorf("told %q", words)
		}
		if got := r.begun(); got != 1 {
			t.Errorf("the source has begun %d times", got)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if words := strings.Join(second.told(), " "); words != "s/0#x:1 s/1#x:1 :0" {
			t.Errorf("told %q, and then all was let in", words)
		}
		r.leave(first, second)
	})
}
