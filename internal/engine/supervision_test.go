package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// scripted is a world of kinds whose sources and sinks are the test's.
type scripted struct {
	builtin.Kinds
	source func(name string) accumulator.Source
	sink   func(name string) sink.Sink
	// declared makes a source by its declaration; nil and a nil answer leave that to source.
	declared func(u *compile.Unit, i int) accumulator.Source
	// sinkErr keeps a sink from being opened.
	sinkErr func(name string) error
}

func (s *scripted) Source(u *compile.Unit, i int) (accumulator.Source, error) {
	if s.declared != nil {
		if src := s.declared(u, i); src != nil {
			return src, nil
		}
	}
	if src := s.source(u.Spec.Accumulators[i].Name); src != nil {
		return src, nil
	}
	return s.Kinds.Source(u, i)
}

func (s *scripted) Sink(u *compile.Unit, i int) (sink.Sink, error) {
	if s.sinkErr != nil {
		if err := s.sinkErr(u.Spec.Outputs[i].Name); err != nil {
			return nil, err
		}
	}
	if s.sink != nil {
		if sink := s.sink(u.Spec.Outputs[i].Name); sink != nil {
			return sink, nil
		}
	}
	return s.Kinds.Sink(u, i)
}

// sourceFunc is a source that is a function.
type sourceFunc func(ctx context.Context, from []boundary.Position, out accumulator.Out) error

func (f sourceFunc) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	return f(ctx, from, out)
}

// bed is an engine over a memory store, for a synctest bubble.
type bed struct {
	t     *testing.T
	e     *Engine
	store checkpoint.Store
}

func newBed(t *testing.T, store checkpoint.Store, kinds *scripted) *bed {
	t.Helper()
	return newBedWith(t, store, kinds, slog.New(slog.DiscardHandler))
}

func newBedWith(t *testing.T, store checkpoint.Store, kinds *scripted, log *slog.Logger) *bed {
	t.Helper()
	return newBedOf(t, kinds, Config{Store: store, Log: log})
}

func newBedOf(t *testing.T, kinds *scripted, cfg Config) *bed {
	t.Helper()
	kinds.Stdout = stdout.NewOutput(os.Stderr)
	if kinds.source == nil {
		kinds.source = func(string) accumulator.Source { return nil }
	}
	cfg.Kinds = kinds
	e := New(cfg)
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &bed{t, e, cfg.Store}
}

func (b *bed) close() {
	b.t.Helper()
	if err := b.e.Close(); err != nil {
		b.t.Errorf("close: %v", err)
	}
}

func (b *bed) apply(doc, name string) {
	b.t.Helper()
	g := api.Ref{Tenant: "default", Name: name}
	if _, err := b.e.Apply(b.t.Context(), g, []byte(doc), api.Change{}); err != nil {
		b.t.Fatalf("apply: %v", err)
	}
	synctest.Wait()
}

func (b *bed) push(graph, acc string, events ...string) api.PushResult {
	b.t.Helper()
	raw := make([]json.RawMessage, len(events))
	for i, e := range events {
		raw[i] = json.RawMessage(e)
	}
	res, err := b.e.Push(b.t.Context(), api.Ref{Tenant: "default", Name: graph}, acc, raw)
	if err != nil {
		b.t.Fatalf("push: %v", err)
	}
	synctest.Wait()
	return res
}

func (b *bed) summary(graph string) api.GraphSummary {
	b.t.Helper()
	s, err := b.e.Graph(b.t.Context(), api.Ref{Tenant: "default", Name: graph})
	if err != nil {
		b.t.Fatal(err)
	}
	c := s.Counters
	if sum := c.Filtered + c.Conflated + c.Rejected + c.DeadLettered + c.Consumed + c.Queued; sum != c.Received {
		b.t.Fatalf("books: %+v", c)
	}
	return s
}

