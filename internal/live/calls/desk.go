// Package calls makes the calls that the nodes of a graph ask for, beside the reactor that asks (0285).
//
// A [Desk] is told by its reactor what the core has asked for, and gives the core the answers when the reactor looks
// again. Each node has so many calls on their way as its declaration says, and the rest waits here in order; what no
// epoch asks for any more by then is not called for. A [Command] is an epoch that somebody commands, and waits for.
//
// # Concurrency
//
// A Desk is for the reactor's goroutine, but for Command and Told. Each call is a goroutine of its own, which ends
// with the call or with Close, and is joined by Close.
package calls

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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
	// commands are commanded epochs that have missed an answer, of callers that may have gone.
	commands []*Command

	mu   sync.Mutex
	came []outcome // and not taken
}

// line is what one node calls.
type line struct {
	name    string
	client  kind.Client
	most    int
	under   int // calls that are on their way
	waiting []placed
	known   map[question]bool // that wait or are on their way
	epoch   int64             // before the next, when that was first seen to wait for an answer of the node

	// What an operator sees: how many calls are on their way and wait, and since when, in Unix nanoseconds, the next
	// epoch waits for one; 0 while it does not; and how many answers were remembered ones.
	out, queued   atomic.Int32
	since, cached atomic.Int64
}

// Foresee are the questions of so many epochs at most whose events wait for their turn: see [reactor.Core.Foresee].
type Foresee func(most int, within time.Duration) (asks []reactor.Ask, more bool)

// placed is a question that waits for its turn; ahead is that it is of an epoch behind the next.
type placed struct {
	reactor.Ask
	ahead bool
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
	d := &Desk{core: core, wake: wake, lines: map[int]*line{}, most: time.Hour}
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

// Take gives the core what has come, and reports whether there was something. Commands that wait for it are tried with
// it: it comes before anything is admitted or fired that would change what they ask for.
func (d *Desk) Take(now time.Time) bool {
	if d == nil {
		return false
	}
	d.forget()
	d.mu.Lock()
	came := d.came
	d.came = nil
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
	d.retry(now)
	d.news = true
	return true
}

// place has questions asked; ahead is that they are of epochs behind the next.
func (d *Desk) place(asks []reactor.Ask, ahead bool) {
	for i := range asks {
		l, q := d.lines[asks[i].Node], question{asks[i].Key, asks[i].ID}
		if l.known[q] {
			if !ahead && l.hasten(q) {
				d.begin(asks[i].Node)
			}
			continue
		}
		l.known[q] = true
		l.waiting = append(l.waiting, placed{asks[i], ahead})
		d.begin(asks[i].Node)
	}
}

// hasten has a question asked as one of the next epoch, if it waits as one behind that.
func (l *line) hasten(q question) bool {
	for i := range l.waiting {
		if w := &l.waiting[i]; w.ahead && w.Key == q.key && w.ID == q.id {
			w.ahead = false
			return true
		}
	}
	return false
}

// Look asks what the core has asked for since it last fired, and what it will ask for next in so many epochs at most,
// which are run for that: within a time, and more says that there are others. foresee, if not nil, is the same for
// epochs whose events wait for their turn. While the core does not fire with what has come, in a pause for one, nothing
// more is asked.
func (d *Desk) Look(most int, within time.Duration, foresee Foresee) (more bool) {
	if d == nil {
		return false
	}
	asking := d.core.Asking()
	if asking && !d.news {
		d.place(d.core.Asked(), false)
		var asks []reactor.Ask
		asks, more = d.core.Ahead(min(most, d.ahead), within)
		d.place(asks, true)
		if foresee != nil && !more {
			asks, more = foresee(d.ahead, within)
			d.place(asks, true)
		}
	}
	for node, l := range d.lines { // each by itself: the order does not matter
		l.notice(asking && slices.ContainsFunc(d.core.Asked(), func(a reactor.Ask) bool { return a.Node == node }),
			d.core.Epoch())
		l.cached.Store(d.core.Remembered(node))
	}
	return more
}

// notice notes whether the epoch behind this one waits for an answer of the node.
func (l *line) notice(waits bool, epoch int64) {
	switch {
	case !waits:
		l.since.Store(0)
	case l.since.Load() == 0 || l.epoch != epoch:
		l.since.Store(time.Now().UnixNano())
	}
	l.epoch = epoch
}

// begin makes calls of a node while there is room.
func (d *Desk) begin(node int) {
	l := d.lines[node]
	for l.under < l.most {
		ask, ok := l.next(d.core)
		if !ok {
			break
		}
		l.under++
		d.out.Go(func() { d.call(l.client, &ask) })
	}
	l.out.Store(int32(l.under))
	l.queued.Store(int32(len(l.waiting)))
}

// next is the first question that is to be asked now. What no epoch wants any more goes, and what is asked ahead stays
// while there are as many answers as there may be.
func (l *line) next(core *reactor.Core) (ask reactor.Ask, ok bool) {
	for i := 0; i < len(l.waiting); {
		w := l.waiting[i]
		wanted := core.Wanted(&w.Ask)
		if wanted && w.ahead && core.Brimful() {
			i++
			continue
		}
		l.remove(i)
		if wanted {
			return w.Ask, true
		}
		delete(l.known, question{w.Key, w.ID})
	}
	return ask, false
}

func (l *line) remove(i int) {
	if i > 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.waiting[0] = placed{}
	l.waiting = l.waiting[1:]
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
	d.came = append(d.came, outcome{ask.Node, question{ask.Key, ask.ID}, answer, none})
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

// Holds reports whether nothing is to be admitted: it would change what the epoch that waits, or a command, has asked
// for.
func (d *Desk) Holds() bool {
	return d != nil && (d.core.Asking() || len(d.commands) > 0) && !d.core.Steady()
}

// Stands reports whether time is not to go on either, for what is due by it would change what the epoch that waits has
// asked for. A command tells the time itself.
func (d *Desk) Stands() bool { return d.Holds() && d.core.Asking() }

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

// Told is what an operator sees of the calls, by node. It may be called from any goroutine.
func (d *Desk) Told() map[string]kind.Told {
	if d == nil {
		return nil
	}
	all := make(map[string]kind.Told, len(d.lines))
	for _, l := range d.lines {
		t := l.client.Told()
		t.Out, t.Waiting, t.Cached = int(l.out.Load()), int(l.queued.Load()), l.cached.Load()
		if since := l.since.Load(); since != 0 {
			t.WaitedFor = time.Unix(0, since)
		}
		all[l.name] = t
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
