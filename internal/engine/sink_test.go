package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// picky is a sink that fails as told and remembers what it took.
type picky struct {
	mu   sync.Mutex
	fail func(batch []sink.Message) error
	took []string
}

func (p *picky) Deliver(_ context.Context, batch []sink.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		if err := p.fail(batch); err != nil {
			return err
		}
	}
	for i := range batch {
		p.took = append(p.took, batch[i].Value.String())
	}
	return nil
}

func (p *picky) Close(context.Context) error { return nil }

func (p *picky) set(fail func([]sink.Message) error) {
	p.mu.Lock()
	p.fail = fail
	p.mu.Unlock()
}

func (p *picky) taken() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.took)
}

// into delivers each output that is named to its sink, and of the others nothing.
func into(sinks map[string]sink.Sink) func(output string) sink.Sink {
	return func(output string) sink.Sink { return sinks[output] }
}

func values(batch []sink.Message) (vs []string) {
	for i := range batch {
		vs = append(vs, batch[i].Value.String())
	}
	return vs
}

const oneSink = "graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: " +
	"{ from: n, sink: { drop: {} }%s } }\n"

// A sink that fails, or panics, is tried again until it takes everything, in order; the
// graph goes on meanwhile and says what the trouble is.
func TestSinkTroubleIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{}
		b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(oneSink, ""), "g")
		got.set(func([]sink.Message) error { return errors.New("no space left") })
		b.push("g", "a", "1", "2")
		if s := b.summary("g"); s.Epoch != 2 || s.Outputs[0].Pending != 2 || s.Outputs[0].Error != "no space left" {
			t.Fatalf("%+v", s.Outputs)
		}
		got.set(func([]sink.Message) error { panic("a bug in the sink") })
		time.Sleep(time.Minute)
		if s := b.summary("g"); s.Incarnation != 1 || s.Outputs[0].Error != "panic in the sink: a bug in the sink" {
			t.Fatalf("%+v", s)
		}
		got.set(nil)
		time.Sleep(time.Minute)
		b.push("g", "a", "3")
		if s := b.summary("g"); s.Outputs[0].Pending != 0 || s.Outputs[0].Error != "" || got.taken() != "[1 2 3]" {
			t.Fatalf("%+v, took %s", s.Outputs, got.taken())
		}
	})
}

// M5: a message that its sink refuses for good blocks the output, or becomes a dead letter;
// it is never dropped.
func TestM5RefusedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *picky
		refuse := func(batch []sink.Message) error {
			for i := range batch {
				if batch[i].Value.String() == "2" {
					got.took = append(got.took, values(batch[:i])...)
					return &sink.PermanentError{Index: i, Code: "bad_row", Err: errors.New("no such column")}
				}
			}
			return nil
		}
		for _, onError := range []string{"block", "dead_letter"} {
			got = &picky{fail: refuse}
			b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
			b.apply(fmt.Sprintf(oneSink, ", on_error: "+onError), "g")
			b.push("g", "a", "1", "2", "3")
			time.Sleep(time.Minute)
			s := b.summary("g")
			if onError == "block" {
				if s.Outputs[0].Pending != 2 || s.Outputs[0].Failed != 0 || got.taken() != "[1]" {
					t.Errorf("block: %+v, took %s", s.Outputs, got.taken())
				}
				got.set(nil)
				time.Sleep(time.Minute)
				if got.taken() != "[1 2 3]" {
					t.Errorf("block: took %s in the end", got.taken())
				}
			} else if l := b.letters("g"); len(l) != 1 || l[0].Stage != "sink" || l[0].Code != "bad_row" ||
				s.Outputs[0].Failed != 1 || got.taken() != "[1 3]" {
				t.Errorf("dead_letter: %+v, letters %+v, took %s", s.Outputs, l, got.taken())
			}
			store := b.store
			b.close()
			if onError == "dead_letter" {
				b = newBed(t, store, &scripted{sink: func(string) sink.Sink { return got }})
				synctest.Wait()
				if s := b.summary("g"); s.Outputs[0].Failed != 1 || s.DeadLettered() != 1 {
					t.Errorf("after a restart %+v, %d dead letters", s.Outputs, s.DeadLettered())
				}
				b.close()
			}
		}
	})
}

