package pump

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// port is a reactor that takes handoffs into a bounded queue, or in all when capacity is 0.
type port struct {
	capacity int

	mu       sync.Mutex
	queue    []boundary.Boundary
	all      []boundary.Boundary // ever admitted
	letters  []checkpoint.DeadLetter
	mark     accumulator.Mark
	puts     int
	health   []string
	freed    chan struct{} // capacity 1
	refusing error
}

func newPort(capacity int) *port { return &port{capacity: capacity, freed: make(chan struct{}, 1)} }

// Put implements [accumulator.Port].
func (p *port) Put(ctx context.Context, h *accumulator.Handoff) error {
	for {
		p.mu.Lock()
		if p.refusing != nil {
			p.mu.Unlock()
			return p.refusing
		}
		if p.capacity == 0 || len(h.Boundaries) == 0 || len(p.queue)+len(h.Boundaries) <= p.capacity {
			p.queue = append(p.queue, h.Boundaries...)
			p.all = append(p.all, h.Boundaries...)
			p.letters = append(p.letters, h.DeadLetters...)
			p.mark = h.Mark
			p.puts++
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Health implements [accumulator.Port].
func (p *port) Health(h accumulator.Health, code, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := string(h)
	if code != "" {
		s += ":" + code
	}
	p.health = append(p.health, s)
}

// consume takes n boundaries off the queue; all of them when n is negative.
func (p *port) consume(n int) {
	p.mu.Lock()
	if n < 0 || n > len(p.queue) {
		n = len(p.queue)
	}
	p.queue = p.queue[n:]
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// seen is what was admitted so far.
func (p *port) seen() (values []string, m accumulator.Mark, letters []checkpoint.DeadLetter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.all {
		values = append(values, p.all[i].Value.String())
	}
	return values, p.mark, p.letters
}

// handoffs is how many there were.
func (p *port) handoffs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.puts
}

func (p *port) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.health)
}

// balance checks M42 over everything admitted.
func (p *port) balance(t *testing.T, received int64) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	c, out := p.mark.Counters, int64(0)
	for i := range p.all {
		out += p.all[i].Events
	}
	if c.Received != received || c.Filtered+c.Rejected+c.DeadLettered+c.Open+out != received {
		t.Errorf("the books do not balance: %+v, %d handed over, want %d received", c, out, received)
	}
}

// script is a source that does what it is told, step by step.
type script struct {
	steps []func(ctx context.Context, from []boundary.Position, out accumulator.Out) error
}

// Run implements [accumulator.Source].
func (s *script) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	for _, step := range s.steps {
		if err := step(ctx, from, out); err != nil {
			return err
		}
	}
	return nil
}

func scripted(steps ...func(ctx context.Context, from []boundary.Position, out accumulator.Out) error) *script {
	return &script{steps}
}

// emit hands over the events lo … hi-1 strictly after the position it starts from, in batches of three.
func emit(lo, hi int64) func(context.Context, []boundary.Position, accumulator.Out) error {
	return func(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
		start := lo
		for _, p := range from {
			start = max(start, p.Offset)
		}
		var batch []boundary.Event
		for i := start; i < hi; i++ {
			batch = append(batch, *pulled(i+1, fmt.Sprint(i)))
			if len(batch) == 3 || i == hi-1 {
				if err := out.Emit(ctx, batch); err != nil {
					return err
				}
				batch = nil
			}
		}
		return nil
	}
}

// untilStopped waits until the source is stopped, as one without end does.
func untilStopped(ctx context.Context, _ []boundary.Position, _ accumulator.Out) error {
	<-ctx.Done()
	return ctx.Err()
}

// running is a Unit under test.
type running struct {
	*Unit
	port *port
	box  *Mailbox
	stop context.CancelFunc
	done chan error
}

// start runs a Unit of a declaration, resuming from mark.
func start(
	t *testing.T, a spec.Accumulator, src accumulator.Source, p *port, box *Mailbox, mark accumulator.Mark,
) *running {
	t.Helper()
	core := newCore(t, a)
	if err := core.Restore(encoded(mark), mark.Counters, mark.Positions); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{port: p, box: box, stop: cancel, done: make(chan error, 1)}
	r.Unit = New(Config{Name: "ticks", Core: core, Source: src, From: mark.Positions, Mailbox: box, Port: p})
	go func() { r.done <- r.Run(ctx) }()
	return r
}

// end stops the Unit and waits for it.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("Run after a soft stop: %v", err)
	}
	r.box.Close()
}

// push pushes texts and returns the answer on a channel.
func (r *running) push(ctx context.Context, texts ...string) <-chan PushOutcome {
	out := make(chan PushOutcome, 1)
	evs := make([]boundary.Event, len(texts))
	for i, s := range texts {
		evs[i] = *pushed(s)
	}
	go func() {
		o, err := r.box.Push(ctx, evs)
		if err != nil {
			o.Rejected = append(o.Rejected, Rejection{Code: err.Error()})
		}
		out <- o
	}()
	synctest.Wait()
	return out
}
