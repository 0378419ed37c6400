package graphd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphd/graphd"
)

// A daemon in a program: a Go function is a node, another one takes the results, and events
// are pushed without leaving the process.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	results := make(chan any, 10)
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard,
		Registry: graphd.Registry{
			Nodes: map[string]graphd.NodeFunc{
				"shout": func(in map[string]any) (any, error) {
					return strings.ToUpper(in["words"].(string)) + "!", nil
				},
			},
			Sinks: map[string]graphd.SinkFunc{
				"results": func(ctx context.Context, batch []graphd.Message) error {
					for _, m := range batch {
						results <- m.Value
					}
					return nil
				},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	<-d.Ready()

	err = d.Apply(ctx, []byte(`
graph: shouting
accumulators:
  words: { strategy: sequential }
nodes:
  loud: { go: { name: shout }, inputs: [words] }
outputs:
  loud: { from: loud, sink: { go: { name: results } } }
`))
	if err == nil {
		err = d.Push(ctx, "shouting", "words", "hello", "world")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-results, <-results)
	stop()
	fmt.Println(<-done)
	// Output:
	// HELLO! WORLD!
	// <nil>
}

// A graph under virtual time: no daemon, no waiting.
func ExampleDeclaration_Simulate() {
	d, err := graphd.ParseDeclaration([]byte(`
graph: readings
accumulators:
  readings: { batch: { interval: 10s } }
nodes:
  average: { expr: mean(readings) }
outputs:
  average: { from: average, sink: { drop: {} } }
`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := d.Simulate()
	err = errors.Join(s.Push("readings", 20, 21), s.Advance(5*time.Second), s.Push("readings", 25))
	before, _ := s.Take("average")
	err = errors.Join(err, s.Advance(5*time.Second))
	after, _ := s.Take("average")
	fmt.Println(err, before, after)
	// Output: <nil> [] [22]
}

// A fold in Go: the events of a user that are larger than all before.
func ExampleAccumulator() {
	records := func(options graphd.Options) (graphd.FoldFunc, error) {
		o := struct{ Least int }{Least: 1}
		if err := options.Decode(&o); err != nil {
			return nil, err
		}
		return func(state, event any) (graphd.Folded, error) {
			score, ok := event.(map[string]any)["score"].(int)
			if !ok {
				return graphd.Folded{}, errors.New("the event has no score")
			}
			best, _ := state.(int) // nil before the first event
			if score < o.Least || score <= best {
				return graphd.Folded{State: best}, nil
			}
			return graphd.Folded{State: score, Value: score, Emit: true}, nil
		}, nil
	}
	r := graphd.Registry{Accumulators: map[string]graphd.Accumulator{"records": {Version: 1, New: records}}}
	d, err := r.Parse([]byte(`
graph: game
accumulators:
  best: { go: { name: records, options: { least: 10 }, key: event.user } }
outputs:
  best: { from: best, sink: { drop: {} } }
`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := d.Simulate()
	for _, score := range []int{5, 20, 15, 30} {
		if err := s.Push("best", map[string]any{"user": "ann", "score": score}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(s.Take("best"))
	// Output: [map[key:ann user:ann value:20] map[key:ann user:ann value:30]] <nil>
}

// A source resumes behind what the graph has taken of it.
func ExampleSourceFunc() {
	squares := func(ctx context.Context, after int64, out *graphd.Events) error {
		for n := after + 1; n <= 1000; n++ {
			if err := out.Send(n, n*n); err != nil {
				return err
			}
		}
		return nil // the input has ended
	}
	r := graphd.Registry{Sources: map[string]graphd.SourceFunc{"squares": squares}}
	_, err := r.Parse([]byte("graph: g\naccumulators: { a: { source: { go: { name: squares } } } }\noutputs: { o: { "+
		"from: a, sink: { drop: {} } } }\n"), "")
	fmt.Println(err)
	// Output: <nil>
}

// A sink says how far it came.
func ExampleSinkFunc() {
	send := func(any) (status int) { return 503 }
	var sink graphd.SinkFunc = func(ctx context.Context, batch []graphd.Message) error {
		for i, m := range batch {
			switch status := send(m.Value); {
			case status == 503:
				return &graphd.Again{Index: i, After: time.Second, Err: errors.New("busy")}
			case status >= 400:
				return &graphd.Refused{Index: i, Code: "bad_value", Err: fmt.Errorf("answered %d", status)}
			}
		}
		return nil
	}
	fmt.Println(sink(context.Background(), []graphd.Message{{Value: 1}}))
	// Output: busy
}
