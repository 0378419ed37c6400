// Package pace holds back what a source reads, and says so: events that are here and may not come in yet are no
// silence of their source (M26). Begin with [Gate].
//
// # Concurrency
//
// A Gate belongs to the source's goroutine. A Deafness is safe for concurrent use. Nothing is started.
package pace

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Pace says when events of a source may come in.
type Pace interface {
	// Wait lets so many events in as soon as there is room for them; bytes are those they came as. waits is told
	// before it waits, and again when that changes: lasting says that it may take for as long as the graph keeps what
	// it has, and not only until some time has passed. It is nil where nobody asks.
	Wait(ctx context.Context, events int, bytes int64, waits func(lasting bool)) error
	// Most is how many to let in at once, so that nobody is silent for long; 0 is any number.
	Most() int
}

// Held is how what is here of a stream is held back.
type Held uint8

// The ways in which it is.
const (
	Free    Held = iota
	Passing      // until some time has passed: whoever goes by the order of events waits for it
	Lasting      // until there is room, which the events of others and the time may have to make
)

// Gate lets the events of one source in as its pace says.
type Gate struct {
	pace  Pace
	tell  func(stream string, h Held)
	waits func(lasting bool)

	rest []boundary.Event // what is here and has not come in
	said Held
	told []string // the streams of which it was said
}

// maxTold bounds the streams of one batch of which it is told that they are held back.
const maxTold = 64

// NewGate makes a Gate; a nil pace lets everything in.
func NewGate(p Pace) *Gate {
	g := &Gate{pace: p}
	g.waits = func(lasting bool) {
		h := Passing
		if lasting {
			h = Lasting
		}
		g.say(h)
	}
	return g
}

// Tell has tell told, on the source's goroutine, when what is here of a stream begins to be held back, and when all
// that is goes on: then stream is "". It is called before the source runs; nil tells nobody.
func (g *Gate) Tell(tell func(stream string, h Held)) { g.tell = tell }

// Admit waits until the first of events may come in, and answers with how many of the first most of them. What is held
// back is so until [Gate.Done].
func (g *Gate) Admit(ctx context.Context, events []boundary.Event, most int) (n int, err error) {
	n = most
	if g.pace == nil {
		return n, nil
	}
	if m := g.pace.Most(); m > 0 {
		n = min(n, m)
	}
	bytes := int64(0)
	for i := range events[:n] {
		bytes += int64(len(events[i].Raw))
	}
	g.rest = events
	err = g.pace.Wait(ctx, n, bytes, g.waits)
	g.rest = nil
	return n, err
}

// Done says that nothing is here any more.
func (g *Gate) Done() {
	if g.said == Free {
		return
	}
	g.said, g.told = Free, g.told[:0]
	g.tell("", Free)
}

// say tells of the streams that have something here. A batch is of one stream, or of a few.
func (g *Gate) say(h Held) {
	if g.tell == nil {
		return
	}
	if h != g.said {
		g.said, g.told = h, g.told[:0]
	}
	last := ""
	for i := range g.rest {
		name := g.rest[i].Pos.Stream
		if i > 0 && name == last || len(g.told) >= maxTold {
			continue
		}
		if last = name; !slices.Contains(g.told, name) {
			g.told = append(g.told, name)
			g.tell(name, h)
		}
	}
}

// Deafness is for how long nobody has listened to a source, since what was here of it was held back.
type Deafness struct {
	any atomic.Bool

	mu    sync.Mutex
	sum   time.Duration // over, and not counted
	since time.Time     // of that which goes on; zero while none does
}

// Begin says that what is here is held back from now on.
func (d *Deafness) Begin(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	d.any.Store(true)
}

// End says that it is not any more.
func (d *Deafness) End(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.since.IsZero() {
		d.sum += max(0, now.Sub(d.since))
		d.since = time.Time{}
	}
}

// Count has count take note of it; what that says is too short is forgotten once it is over.
func (d *Deafness) Count(now time.Time, count func(time.Duration) bool) {
	if !d.any.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all, on := d.sum, !d.since.IsZero()
	if on {
		all += max(0, now.Sub(d.since))
	}
	counted := count(all)
	if counted || !on {
		d.sum = 0
	}
	if counted && on {
		d.since = now
	}
	d.any.Store(on)
}
