package graphd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/gofold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
)

// Registry is what a Go program gives its declarations to name: nodes as
// `go: { name: NAME }` with their `inputs`, accumulators, sources and sinks as
// `go: { name: NAME }`. The zero Registry holds nothing. It must not be changed once it is in use.
//
// Values are plain Go values: nil, bool, int, float64, string, time.Time, time.Duration,
// []any and map[string]any. What a function returns may also be anything that
// encoding/json can encode.
type Registry struct {
	Nodes        map[string]NodeFunc
	Accumulators map[string]Accumulator
	Sources      map[string]SourceFunc
	Sinks        map[string]SinkFunc
}

// NodeFunc computes a node's value from those of its inputs, by their names in the
// declaration. It is pure: the same for the same inputs, with no clock, no state and no I/O,
// for an epoch may run again, and it is not to keep or change what it is given. It runs in
// the middle of an epoch, on one goroutine for each graph.
//
// An error or a panic is the node's, and its on_error decides. A node with an input that is
// absent does not run. A nil value is null.
type NodeFunc func(in map[string]any) (any, error)

// SourceFunc reads events from somewhere and sends them, those after a position only; 0 is
// the beginning. It returns when ctx is done or the input ends, and must have ended all that
// it started. An error restarts it, with growing pauses, after the last position that the
// graph has taken; it is called once for each start.
type SourceFunc func(ctx context.Context, after int64, out *Events) error

// Events is where a SourceFunc puts what it reads. It is for the goroutine that was given it.
type Events struct {
	ctx context.Context
	out accumulator.Out
}

// Send hands one event over, with the position just after it: a number that grows with each
// event, above 0. It blocks while the graph is held back, and fails when the source is to end.
func (e *Events) Send(position int64, event any) error {
	if position <= 0 {
		return fmt.Errorf("send: position %d is not above 0", position)
	}
	v, err := toValue(event)
	if err != nil {
		return fmt.Errorf("send the event at %d: %w", position, err)
	}
	// As JSON it is what a pushed event of the same text would be.
	ev := boundary.Event{
		Raw: v.AppendJSON(nil), At: time.Now(), Pos: boundary.Position{Stream: goStream, Offset: position},
	}
	return e.out.Emit(e.ctx, append(accumulator.NewBatch(e.out, 1), ev))
}

// Live says that the source is connected. It is said for the source when it starts.
func (e *Events) Live() { e.out.Health(accumulator.Live, "") }

// Lost says that the source has lost its input and tries to reach it again, and why, in one
// line without secrets. The graph is degraded until Live.
func (e *Events) Lost(why string) { e.out.Health(accumulator.Disconnected, why) }

// goStream names the positions of registered sources.
const goStream = "go"

// SinkFunc delivers values, in the order of the epochs. On an error the batch is delivered
// again after a pause, unless it is a *[Refused] or a *[Again], which say more. The batch is
// the caller's again when it returns.
type SinkFunc func(ctx context.Context, batch []Message) error

// Message is one value of one output on its way to a sink.
type Message struct {
	Output             string
	Epoch, Incarnation int64
	// Key is the reactor's key, nil in an unkeyed graph.
	Key any
	// Value is the output's.
	Value any
	// At is the epoch's engine time.
	At time.Time
	// FiringID tells values apart; only when Stable is it the same for a value that is
	// delivered again, also after a crash.
	FiringID string
	Stable   bool
	// Degraded names what was not healthy when the epoch ran.
	Degraded []string
}

// Refused is a delivery's error that says: the message at Index of the batch will never be
// taken, those before it were, those after it were not tried. The output's on_error decides.
type Refused = sink.PermanentError

// Again is a delivery's error that says: the message at Index could not be delivered now,
// those before it were, those after it were not tried.
type Again = sink.RetryError

// Parse is [ParseDeclaration] for a declaration that may name what is registered.
func (r *Registry) Parse(doc []byte, name string) (*Declaration, error) {
	kinds := &builtin.Kinds{}
	r.register(kinds)
	return parsed(kinds, doc, name)
}

// TestDeclaration is the function [TestDeclaration] for a declaration that may name what is
// registered.
func (r *Registry) TestDeclaration(ctx context.Context, path string) ([]TestOutcome, error) {
	return testDeclaration(ctx, path, func(path string) (*Declaration, error) {
		doc, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the declaration: %w", err)
		}
		return r.Parse(doc, path)
	})
}

// register gives the kinds what is registered.
func (r *Registry) register(k *builtin.Kinds) {
	k.Functions = make(map[string]gofunc.Function, len(r.Nodes))
	for name, f := range r.Nodes {
		k.Functions[name] = func(inputs []string, args []boundary.Value) (boundary.Value, error) {
			in := make(map[string]any, len(args))
			for i, v := range args {
				in[inputs[i]] = v.Any()
			}
			out, err := f(in)
			if err != nil {
				return boundary.Value{}, err
			}
			return toValue(out)
		}
	}
	k.Folds = make(map[string]*gofold.Registered, len(r.Accumulators))
	for name, a := range r.Accumulators {
		k.Folds[name] = a.registered()
	}
	k.Sources = make(map[string]func() accumulator.Source, len(r.Sources))
	for name, f := range r.Sources {
		k.Sources[name] = func() accumulator.Source { return goSource(f) }
	}
	k.Sinks = make(map[string]func() sink.Sink, len(r.Sinks))
	for name, f := range r.Sinks {
		k.Sinks[name] = func() sink.Sink { return goSink(f) }
	}
}

// goSource is a SourceFunc as the accumulators know sources.
type goSource SourceFunc

// Run implements accumulator.Source.
func (f goSource) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	after := int64(0)
	for _, p := range from {
		if p.Stream == goStream {
			after = p.Offset
		}
	}
	events := &Events{ctx: ctx, out: out}
	events.Live()
	err := f(ctx, after, events)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// goSink is a SinkFunc as the reactor knows sinks.
type goSink SinkFunc

// Deliver implements sink.Sink.
func (f goSink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	list := make([]Message, len(batch))
	for i := range batch {
		m := &batch[i]
		list[i] = Message{
			Output: m.Output, Epoch: m.Epoch, Incarnation: m.Incarnation, Value: m.Value.Any(), At: m.At,
			FiringID: m.FiringID(), Stable: m.Stable, Degraded: slices.Clone(m.Degraded),
		}
		if m.Key == "" {
			continue
		}
		key, err := fromJSON([]byte(m.Key))
		if err != nil {
			return fmt.Errorf("read the key of a message: %w", err)
		}
		list[i].Key = key.Any()
	}
	return f(ctx, list)
}

// Close implements sink.Sink. A SinkFunc has nothing to close.
func (f goSink) Close(context.Context) error { return nil }

// toValue makes a value of what Go code has returned.
func toValue(x any) (boundary.Value, error) {
	v, err := boundary.FromAny(x)
	if err == nil {
		return v, nil
	}
	// A struct, a typed map or slice: as encoding/json would have it.
	text, jsonErr := json.Marshal(x)
	if jsonErr != nil {
		return boundary.Value{}, err
	}
	return fromJSON(text)
}

func fromJSON(text []byte) (boundary.Value, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return boundary.Value{}, err
	}
	return boundary.FromAny(x)
}
