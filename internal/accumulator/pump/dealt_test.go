package pump_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
)

const dealt = `graph: g
accumulators:
  a: { where: event.n != 99 }
  everyone: { global: true }
reactor: { key: k, shards: 3, strategy: sequential }
nodes: { n: { expr: a.n } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// shardPort is the reactor of one shard; it takes nothing while it is shut.
type shardPort struct {
	mu     sync.Mutex
	shut   bool
	keys   []string
	mark   accumulator.Mark
	letter int
}

func (p *shardPort) Put(ctx context.Context, h *accumulator.Handoff) error {
	p.mu.Lock()
	shut := p.shut && len(h.Boundaries) > 0
	if !shut {
		for i := range h.Boundaries {
			p.keys = append(p.keys, string(h.Boundaries[i].Key))
		}
		p.mark = h.Mark
		p.letter += len(h.DeadLetters)
	}
	p.mu.Unlock()
	if shut {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (p *shardPort) Health(accumulator.Health, string, string) {}

// shardRig is an input of three shards, each with a unit of its own.
type shardRig struct {
	ports []*shardPort
	boxes []*pump.Mailbox
	deal  *pump.Deal
	all   *pump.Deal // the same where every shard hears of all events
}

func newShardRig(t *testing.T, input int, sources func() accumulator.Source) *shardRig {
	t.Helper()
	return newShardRigOf(t, dealt, input, sources)
}

func newShardRigOf(t *testing.T, declaration string, input int, sources func() accumulator.Source) *shardRig {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(declaration), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	r := &shardRig{}
	ctx, stop := context.WithCancel(t.Context())
	var units sync.WaitGroup
	for n := range 3 {
		port, box := &shardPort{}, pump.NewMailbox(0, 0)
		cfg := pump.Config{Name: "a", Core: accumulator.NewCore(u.Programs[input], accumulator.Limits{}), Mailbox: box,
			Port: port, Share: &pump.Share{Shard: n, Of: 3, Dealer: u.Dealer(input)}, MarkEvery: time.Millisecond}
		if sources != nil {
			cfg.Source = sources()
		}
		units.Go(func() { _ = pump.New(cfg).Run(ctx) })
		r.ports, r.boxes = append(r.ports, port), append(r.boxes, box)
	}
	r.deal, r.all = pump.NewDeal(r.boxes, u.Dealer(input), false), pump.NewDeal(r.boxes, u.Dealer(input), true)
	t.Cleanup(func() { stop(); units.Wait() })
	return r
}

// received is what the shards have counted.
func (r *shardRig) received() (each []int64, sum accumulator.Counters) {
	for _, p := range r.ports {
		p.mu.Lock()
		c := p.mark.Counters
		p.mu.Unlock()
		each = append(each, c.Received)
		sum.Received += c.Received
		sum.Filtered += c.Filtered
		sum.Rejected += c.Rejected
		sum.DeadLettered += c.DeadLettered
	}
	return each, sum
}

func keyed(n int) boundary.Event {
	return boundary.Event{Raw: fmt.Appendf(nil, `{"k":%d,"n":%d}`, n, n)}
}

func shardOf(n int) int { return boundary.KeyOf(boundary.Int(int64(n))).Shard(3) }

// M48, M5: a push is dealt by key and answered as one: each event is received by one shard, and what is refused is
// named by its place in the push.
func TestM48APushIsDealtAndAnsweredAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShardRig(t, 0, nil)
		var events []boundary.Event
		for n := range 60 {
			events = append(events, keyed(n))
		}
		events[7].Raw, events[31].Raw = []byte(`{`), []byte(`{"n":1}`)
		events[20].Raw = []byte(`{"k":20,"n":99}`)
		out, err := r.deal.Push(t.Context(), events)
		if err != nil || out.Full || out.Taken != 60 || out.Accepted != 58 || out.Filtered != 1 ||
			out.RejectedCount != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		if out.Rejected[0].Index != 7 || out.Rejected[1].Index != 31 {
			t.Errorf("refused: %+v", out.Rejected)
		}
		if _, sum := r.received(); sum.Received != 60 || sum.Filtered != 1 || sum.Rejected != 2 {
			t.Errorf("the books of all: %+v", sum)
		}
		for n, p := range r.ports {
			if len(p.keys) == 0 {
				t.Error("the test is void: a shard has nothing")
			}
			for _, k := range p.keys {
				if boundary.Key(k).Shard(3) != n {
					t.Errorf("shard %d has key %s", n, k)
				}
			}
		}
	})
}

// M48: where one shard has no room, nothing after the accepted ones was taken by any, what is before them and was not
// taken is named, and nothing is counted twice: who pushes the rest and what is named again has it taken once.
func TestM48AFullShardRefusesWhatIsItsOwn(t *testing.T) {
	for _, byEvents := range []bool{false, true} {
		fullShard(t, byEvents)
	}
}

func fullShard(t *testing.T, byEvents bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newShardRig(t, 0, nil)
		if byEvents {
			r.deal = r.all
		}
		full := shardOf(3)
		r.ports[full].shut = true
		var events []boundary.Event
		for n := range 40 {
			events = append(events, keyed(n))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := r.deal.Push(ctx, slices.Clone(events))
		if err != nil || !out.Full {
			t.Fatalf("%+v, %v", out, err)
		}
		last, own := 0, 0
		for n := range 40 {
			if shardOf(n) != full {
				last = n
			}
		}
		for n := range last {
			if shardOf(n) == full {
				if out.Rejected[own].Index != n || out.Rejected[own].Code != pump.QueueFull {
					t.Fatalf("refused: %+v, want %d", out.Rejected[own], n)
				}
				own++
			}
		}
		if out.Taken != last+1 || len(out.Rejected) != own || out.RejectedCount != own ||
			out.Accepted != out.Taken-own {
			t.Fatalf("%+v, want %d taken and %d refused", out, last+1, own)
		}
		time.Sleep(time.Second) // the marks of what was refused come by themselves
		synctest.Wait()
		if _, sum := r.received(); sum.Received != 40 || sum.Rejected != int64(40-out.Accepted) {
			t.Errorf("the books of all: %+v", sum)
		}
		r.ports[full].shut = false
		again := events[out.Taken:]
		for _, refused := range out.Rejected {
			again = append(again, events[refused.Index])
		}
		if out, err = r.deal.Push(t.Context(), again); err != nil || out.Full || out.Accepted != len(again) {
			t.Fatalf("again: %+v, %v", out, err)
		}
		var keys []string
		for _, p := range r.ports {
			keys = append(keys, p.keys...)
		}
		slices.Sort(keys)
		if n := len(keys); n != 40 || len(slices.Compact(keys)) != 40 {
			t.Errorf("%d events were taken in", n)
		}
	})
}

// What is for all keys reaches every shard, and is answered once.
func TestM48WhatAllKeysShareReachesEveryShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShardRig(t, 1, nil)
		out, err := r.deal.Push(t.Context(), []boundary.Event{keyed(1), {Raw: []byte(`{`)}, keyed(2)})
		if err != nil || out.Accepted != 2 || out.RejectedCount != 1 || out.Rejected[0].Index != 1 || out.Taken != 3 {
			t.Fatalf("%+v, %v", out, err)
		}
		if each, _ := r.received(); !slices.Equal(each, []int64{3, 3, 3}) {
			t.Errorf("received %d", each)
		}
	})
}

// M48, M53: what is for all keys is not told to be taken as long as some shard has not taken it: one that is about to
// move to another daemon, or that had no room in time. Pushed again it reaches that one too.
func TestM48WhatOneShardLacksIsNotTaken(t *testing.T) {
	for code, lacking := range map[string]func(r *shardRig) (undo func()){
		"owner_moved": func(r *shardRig) func() { r.boxes[1].Shut(); return r.boxes[1].Open },
		pump.QueueFull: func(r *shardRig) func() {
			r.ports[1].shut = true
			return func() { r.ports[1].shut = false }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newShardRig(t, 1, nil)
			undo := lacking(r)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			out, _ := r.deal.Push(ctx, []boundary.Event{keyed(1), keyed(2)})
			if !out.Full || out.Accepted != 0 || out.Taken != 2 || len(out.Rejected) != 2 ||
				out.Rejected[1].Code != code || out.RejectedCount != 2 {
				t.Errorf("%s: %+v", code, out)
			}
			undo()
			out, err := r.deal.Push(t.Context(), []boundary.Event{keyed(1), keyed(2)})
			if err != nil || out.Full || out.Accepted != 2 || out.Taken != 2 {
				t.Errorf("%s: again: %+v, %v", code, out, err)
			}
			if n := len(r.ports[1].keys); n != 2 {
				t.Errorf("%s: %d values have reached the shard", code, n)
			}
		})
	}
}

// lines is a source of so many events, of which the third cannot be read.
type lines struct{}

func (lines) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	first := int64(0)
	if len(from) > 0 {
		first = from[0].Offset
	}
	for n := first; n < 50; n++ {
		ev := keyed(int(n))
		ev.Pos = boundary.Position{Stream: "s", Offset: n + 1}
		var err error
		if n == 3 {
			err = out.Refuse(ctx, ev, &accumulator.BadEvent{Stage: "decode", Code: "torn", Text: "torn"})
		} else {
			err = out.Emit(ctx, []boundary.Event{ev})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// M49: every shard reads all, each event is in the books of one, the position of each goes over what is another's, and
// of what cannot be read there is one dead letter.
func TestM49EveryShardPassesWhatIsAnothers(t *testing.T) {
	for input, want := range [][2]int64{{50, 1}, {150, 3}} {
		synctest.Test(t, func(t *testing.T) {
			r := newShardRig(t, input, func() accumulator.Source { return lines{} })
			time.Sleep(time.Second)
			synctest.Wait()
			letters := 0
			for n, p := range r.ports {
				if len(p.mark.Positions) != 1 || p.mark.Positions[0].Offset != 50 {
					t.Errorf("shard %d is at %v", n, p.mark.Positions)
				}
				letters += p.letter
			}
			if _, sum := r.received(); sum.Received != want[0] || sum.DeadLettered+sum.Rejected != want[1] ||
				sum.DeadLettered != 1 || letters != 1 {
				t.Errorf("input %d: %+v, %d letters", input, sum, letters)
			}
		})
	}
}

// whole is a source that gives events at once, of streams in turn.
type whole struct {
	events  int
	streams []string
}

func (s whole) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	var batch []boundary.Event
	for n := range s.events {
		ev := keyed(n % 3)
		ev.Pos = boundary.Position{Stream: s.streams[n%len(s.streams)], Offset: int64(n + 1)}
		batch = append(batch, ev)
	}
	return out.Emit(ctx, batch)
}

// M49: a shard is behind what is others' of a batch in each of its streams, whichever has its own events or the last.
func TestM49AShardIsBehindWhatIsOthersOfABatch(t *testing.T) {
	for want, streams := range map[string][]string{
		"[s@600]": {"s"}, "[s~a@599 s~b@600]": {"s~a", "s~b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newShardRig(t, 0, func() accumulator.Source { return whole{600, streams} })
			time.Sleep(time.Second)
			synctest.Wait()
			for n, p := range r.ports {
				if got := fmt.Sprint(p.mark.Positions); got != want {
					t.Errorf("shard %d is at %s, want %s", n, got, want)
				}
			}
			if _, sum := r.received(); sum.Received != 600 {
				t.Errorf("%d events were received", sum.Received)
			}
		})
	}
}

const dealtWindow = `graph: g
clock: arrival
accumulators:
  w: { time: event.at, window: { key: event.k, tumbling: 10s, aggregate: { n: count() } } }
reactor: { key: k, shards: 3 }
nodes: { n: { expr: w.n } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// timed is a source of events at their times, in partitions.
type timed [][3]int // partition, key, second

func (s timed) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	for n, ev := range s {
		err := out.Emit(ctx, []boundary.Event{{
			Raw: fmt.Appendf(nil, `{"k":%d,"at":"1970-01-01T00:00:%02dZ"}`, ev[1], ev[2]),
			Pos: boundary.Position{Stream: fmt.Sprintf("s/%d", ev[0]), Offset: int64(n + 1)},
		}})
		if err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// M50: a shard's windows close by the times of all events, by partition, also where none of them is its own.
func TestM50WindowsCloseByTheEventsOfOthers(t *testing.T) {
	own, other := 0, 1
	for shardOf(other) == shardOf(own) {
		other++
	}
	for name, test := range map[string]struct {
		events timed
		closed int
	}{
		"one partition":                      {timed{{0, own, 1}, {0, other, 25}}, 1},
		"the slower partition holds it open": {timed{{0, own, 1}, {1, other, 25}}, 0},
		"both have come so far":              {timed{{0, own, 1}, {1, other, 25}, {0, other, 12}}, 1},
		"what is late says nothing":          {timed{{0, own, 21}, {0, other, 1}}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newShardRigOf(t, dealtWindow, 0, func() accumulator.Source { return test.events })
			time.Sleep(time.Second)
			synctest.Wait()
			if got := r.ports[shardOf(own)].keys; len(got) != test.closed {
				t.Errorf("%s: %d windows of the shard have closed, want %d", name, len(got), test.closed)
			}
		})
	}
}
