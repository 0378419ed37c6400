package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

// start runs a daemon in this program; what is returned stops it.
func start() (base string, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	d, err := graphd.New(ctx, graphd.Config{Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard})
	if err != nil {
		panic(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }() // joined by stop
	<-d.Ready()
	return "http://" + d.Addr(), func() {
		cancel()
		if err := <-done; err != nil {
			panic(err)
		}
	}
}

const spread = `
graph: spread
accumulators:
  quotes: { where: event.bid > 0 }
reactor: { strategy: sequential }
nodes:
  spread: { expr: quotes.ask - quotes.bid }
outputs:
  spreads: { from: spread, sink: { drop: {} } }
`

// dial makes a client of a daemon that has the graph.
func dial(ctx context.Context, base string) *client.Client {
	c, err := client.New(client.Config{BaseURL: base})
	if err == nil {
		_, err = c.Apply(ctx, "spread", []byte(spread), 0, false)
	}
	if err != nil {
		panic(err)
	}
	return c
}

// A declaration is applied, events are pushed, and the last epoch is looked at.
func Example() {
	base, stop := start()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Config{BaseURL: base, Agent: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	applied, err := c.Apply(ctx, "spread", []byte(spread), 0, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("created:", applied.Created)

	pushed, err := c.PushAll(ctx, "spread", "quotes", []byte(`{"bid":100,"ask":100.25}
{"bid":0,"ask":1}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("accepted:", pushed.Accepted, "of them filtered:", pushed.Filtered)

	// What was taken may still wait to fire: values that are fired by hand do not wait behind it.
	if _, err = c.Drain(ctx, "spread"); err != nil {
		fmt.Println(err)
		return
	}
	fired, err := c.Fire(ctx, "spread", client.FireRequest{
		Mode: "with", Cache: map[string]json.RawMessage{"quotes": json.RawMessage(`{"bid":50,"ask":51.5}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := c.State(ctx, "spread", "")
	fmt.Println("fired:", fired.OK, "spread:", string(state.Nodes["spread"]), err)
	// Output:
	// created: true
	// accepted: 2 of them filtered: 1
	// fired: true spread: 1.5 <nil>
}

// A refusal has a code that never changes, and says what to do.
func ExampleCode() {
	base, stop := start()
	defer stop()
	c, err := client.New(client.Config{BaseURL: base})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Graph(context.Background(), "spread")
	if client.Code(err) == "graph_not_found" {
		fmt.Println("not applied yet")
	}
	_, err = c.Apply(context.Background(), "spread", []byte("graph: spread\nnodes: 7\n"), 0, false)
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		fmt.Println(problem.Status, problem.Code, len(problem.Errors) > 0)
	}
	// Output:
	// not applied yet
	// 422 declaration_invalid true
}

// A stream of events is pushed as fast as the graph takes them, and no faster.
func ExampleClient_PushStream() {
	base, stop := start()
	defer stop()
	ctx := context.Background()
	s, err := dial(ctx, base).PushStream(ctx, "spread", "quotes")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 10_000 {
		if err := s.Send(ctx, map[string]int{"bid": 100, "ask": 100 + i}); err != nil {
			fmt.Println(err)
			break
		}
	}
	pushed, err := s.Flush(ctx)
	fmt.Println(pushed.Accepted, len(pushed.Rejected), err, s.Close())
	// Output: 10000 0 <nil> <nil>
}

// What comes out is followed. A program that remembers [client.Frame.Place] goes on behind it, after a restart too;
// what the daemon no longer has is told by a frame of the type gap.
func ExampleClient_Tail() {
	base, stop := start()
	defer stop()
	ctx := context.Background()
	c := dial(ctx, base)
	for _, event := range []string{`{"bid":1,"ask":2}`, `{"bid":1,"ask":4}`} {
		if _, err := c.Push(ctx, "spread", "quotes", []byte(event)); err != nil {
			fmt.Println(err)
		}
	}
	g, err := c.Drain(ctx, "spread")
	if err != nil {
		fmt.Println(err)
		return
	}
	enough := errors.New("enough")
	topics := client.TailOptions{Topics: []string{"outputs"}, Since: fmt.Sprintf("%d:0", g.Incarnation)}
	seen := 0
	err = c.Tail(ctx, "spread", topics, func(f *client.Frame) error {
		fmt.Println(f.Type, f.Output, f.Epoch, string(f.Value))
		if seen++; seen == 2 {
			return enough
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// output spreads 1 1
	// output spreads 2 3
	// enough
}
