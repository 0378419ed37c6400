package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/client"
)

const narrow = `
graph: narrow
accumulators:
  quotes:
    capacity: 8
    schema: { type: object, required: [bid] }
reactor: { strategy: sequential }
nodes:
  bid: { expr: quotes.bid }
outputs:
  bids: { from: bid, sink: { drop: {} } }
`

func stream(t *testing.T) (*client.Client, *client.PushStream, func()) {
	t.Helper()
	base, stop := start()
	c, err := client.New(client.Config{BaseURL: base})
	if err == nil {
		_, err = c.Apply(t.Context(), "narrow", []byte(narrow), 0, false)
	}
	var s *client.PushStream
	if err == nil {
		s, err = c.PushStream(t.Context(), "narrow", "quotes")
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	return c, s, stop
}

// TestPushStreamTells: what was refused is told by its place among all that were sent since the last word of it.
func TestPushStreamTells(t *testing.T) {
	t.Parallel()
	_, s, stop := stream(t)
	defer stop()
	for round := range 2 {
		for _, event := range []any{map[string]int{"bid": 1}, 7, map[string]int{"bid": 2}, "none"} {
			if err := s.Send(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Flush(t.Context())
		if err != nil || r.Accepted != 2 || len(r.Rejected) != 2 || r.Rejected[0].Index != 1 ||
			r.Rejected[1].Index != 3 || r.Rejected[0].Code != "against_schema" {
			t.Errorf("round %d: %+v, %v", round, r, err)
		}
	}
	if r, err := s.Flush(t.Context()); err != nil || r.Accepted != 0 || r.Durable {
		t.Errorf("nothing was sent: %+v, %v", r, err)
	}
	if err := s.Send(t.Context(), map[string]any{"bid": func() {}}); err == nil {
		t.Error("a function is no event")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Send(t.Context(), map[string]int{"bid": 1}); err == nil {
		t.Error("the stream was closed")
	}
}

// TestPushStreamWaits: while the graph takes nothing the sender waits, nothing is refused, and all of it is taken in
// the end.
func TestPushStreamWaits(t *testing.T) {
	t.Parallel()
	c, s, stop := stream(t)
	defer stop()
	if _, err := c.Pause(t.Context(), "narrow"); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var count atomic.Int64
	ended := make(chan error, 1)
	go func() { // joined below
		err := s.Send(ctx, map[string]int{"bid": 0})
		for err == nil && count.Add(1) < 1000 {
			err = s.Send(ctx, map[string]int{"bid": 1})
		}
		ended <- err
	}()
	// It is left once nothing can be written: the graph has no room, has answered what it took, and the stream has none
	// for another frame. A write that is left ends the connection.
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for before, same := int64(-1), 0; same < 5; before = count.Load() {
		select {
		case err := <-ended:
			t.Fatalf("%d events were taken while the graph stood: %v", count.Load(), err)
		case <-look.C:
		}
		g, err := c.Graph(t.Context(), "narrow")
		if err != nil {
			t.Fatal(err)
		}
		if same++; !s.Full() || g.Accumulators[0].Depth < 8 || count.Load() != before {
			same = 0
		}
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("%d events were taken while the graph stood: %v", count.Load(), err)
	}
	sent := int(count.Load())
	if _, err := c.Resume(t.Context(), "narrow"); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Flush(t.Context()); err != nil || r.Accepted != sent || len(r.Rejected) != 0 {
		t.Errorf("of %d: %+v, %v", sent, r, err)
	}
	g, err := c.Drain(t.Context(), "narrow")
	if err != nil || g.Counters.Rejected != 0 || g.Counters.Consumed != int64(sent) {
		t.Errorf("%+v, %v", g.Counters, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPushStreamEnds: a stream whose graph or daemon is gone says so, and hangs nowhere.
func TestPushStreamEnds(t *testing.T) {
	t.Parallel()
	c, s, stop := stream(t)
	if err := s.Send(t.Context(), map[string]int{"bid": 1}); err != nil {
		t.Error(err)
	}
	if r, err := s.Flush(t.Context()); err != nil || r.Accepted != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	stop()
	var err error
	for err == nil && t.Context().Err() == nil {
		err = s.Send(t.Context(), map[string]int{"bid": 2})
	}
	if _, again := s.Flush(t.Context()); again == nil {
		t.Errorf("after %v all is well", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.PushStream(t.Context(), "narrow", "quotes"); err == nil {
		t.Error("there is no daemon")
	}
}

// TestPushStreamIsRefused: what is not there is told before the stream begins.
func TestPushStreamIsRefused(t *testing.T) {
	t.Parallel()
	base, stop := start()
	defer stop()
	c, err := client.New(client.Config{BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PushStream(t.Context(), "none", "quotes"); client.Code(err) != "graph_not_found" {
		t.Errorf("got %v", err)
	}
}
