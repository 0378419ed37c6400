// Command embedded is a Go program with graphd in it: the declaration beside it names a
// source, an accumulator, a node and a sink that are functions of this program. Run it with
//
//	go run ./examples/embedded
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/graphd/graphd"
)

//go:embed embedded.yaml
var declaration []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the daemon until ctx ends, with a visit every so often.
func run(ctx context.Context, w io.Writer, every time.Duration) error {
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard,
		Registry:     *registry(w, every),
		Declarations: map[string][]byte{"embedded.yaml": declaration},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "look inside with: graphd --server http://%s describe embedded\n", d.Addr())
	return d.Run(ctx)
}

// registry is what the declaration names.
func registry(w io.Writer, every time.Duration) *graphd.Registry {
	return &graphd.Registry{
		Nodes:        map[string]graphd.NodeFunc{"judge": judge},
		Accumulators: map[string]graphd.Accumulator{"longest": {Version: 1, New: longest}},
		Sources:      map[string]graphd.SourceFunc{"visits": visits(every)},
		Sinks:        map[string]graphd.SinkFunc{"print": printer(w)},
	}
}

// judge says by how many seconds a visit is over the limit of its kind. It is pure.
func judge(in map[string]any) (any, error) {
	visit, ok := in["visits"].(map[string]any)
	if !ok {
		return nil, errors.New("a visit is an object")
	}
	limits, _ := in["limits"].(map[string]any)
	kind, _ := visit["kind"].(string)
	limit, ok := limits[kind].(int)
	if !ok {
		return nil, fmt.Errorf("there is no limit for visits of the kind %q", kind)
	}
	seconds, _ := visit["seconds"].(int)
	return map[string]any{"over": max(0, seconds-limit)}, nil
}

// longest hands over visits that are longer than all before of their key. It is pure; what it remembers
// is the state, which graphd keeps.
func longest(options graphd.Options) (graphd.FoldFunc, error) {
	var o struct{ Least int }
	if err := options.Decode(&o); err != nil {
		return nil, err
	}
	return func(state, event any) (graphd.Folded, error) {
		visit, _ := event.(map[string]any)
		seconds, ok := visit["seconds"].(int)
		if !ok {
			return graphd.Folded{}, errors.New("the visit has no seconds")
		}
		most, _ := state.(int) // nil before the first visit
		if seconds < o.Least || seconds <= most {
			return graphd.Folded{State: most}, nil
		}
		return graphd.Folded{State: seconds, Value: visit, Emit: true}, nil
	}, nil
}

// visits makes up a visit every so often. The n-th is the same in every run, so after a
// restart it goes on behind the one that was taken last.
func visits(every time.Duration) graphd.SourceFunc {
	return func(ctx context.Context, after int64, out *graphd.Events) error {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for n := after + 1; ; n++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
			kind := []string{"browse", "buy"}[n%2]
			visit := map[string]any{"visitor": n, "kind": kind, "seconds": n * 37 % 100}
			if err := out.Send(n, visit); err != nil {
				return err
			}
		}
	}
}

// printer writes a line for each alert.
func printer(w io.Writer) graphd.SinkFunc {
	return func(_ context.Context, batch []graphd.Message) error {
		for _, m := range batch {
			alert := m.Value.(map[string]any)
			if _, err := fmt.Fprintf(w, "visitor %v stays %v s too long\n", alert["visitor"],
				alert["over"]); err != nil {
				return err
			}
		}
		return nil
	}
}