func (b *bed) recovery(graph string) []api.RecoveryEvent {
	b.t.Helper()
	page, err := b.e.RecoveryEvents(b.t.Context(), api.Ref{Tenant: "default", Name: graph}, api.Query{Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	return page.Items
}

const duo = `graph: duo
accumulators:
  bad: { source: { generator: { every: 1s, expr: i } } }
  good: {}
reactor: { when: any, strategy: sequential%s }
nodes:
  n: { expr: '[bad ?? nil, good ?? nil]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// M35, M36, W25: a panicking accumulator is restarted alone, after 1, 2, 4, 8 and 16 seconds,
// while the reactor goes on firing, degraded; the sixth failure in a row stops the graph, and
// an operator's restart revives it.
func TestM35PanickingAccumulatorRestartsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var starts []time.Duration
		began := time.Now()
		broken.Store(true)
		kinds := &scripted{source: func(name string) accumulator.Source {
			if name != "bad" {
				return nil
			}
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
				starts = append(starts, time.Since(began))
				if broken.Load() {
					panic("poisoned")
				}
				out.Health(accumulator.Live, "")
				<-ctx.Done()
				return nil
			})
		}}
		b := newBed(t, memstore.New(), kinds)
		defer b.close()
		b.apply(fmt.Sprintf(duo, ", warm_timeout: 100ms"), "duo")
		time.Sleep(200 * time.Millisecond) // virtual: past warm_timeout
		for i := 1; i <= 5; i++ {
			b.push("duo", "good", fmt.Sprint(i))
			s := b.summary("duo")
			if s.Health != "degraded" || fmt.Sprint(s.Degraded) != "[bad]" || s.Epoch != int64(i) ||
				s.Incarnation != 1 {
				t.Fatalf("push %d: %+v", i, s)
			}
			time.Sleep(time.Second << (i - 1))
		}
		time.Sleep(time.Minute)
		s := b.summary("duo")
		if s.Health != "failed" || s.HealthReason.Code != "accumulator_failed" {
			t.Fatalf("after six failures: %s %+v", s.Health, s.HealthReason)
		}
		if len(starts) != 6 {
			t.Fatalf("%d starts: %v", len(starts), starts)
		}
		for i := 1; i < 6; i++ {
			pause, nominal := starts[i]-starts[i-1], time.Second<<(i-1)
			if pause < nominal*8/10 || pause > nominal*12/10 {
				t.Errorf("pause %d was %v, want %v within a fifth", i, pause, nominal)
			}
		}
		if _, err := b.e.Fire(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, api.FireRequest{
			Mode: "force",
		}); err == nil {
			t.Fatal("a failed graph fired")
		}
		before := time.Now()
		_, err := b.e.Push(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "good", []json.RawMessage{[]byte("7")})
		if wantCode(t, err, http.StatusConflict, "graph_failed", "poisoned"); time.Since(before) > 0 {
			t.Error("a push to a failed graph waited")
		}
		if got := b.e.Metrics(t.Context())[0].Restarts["bad"]; got["panic"] != 6 || len(got) != 1 {
			t.Errorf("restarts by reason: %v", got)
		}
		broken.Store(false)
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "duo"}, "", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := b.summary("duo"); s.Health != "live" || s.Epoch != 5 || s.Incarnation < 2 {
			t.Fatalf("revived: %+v", s)
		}
		kinds5 := 0
		for _, ev := range b.recovery("duo") {
			if ev.Kind == "restart" && ev.Component == "accumulator/bad" {
				kinds5++
				if ev.Stack == "" || ev.Reason == "" {
					t.Errorf("a restart without its why: %+v", ev)
				}
			}
		}
		if kinds5 != 5 {
			t.Errorf("%d restarts on record, want 5: %+v", kinds5, b.recovery("duo"))
		}
	})
}

// M36: with on_exhausted: degrade the graph keeps firing without the accumulator.
func TestM36ExhaustedDegrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := &scripted{source: func(name string) accumulator.Source {
			if name != "bad" {
				return nil
			}
			return sourceFunc(func(context.Context, []boundary.Position, accumulator.Out) error {
				return errors.New("no route")
			})
		}}
		b := newBed(t, memstore.New(), kinds)
		defer b.close()
		b.apply(fmt.Sprintf(duo, ", restart: { attempts: 1, on_exhausted: degrade }"), "duo")
		time.Sleep(5 * time.Minute)
		b.push("duo", "good", "1")
		if s := b.summary("duo"); s.Health != "degraded" || s.Epoch != 1 || s.Accumulators[0].Health != "failed" {
			t.Fatalf("%+v", s)
		}
	})
}

// M25, M34: two accumulators fail; each backs off in its own time.
func TestM36BackoffsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad, good atomic.Int32
		kinds := &scripted{source: func(name string) accumulator.Source {
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, _ accumulator.Out) error {
				if name == "bad" {
					bad.Add(1)
				} else {
					good.Add(1) // one failure after each 30 s of work; the other fails at once
					select {
					case <-time.After(30 * time.Second):
					case <-ctx.Done():
						return nil
					}
				}
				return errors.New("away")
			})
		}}
		b := newBed(t, memstore.New(), kinds)
		defer b.close()
		b.apply(fmt.Sprintf(duo, ", restart: { on_exhausted: degrade }"), "duo")
		time.Sleep(45 * time.Second)
		if bad.Load() != 6 || good.Load() != 2 {
			t.Fatalf("bad was started %d times and good %d, want 6 and 2", bad.Load(), good.Load())
		}
	})
}

// faultyCommits makes the store's commits fail as told.
type faultyCommits struct {
	checkpoint.Store
	next atomic.Pointer[error]
}

func (f *faultyCommits) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := f.next.Load(); err != nil {
		return *err
	}
	return f.Store.Commit(ctx, c)
}

// M10, W23: while checkpoints cannot be written the graph is degraded and fires on; it
// recovers without a restart.
func TestM10CheckpointTroubleDegrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyCommits{Store: memstore.New()}
		b := newBed(t, store, &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\n", "g")
		b.push("g", "a", "1")
		full := errors.New("disk full")
		store.next.Store(&full)
		b.push("g", "a", "2")
		time.Sleep(5 * time.Second)
		s := b.summary("g")
		if s.Health != "degraded" || fmt.Sprint(s.Degraded) != "[checkpoint]" {
			t.Fatalf("%+v", s)
		}
		b.push("g", "a", "3")
		if s := b.summary("g"); s.Epoch != 3 {
			t.Fatalf("it does not fire on: %+v", s)
		}
		var refused *api.Error
		if _, err := b.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "ann"); !errors.As(err, &refused) ||
			refused.Status != http.StatusServiceUnavailable {
			t.Fatalf("a pause that is not durable was answered %v", err)
		}
		store.next.Store(nil)
		time.Sleep(2 * time.Second)
		if s := b.summary("g"); s.Health != "live" || s.Durability.CheckpointEpoch != 3 || s.Incarnation != 1 {
			t.Fatalf("%+v", s)
		}
	})
}

// M28: a commit whose outcome is unknown is never sent again: the graph is reloaded as a
// new incarnation and goes on from what the store holds.
func TestM28UnknownOutcomeReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyCommits{Store: memstore.New()}
		b := newBed(t, store, &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", "1")
		time.Sleep(2 * time.Second)
		lost := error(checkpoint.ErrUnknownOutcome)
		store.next.Store(&lost)
		b.push("g", "a", "2")
		time.Sleep(1500 * time.Millisecond)
		store.next.Store(nil)
		time.Sleep(10 * time.Second)
		s := b.summary("g")
		if s.Health != "live" || s.Incarnation < 2 || s.Epoch != 1 {
			t.Fatalf("%+v", s)
		}
		b.push("g", "a", "3")
		if s := b.summary("g"); s.Epoch != 2 {
			t.Fatalf("%+v", s)
		}
	})
}

// M38: a stop is an epoch boundary with a final checkpoint; the next start goes on from it.
func TestM38StopIsClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		doc := "graph: g\naccumulators: { a: { strategy: sequential }, b: { batch: { size: 10 } } }\nreactor: { " +
			"when: { any: [a] } }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
		b := newBed(t, store, &scripted{})
		b.apply(doc, "g")
		b.push("g", "a", "1", "2")
		b.push("g", "b", "1", "2", "3")
		b.close()
		b = newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		s := b.summary("g")
		// The open batch was not flushed by the stop: its three events are queued (W13).
		if s.Epoch != 2 || s.Counters.Received != 5 || s.Counters.Queued != 3 || s.Durability.CheckpointEpoch != 2 {
			t.Fatalf("%+v", s)
		}
	})
}

// M43: after an owner that died nothing is noted while there is nothing to try; the first epoch
// waits for its note, also over an outage of the store; and then more and more share a commit.
func TestM43Careful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpointtest.NewFaulty(memstore.New(), nil)
		b := newBed(t, store, &scripted{})
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, sink: { drop: {} } } }\n", "g")
		b.close()
		id := checkpoint.ID{Tenant: "default", Graph: "g"}
		if _, err := store.Acquire(t.Context(), id); err != nil { // and dies
			t.Fatal(err)
		}
		b = newBed(t, store, &scripted{})
		defer b.close()
		time.Sleep(time.Minute)
		if n := store.Calls(checkpointtest.OpAttempt); n != 0 {
			t.Errorf("an idle graph has noted %d epochs", n)
		}
		away := checkpointtest.Fault{Outcome: checkpointtest.Fail}
		store.Script(checkpointtest.OpAttempt, away, away)
		b.push("g", "a", "1")
		if s := b.summary("g"); s.Epoch != 0 {
			t.Errorf("an epoch was tried that the ledger does not know of: %d", s.Epoch)
		}
		time.Sleep(5 * time.Second)
		if s := b.summary("g"); s.Epoch != 1 || s.Health != "live" {
			t.Errorf("after the outage: epoch %d, %s", s.Epoch, s.Health)
		}
		before := store.Calls(checkpointtest.OpAttempt)
		events := make([]string, 500)
		for i := range events {
			events[i] = fmt.Sprint(i)
		}
		b.push("g", "a", events...)
		time.Sleep(5 * time.Second)
		if s := b.summary("g"); s.Epoch != 501 {
			t.Errorf("epoch %d", s.Epoch)
		}
		if n := store.Calls(checkpointtest.OpAttempt) - before; n < 6 || n > 10 {
			t.Errorf("500 epochs were tried in %d steps, want about 8", n)
		}
	})
}
