package flow

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/drive"
	"github.com/graphd/graphd/internal/timeline"
)

// DefaultIdle is how long a stream that is behind is waited for, and after how long a silence of
// all engine time goes on without events.
const DefaultIdle = 10 * time.Second

// heldLasts is how long somebody is waited for until it is worth telling: from one batch of a source to
// the next it is always so.
const heldLasts = int64(time.Second)

// TurnWithin is for how long epochs run before the reactor looks at everything else again, by what they take: a
// fraction of what somebody notices. Who is at that has had one epoch at least.
const TurnWithin = 10 * time.Millisecond

// turnEvents is how many events are folded before the reactor looks at its commands again.
const turnEvents = 1024

// Host is the reactor that a flow is part of. The flow calls it on the reactor's goroutine.
type Host interface {
	// Grant is how many epochs may run in this turn; it is asked when the first is called for.
	Grant(now time.Time) int
	// Open says whether anything may be taken in at all.
	Open() bool
	// Called says whether somebody waits for the turn to end, Deserted that who asked for the next
	// epoch has gone.
	Called() bool
	Deserted() bool
}

// Lanes are the accounts of how much waits in front of the core.
type Lanes interface {
	Roomy(input int) bool
	Took(input int, h *accumulator.Handoff)
	Free(input int, freed reactor.Credit)
}

// Config is what a Flow is made of.
type Config struct {
	Core  *reactor.Core
	Host  Host
	Lanes Lanes
	// Wake has the reactor look at what has come; it never blocks.
	Wake func()
	// Now is the wall clock, Mono the monotonic one in nanoseconds.
	Now  func() time.Time
	Mono func() int64
	// Idle is described at [DefaultIdle]; 0 is that.
	Idle time.Duration
	// MarkEvery is how long a mark may lag behind.
	MarkEvery time.Duration
}

// Flow is the inputs of one graph under the event clock. It belongs to the reactor's goroutine.
type Flow struct {
	Config
	drive   *drive.Drive
	order   *timeline.Order
	entries []entry
	owners  []belongs // by the order's streams
	// base is the engine time at the last event, stirred when that was, by the monotonic clock.
	base    time.Time
	stirred int64
	idle    int64
	newest  int64 // the greatest time of an event that has come
	stuck   int   // inputs whose room is used up

	trailing int // inputs that trail, see [Flow.trail]

	parcels  []*pump.Parcel
	handoff  accumulator.Handoff
	turn     time.Time     // when the turn began, by the wall clock
	left     int           // epochs that may still run in this turn; -1 when nobody has asked yet
	fired    int           // in this turn
	took     time.Duration // by these
	burst    int           // fired, when the graph last began to come to rest
	waits    time.Duration // how long nothing will be due, as of the last turn
	mono     int64         // the monotonic clock, as of the turn, less what it went on by unseen
	looked   int64         // the monotonic clock, when it was looked at
	rests    time.Duration // in how long it should be looked at again
	unseen   int64         // what it went on by beyond that
	heldBy   string        // who is waited for, "" for nobody
	heldFor  string        // who was, when that was first so, and
	heldFrom int64         // since when
	starving bool          // a line was told that it is
	told     int           // of how many events that wait it is known what they will call for
}

// entry is one input's place in the flow.
type entry struct {
	line    *pump.Line // nil between two incarnations
	streams map[string]*staged
	whole   int // the order's number of the source as a whole, which has no events
	pushes  int // that of the pushes
	behind  bool
	down    bool  // the source is disconnected
	looks   bool  // the source can be asked whether there is more
	asked   int64 // the newest look that it was asked for, and
	looked  int64 // the newest that is done
	pushing bool  // there are pushed events, and the other sources were asked since they came
	count   int   // events of the source that wait
	ending  bool  // the source has returned
	held    pace.Held
	stuck   bool // its room in front of the core is used up
	trails  bool // see [Flow.trail]
	begun   bool // it has had a line
	marked  time.Time
	anew    bool               // its state knows another time, or none: see [Flow.begins]
	scout   *accumulator.Taker // nil: what its events will be cannot be told
	coming  coming             // of the pushes
}

// staged is what waits of one stream, in its order.
type staged struct {
	name   string
	number int // the order's
	behind bool
	held   bool // something of it is here, and its source is held back with it
	queue  []*pump.Parcel
	head   int // of queue
	next   int // in that: the event
	coming coming
}

// belongs says whose a stream of the order is.
type belongs struct {
	input  int
	stream *staged // nil for the pushes and for the source as a whole
}