// A sink that takes nothing stops the firing when its queue is full, and the source with it:
// memory stays bounded, nothing is dropped, and commands are answered all the same (M4).
func TestM4SlowSinkHoldsTheGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{fail: func([]sink.Message) error { return errors.New("away") }}
		b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(oneSink, ""), "g")
		total, full := 0, false
		for !full {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			res, err := b.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, "a", repeat("1", 500))
			cancel()
			if err != nil || total > 20_000 {
				t.Fatalf("%v after %d", err, total)
			}
			total += res.Accepted
			if full = res.Full; full && (res.Why == nil || res.Why.Code != "output_failing" ||
				!strings.Contains(res.Why.Detail, "output o has as much waiting as it may, and has failed since")) {
				t.Fatalf("there is no room, for %+v", res.Why)
			}
		}
		s := b.summary("g")
		if s.Outputs[0].Pending > 4096 || !s.Outputs[0].Full || s.Accumulators[0].Depth > s.Accumulators[0].Capacity {
			t.Fatalf("%+v %+v", s.Outputs[0], s.Accumulators[0])
		}
		if _, err := b.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "ann"); err != nil {
			t.Fatalf("a command waits for the sink: %v", err)
		}
		if _, err := b.e.Resume(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.e.StopPart(t.Context(), ofG, api.Part{Output: "o"}, "ann"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res, err := b.e.Push(ctx, ofG, "a", repeat("1", 5000))
		total += res.Accepted
		if err != nil || !res.Full || res.Why == nil || res.Why.Code != "part_stopped" {
			t.Fatalf("%+v, %v; want the output that ann has stopped", res, err)
		}
		if _, err := b.e.StartPart(t.Context(), ofG, api.Part{Output: "o"}, "ann"); err != nil {
			t.Fatal(err)
		}
		got.set(nil)
		time.Sleep(time.Minute)
		if s := b.summary("g"); s.Epoch != int64(total) || s.Outputs[0].Pending != 0 || s.Outputs[0].Full {
			t.Fatalf("%d events were accepted: %+v", total, s)
		}
	})
}

// M35, W22: a reactor that panics takes its graph down, which is rebuilt from its last
// checkpoint and never reads as live meanwhile; five restarts are tried, as for anything (M36).
func TestM35ReactorPanicRebuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := &faultyMirror{}
		b := newBed(t, memstore.New(), &scripted{source: func(string) accumulator.Source { return faulty }})
		defer b.close()
		b.apply(fmt.Sprintf(oneSink, ""), "g")
		b.push("g", "a", "1")
		g := api.Ref{Tenant: "default", Name: "g"}
		if _, err := b.e.Checkpoint(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		faulty.broken.Store(true)
		for i := 1; i <= 6; i++ {
			b.push("g", "a", "1")
			if _, err := b.e.Checkpoint(t.Context(), g); err == nil { // it is there, but its reactor panics over it
				t.Fatal("a reactor has survived its own panic")
			}
			synctest.Wait()
			s := b.summary("g")
			if i == 6 {
				if s.Health != "failed" || s.HealthReason.Code != "restarts_exhausted" {
					t.Fatalf("%s %+v", s.Health, s.HealthReason)
				}
				break
			}
			if s.Health != "starting" || s.HealthReason == nil {
				t.Fatalf("panic %d: %s %+v", i, s.Health, s.HealthReason)
			}
			time.Sleep(2 * time.Second << (i - 1))
			if s := b.summary("g"); s.Health != "live" || s.Epoch != int64(i+1) {
				t.Fatalf("panic %d: %s %+v epoch %d", i, s.Health, s.HealthReason, s.Epoch)
			}
		}
		if ev := b.recovery("g"); len(ev) != 6 || ev[0].Stack == "" {
			t.Fatalf("%d recovery events", len(ev))
		}
	})
}

// faultyMirror is a source without events; what it is told on the reactor's goroutine it may
// answer with a panic.
type faultyMirror struct{ broken atomic.Bool }

func (f *faultyMirror) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	<-ctx.Done()
	return nil
}

func (f *faultyMirror) Mirrors() bool { return true }

func (f *faultyMirror) Durable(func() []boundary.Position) {
	if f.broken.Load() {
		panic("a bug in the reactor")
	}
}
