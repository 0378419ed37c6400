// Package calls makes the calls that the nodes of a graph ask for, beside the reactor that asks (0285).
//
// A [Desk] is told by its reactor what the core has asked for, and gives the core the answers when the reactor looks
// again. Each node has so many calls on their way as its declaration says, and the rest waits here in order.
//
// # Concurrency
//
// A Desk is for the reactor's goroutine, but for Changed and Told. Each call is a goroutine of its own, which ends
// with the call or with Close, and is joined by Close.
package calls

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor"
)

// Desk makes the calls of one graph. Nil makes none.
type Desk struct {
	core  *reactor.Core
	wake  func()
	lines map[int]*line // by node
	ahead int           // how many keys are looked at ahead
	most  time.Duration // how long a call may take with all its tries: as long as an epoch waits
	news  bool          // something has come since the last try of the epoch that waits
	out   sync.WaitGroup
	ctx   context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	came    []outcome     // and not taken
	changed chan struct{} // closed when something is taken
}

// line is what one node calls.
type line struct {
	name    string
	client  kind.Client
	most    int
	under   int // calls that are on their way
	waiting []reactor.Ask
	known   map[question]bool // that wait or are on their way
}

type question struct {
	key boundary.Key
	id  kind.RequestID
}

type outcome struct {
	node int
	question
	answer kind.Answer
	none   bool // there is no answer: the time of its epoch is over
}

// New makes the desk of a core, nil for one that calls nobody. wake has the reactor look again, and never blocks.
func New(core *reactor.Core, wake func()) *Desk {
	callers := core.Config().Plan.Callers()
	if len(callers) == 0 {
		return nil
	}
	d := &Desk{core: core, wake: wake, lines: map[int]*line{}, changed: make(chan struct{}), most: time.Hour}
	if most := core.Config().EpochTimeout; most > 0 {
		d.most = most
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	for _, c := range callers {
		most := max(c.Concurrency(), 1)
		d.lines[c.Node] = &line{name: c.Name, client: c.Open(nil), most: most, known: map[question]bool{}}
		// Twice as many: while the first is slow, those behind it go on.
		d.ahead = max(d.ahead, 2*most)
	}
	return d
}

// Take gives the core what has come, and reports whether there was something.
func (d *Desk) Take() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	came, changed := d.came, d.changed
	if len(came) > 0 {
		d.came, d.changed = nil, make(chan struct{})
	}
	d.mu.Unlock()
	if len(came) == 0 {
		return false
	}
	for i := range came {
		l := d.lines[came[i].node]
		l.under--
		delete(l.known, came[i].question)
		if !came[i].none {
			d.core.Answer(came[i].key, came[i].node, came[i].id, &came[i].answer)
		}
	}
	for node := range d.lines { // each by itself: the order does not matter
		d.begin(node)
	}
	d.news = true
	close(changed)
	return true
}

// Place has questions asked.
func (d *Desk) Place(asks []reactor.Ask) {
	if d == nil {
		return
	}
	for i := range asks {
		l, q := d.lines[asks[i].Node], question{asks[i].Key, asks[i].Request.ID()}
		if l.known[q] {
			continue
		}
		l.known[q] = true
		l.waiting = append(l.waiting, asks[i])
		d.begin(asks[i].Node)
	}
}

// Look asks what the core has asked for since it last fired, and what it will ask for next. While it does not fire with
// what has come, in a pause for one, nothing more is asked.
func (d *Desk) Look() {
	if d != nil && !d.news && d.core.Asking() {
		d.Place(d.core.Asked())
		d.Place(d.core.Ahead(d.ahead))
	}
}

// begin makes calls of a node while there is room.
func (d *Desk) begin(node int) {
	l := d.lines[node]
	for l.under < l.most && len(l.waiting) > 0 {
		ask := l.waiting[0]
		l.waiting[0] = reactor.Ask{}
		l.waiting = l.waiting[1:]
		l.under++
		d.out.Go(func() { d.call(l.client, &ask) })
	}
}

func (d *Desk) call(client kind.Client, ask *reactor.Ask) {
	ctx, cancel := context.WithTimeout(d.ctx, d.most)
	defer cancel()
	answer, err := protect(ctx, client, &ask.Request)
	if err != nil && d.ctx.Err() != nil {
		return // nobody waits any more
	}
	none := err != nil && ctx.Err() != nil
	if err != nil {
		answer = kind.Answer{Code: "call_failed", Text: err.Error()}
	}
	d.mu.Lock()
	d.came = append(d.came, outcome{ask.Node, question{ask.Key, ask.Request.ID()}, answer, none})
	d.mu.Unlock()
	d.wake()
}

// protect makes a call. A panic in it is a call that failed, and takes nothing else down.
func protect(ctx context.Context, client kind.Client, r *kind.Request) (a kind.Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in the call: %v", v)
		}
	}()
	return client.Call(ctx, r)
}

// Waits reports whether the next epoch waits for an answer and nothing has come since it was tried.
func (d *Desk) Waits() bool {
	return d != nil && d.core.Asking() && !d.news && d.core.Patience() > 0
}

// Holds reports whether nothing is to be admitted: it would change what the epoch that waits has asked for.
func (d *Desk) Holds() bool { return d != nil && d.core.Asking() && !d.core.Steady() }

// Tried says that the core fires now.
func (d *Desk) Tried() {
	if d != nil {
		d.news = false
	}
}

// Stir says that something has changed that the next epoch may follow from.
func (d *Desk) Stir() {
	if d != nil {
		d.news = true
	}
}

// Changed is closed when the core has been given answers.
func (d *Desk) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Told is what an operator sees of the calls, by node. It may be called from any goroutine.
func (d *Desk) Told() map[string]kind.Told {
	if d == nil {
		return nil
	}
	all := make(map[string]kind.Told, len(d.lines))
	for _, l := range d.lines {
		all[l.name] = l.client.Told()
	}
	return all
}

// Close gives up what is on its way, and waits for it. The core is not given any more.
func (d *Desk) Close() {
	if d == nil {
		return
	}
	d.end()
	d.out.Wait()
	for _, l := range d.lines {
		l.client.Close()
	}
}
