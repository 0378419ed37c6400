package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/source/sourcetest"
)

// stored is the outbox of the output o of up: the numbers from first to last.
type stored struct {
	mu          sync.Mutex
	first, last int64
	down        bool
	asked       func() // within a question
}

func (s *stored) Outbox(_ context.Context, id checkpoint.ID, output string, after int64, limit int, _ int64) (
	page []checkpoint.OutboxEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != nil {
		s.asked()
	}
	if s.down {
		return nil, errors.New("it is away")
	}
	if id.Graph != "up" || output != "o" {
		return nil, fmt.Errorf("asked for %v %s", id, output)
	}
	for seq := max(after+1, s.first); seq <= s.last && len(page) < min(limit, 7); seq++ {
		data := append([]byte{2, 0}, boundary.Int(seq).AppendBinary(nil)...)
		page = append(page, checkpoint.OutboxEntry{Output: "o", Seq: seq, Epoch: seq, Data: data})
	}
	return page, nil
}

var one, two = uuid.UUID{1}, uuid.UUID{2} // instances of up

// keeping are links with an output that is followed by down, and kept up to a number of an instance of up.
func keeping(instance uuid.UUID, last int64) (*Links, *holder) {
	links := New(&end{room: 1000})
	links.claimed.put(down, []link{{from: up, output: "o", to: End{down, "a"}, follows: true}})
	h := links.Hold(up, "o").(*holder)
	if last > 0 {
		h.Committed([]sink.Message{{Instance: instance, Output: "o", Seq: last}})
	}
	return links, h
}

func TestFollowConformance(t *testing.T) {
	t.Parallel()
	sourcetest.Run(t, sourcetest.Suite{
		New: func(*testing.T) accumulator.Source {
			links, _ := keeping(one, 400)
			return links.Follow(up, "o", End{down, "a"}, &stored{first: 1, last: 400})
		},
		Events: 400, Endless: true,
	})
}

func stream(instance uuid.UUID) string { return "graph/" + instance.String() + "/o" }

// follow runs the source until it has handed over as many.
func follow(t *testing.T, links *Links, s *stored, from []boundary.Position, most int) (*sourcetest.Receiver, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &sourcetest.Receiver{Most: most, Stop: cancel}
	return r, links.Follow(up, "o", End{down, "a"}, s).Run(ctx, from, r)
}

// M44: what is not kept any more halts the graph that follows, and is not passed over; one that begins misses nothing.
func TestM44FollowedValuesAreGone(t *testing.T) {
	links, _ := keeping(one, 20)
	s := &stored{first: 11, last: 20}
	_, err := follow(t, links, s, []boundary.Position{{Stream: stream(one), Offset: 8}}, 1)
	if lost := new(accumulator.DataLost); !errors.As(err, &lost) || lost.Want != stream(one)+"@9" {
		t.Errorf("got %v", err)
	}
	for _, from := range [][]boundary.Position{
		nil, {{Stream: stream(one), Offset: 10}}, {{Stream: stream(two), Offset: 8}},
	} {
		r, err := follow(t, links, s, from, 10)
		if got := r.Items(); err != nil || len(got) != 10 || got[0].Pos.Offset != 11 {
			t.Errorf("from %v: %v, %v", from, got, err)
		}
	}
}

// M46: a graph that was reset is another instance, whose numbers begin anew: what was read while that changed is not
// taken for the one or the other.
func TestM46FollowedGraphIsReset(t *testing.T) {
	links, h := keeping(one, 5)
	s := &stored{first: 1, last: 5}
	s.asked = func() {
		s.asked = nil
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		next := links.Hold(up, "o").(*holder)
		next.Committed([]sink.Message{{Instance: two, Output: "o", Seq: 3}})
		s.last = 3
	}
	r, err := follow(t, links, s, nil, 3)
	if err != nil || len(r.Items()) != 3 {
		t.Fatalf("%v, %v", r.Items(), err)
	}
	for i, it := range r.Items() {
		if want := (boundary.Position{Stream: stream(two), Offset: int64(i + 1)}); it.Pos != want {
			t.Errorf("%v, want %v", it.Pos, want)
		}
	}
}

// M29: a value is through when each that follows has it in a checkpoint, whatever it has been handed; one that goes
// back behind what it has said, as by a reset, has to say so again; who is gone is not waited for.
func TestM29KeptUntilDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links, h := keeping(one, 3)
		third := End{up, "b"}
		links.claimed.put(up, []link{{from: up, output: "o", to: third, follows: true}})
		done := make(chan error, 1)
		deliver := func() { done <- h.Deliver(t.Context(), []sink.Message{{Instance: one, Output: "o", Seq: 3}}) }
		waits := func(what string) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("%s: it is through: %v", what, err)
			default:
			}
		}
		a := links.Follow(up, "o", End{down, "a"}, nil).(*follower)
		b := links.Follow(up, "o", third, nil).(*follower)
		go deliver()
		waits("nobody has it")
		b.Durable(sourcetest.At(boundary.Position{Stream: stream(one), Offset: 2}))
		waits("one has a part")
		b.Durable(sourcetest.At(boundary.Position{Stream: stream(one), Offset: 3}))
		waits("one of two has it")
		a.Durable(sourcetest.At(boundary.Position{Stream: stream(two), Offset: 9}))
		waits("one has what another instance has put out")
		a.Durable(sourcetest.At(boundary.Position{Stream: stream(two), Offset: 9},
			boundary.Position{Stream: stream(one), Offset: 3}))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		a.k.begin(a.to, nil) // it begins anew
		go deliver()
		waits("one has been reset")
		links.Forget(down)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		links.claimed.put(down, []link{{from: up, output: "o", to: End{down, "a"}, follows: true}})
		go deliver()
		if err := <-done; err == nil {
			t.Error("it is through after a while, and one does not have it")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := h.Deliver(ctx, []sink.Message{{Instance: one, Output: "o", Seq: 3}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// M2: while the store does not answer the source says so, asks again, and goes on.
func TestM2FollowedStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links, _ := keeping(one, 2)
		s := &stored{first: 1, last: 2, down: true}
		time.AfterFunc(time.Minute, func() {
			s.mu.Lock()
			s.down = false
			s.mu.Unlock()
		})
		r, err := follow(t, links, s, nil, 2)
		if said := r.Said(); err != nil || len(said) < 2 || said[0] != accumulator.Disconnected ||
			!slices.Contains(said, accumulator.Live) {
			t.Errorf("%v, %v", said, err)
		}
	})
}

// M46: a delivery of many values tells whom it waits for when nothing of them has been made durable for a while, and
// not while one that follows comes on.
func TestM46WhoComesOnIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links, h := keeping(one, 5)
		done := make(chan error, 1)
		go func() { done <- h.Deliver(t.Context(), []sink.Message{{Instance: one, Output: "o", Seq: 5}}) }()
		a := links.Follow(up, "o", End{down, "a"}, nil).(*follower)
		for n := int64(1); n <= 4; n++ {
			time.Sleep(holdPatience - time.Second)
			a.Durable(sourcetest.At(boundary.Position{Stream: stream(one), Offset: n}))
		}
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
		time.Sleep(holdPatience)
		if err := <-done; err == nil {
			t.Error("it is through, and one does not have it")
		}
	})
}