// New makes a flow that goes on from the core's engine time.
func New(cfg Config) *Flow {
	f := &Flow{Config: cfg, idle: int64(cfg.Idle), newest: timeline.Never}
	if f.idle <= 0 {
		f.idle = int64(DefaultIdle)
	}
	f.order = timeline.New(f.idle)
	f.drive = drive.New(f.Core, f.order, events{f}, runner{f}, f.Core.Now())
	f.looked = f.Mono()
	f.mono = f.looked
	f.base, f.stirred = f.drive.Time(), f.mono
	f.entries = make([]entry, len(f.Core.Config().Inputs))
	for i := range f.entries {
		e := &f.entries[i]
		e.anew = cfg.Core.OtherClock()
		e.whole, e.pushes, e.streams = f.add(i, nil), f.add(i, nil), map[string]*staged{}
		f.order.Rank(e.whole, rank(i, 0))
		f.order.Rank(e.pushes, rank(i, 1))
	}
	return f
}

// Enter takes input i's new line. What is left of the old one is void.
func (f *Flow) Enter(i int, l *pump.Line) {
	f.Leave(i)
	e := &f.entries[i]
	e.line, e.down, e.ending, e.marked = l, false, false, f.Now()
	if e.scout = nil; f.Core.Foresees(i) {
		e.scout = l.Core().Scout()
	}
	e.behind, e.looks = l.Follows(), l.CanLook()
	l.Hand(f.Wake)
	f.look()
	f.await(e)
	if e.begun || f.Core.Trails(i) {
		f.trail(i)
	}
	e.begun = true
	f.drive.Enter(i, l.Core())
	if now := f.drive.Time(); !now.IsZero() {
		f.begins(now)
	}
}

// Leave takes input i's line out: its core has the mark, and what waits is void. The others go on
// waiting for it as long as they would for one that is silent.
func (f *Flow) Leave(i int) {
	e := &f.entries[i]
	if e.line == nil {
		return
	}
	f.Settle()
	e.line.Leave()
	f.forgo(&e.coming, len(e.coming))
	behind := e.behind && !e.down
	for _, s := range e.streams {
		f.forgo(&s.coming, len(s.coming))
		behind = behind || s.behind && !e.down || s.held || s.head < len(s.queue)
		f.order.Drop(s.number)
		f.owners[s.number] = belongs{}
	}
	e.line, e.streams, e.count, e.held = nil, map[string]*staged{}, 0, pace.Free
	f.drive.Enter(i, nil)
	e.behind = behind && !e.ending
	e.unasked()
	f.order.Clear(e.pushes)
	f.look()
	f.await(e)
	f.unstick(i)
}

// End takes all lines out: what they have folded is handed over, the rest is void.
func (f *Flow) End() {
	for i := range f.entries {
		f.Leave(i)
	}
}

// look tells the time. What has passed since the flow should have been woken, and was not, does not count:
// a process that was stopped, or had no processor, has heard nothing of anybody, and that is not a silence.
func (f *Flow) look() {
	now := f.Mono()
	f.unseen += max(0, now-f.looked-int64(f.rests)-f.glance())
	f.looked, f.mono = now, now-f.unseen
}

// glance is how often the flow looks up while a silence matters.
func (f *Flow) glance() int64 { return max(f.idle/10, int64(time.Millisecond)) }

// listen wakes the flow in so long that a silence can be over, at the latest.
func (f *Flow) listen(most int64) { f.waits = time.Duration(min(most, f.glance())) }

// Time is the engine time; zero before it has begun.
func (f *Flow) Time() time.Time { return f.drive.Time() }

// Begun is the engine time of a command that makes an epoch. Time that has not begun begins with the
// wall clock.
func (f *Flow) Begun() time.Time {
	if now := f.Now(); f.drive.Begin(now) {
		f.look()
		f.base, f.stirred = now, f.mono
	}
	return f.drive.Time()
}

// begins says where engine time has begun to what has a state of before, or of the other clock.
func (f *Flow) begins(at time.Time) {
	for i := range f.entries {
		if e := &f.entries[i]; e.anew && e.line != nil {
			e.line.Core().Restarted(at)
			e.anew = false
		}
	}
}

// Stir says that something has changed that an epoch may follow from.
func (f *Flow) Stir() { f.drive.Stir() }

// Waits is how long nothing will be due, as of the last turn.
func (f *Flow) Waits() time.Duration { return f.waits }

// HeldBy is the input, and the stream of it, that the others have been waiting for, for a second and
// more; "" for none.
func (f *Flow) HeldBy() string {
	if f.mono-f.heldFrom < heldLasts {
		return ""
	}
	return f.heldBy
}

// Through says that nothing waits whose turn it could be.
func (f *Flow) Through() bool {
	_, _, waits := f.order.First()
	return !waits && !f.drive.Open()
}
