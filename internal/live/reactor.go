package live

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/live/calls"
	"github.com/graphd/graphd/internal/live/flow"
	"github.com/graphd/graphd/internal/live/reach"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/sink"
)

// ErrStopped answers a function that came after the reactor had ended.
var ErrStopped = errors.New("the reactor has stopped")

// ErrDisowned ends a reactor whose graph may be another daemon's by now (M45).
var ErrDisowned = errors.New("this daemon is not known to own the graph any more")

const (
	// fireBatch is how many epochs run before the reactor looks at its inbox, commands and
	// timers again: at a microsecond an epoch they wait a fraction of a millisecond at most (M27).
	fireBatch = 256
	// fireWithin is for how long they may run: where an epoch takes a second outputs do not wait for minutes.
	fireWithin = flow.TurnWithin
	// sealLetters asks for a checkpoint early.
	sealLetters = 1_000
	// linger and lingerEpochs are how long values of an outbox or a co-transaction wait for
	// others to share their commit (M30).
	linger       = 5 * time.Millisecond
	lingerEpochs = 100
	// maxHeld and maxHeldBytes bound the values that wait for a commit, the one in flight
	// included. Past them the reactor does not fire: a commit takes milliseconds, so only a
	// store that is slow or away comes to that.
	maxHeld      = 10_000
	maxHeldBytes = 64 << 20
	// commitTimeout bounds one commit; past it the outcome is unknown and the graph reloads.
	commitTimeout = 30 * time.Second
	// provenAfter is how long a start must last to count as good (M43).
	provenAfter = 5 * time.Second
)

// Reactor is the one goroutine that owns a live Core.
type Reactor struct {
	Options
	commands chan command
	refused  chan *refusal  // nil without writers
	commits  chan committed // capacity 1: one is under way; nil before the first
	room     chan struct{}  // capacity 1: a writer has room again
	stopped  chan struct{}  // closed when Run has returned

	inflight   *flight
	committing sync.WaitGroup
	spawn      func(f func()) // runs a call to the store beside the reactor; joined by committing
	reach      reach.Calls    // to the store, beside the reactor: they end when a shutdown has no time left
	seq        int64
	nextSeal   time.Time
	started    time.Time
	care       caution
	sealed     *CheckpointStatus
	complained time.Time // when failing checkpoints were last logged; zero while they succeed
	waiters    []waiter
	staged     [][]sink.Message
	watchAt    time.Time // when Watch wants to be called again
	pipe       pipeline
	lingerTo   time.Time                // when held messages must be committed; zero when none waits
	marked     []int64                  // per output, the last entry that a commit has marked as delivered
	carried    []int64                  // per output, the last message of the direct path that a commit carried
	persist    map[int]reactor.Obstacle // by reason; nil before the first
	out        []sink.Message           // reused
	sealedTo   int64                    // the epoch of the last seal
	kept       int64                    // epochs, when Kept was called last

	shown    publisher
	weighing weighing
	// Flags stand together: there is a reactor for every graph, and many rest. It is held until Release.
	sealNow, proven, held bool
	free                  bool          // nothing but the criteria kept it from firing in this turn
	queues                bool          // it has found Epochs full, and has not been through since
	granted               bool          // in this turn of the flow, a place among those who run epochs
	rests                 time.Duration // for how long it is to run no epoch, as of this turn
	stepping              *stepping     // a Step that goes on; nil for none
	resting               []resting
	resent                []resent
	flow                  *flow.Flow  // under the event clock; nil under the arrival clock
	desk                  *calls.Desk // makes what nodes call; nil where none does
	// fullSince is since when an input is full and no epoch has run, fullEpoch the last one then;
	// zero while that is not so.
	fullSince time.Time
	fullEpoch int64
}

// New makes a reactor; Run it on a goroutine of its own.
func New(o Options) *Reactor {
	o.Term = cmp.Or(o.Term, context.Background())
	if o.Clock == nil {
		o.Clock = NewClock()
	}
	r := &Reactor{
		Options: o, commands: make(chan command, commandCapacity), room: make(chan struct{}, 1),
		stopped: make(chan struct{}), seq: o.Head.Seq, care: newCaution(o.Head),
		staged: make([][]sink.Message, len(o.Writers)), marked: make([]int64, len(o.Writers)),
		carried: make([]int64, len(o.Writers)),
	}
	r.spawn = r.committing.Go
	r.pipe.durable = o.Core.JournalSeq()
	r.pipe.mark.Raise(r.pipe.durable)
	if o.Core.Config().Journal {
		o.Inbox.KeepJournal()
		r.pipe.appends = make(chan appended, 1)
		r.sealNow = r.sealNow || o.Core.Changed() // what was replayed is not replayed twice
	}
	for i, w := range o.Writers {
		if w != nil {
			r.refused = cmp.Or(r.refused, make(chan *refusal, maxRefusals))
			r.marked[i] = w.Delivered()
			r.obey(reactor.Part{Output: true, Index: i})
			r.carried[i] = w.Carried()
		}
	}
	r.Head, r.sealed = nil, &CheckpointStatus{Epoch: o.Head.Epoch, At: o.Head.At, Received: r.received()}
	if r.held = o.Hold; r.held {
		o.Inbox.hold()
	}
	r.flow = newFlow(r)
	r.desk = calls.New(o.Core, r.Room)
	r.publish(r.Clock.Now())
	return r
}

// Room wakes the reactor when a writer's queue has room again. It never blocks.
func (r *Reactor) Room() {
	select {
	case r.room <- struct{}{}:
	default:
	}
	r.Inbox.bell.Ring()
}

// Run fires until ctx is done, then stops at the epoch boundary, waits for the writers to
// be flushed, takes the final checkpoint and gives the graph back (M38). Any other return
// is an error: the graph is to be rebuilt from its last checkpoint.
func (r *Reactor) Run(ctx context.Context) error {
	return rest.Through(func() error { return r.Work(ctx) })
}

// Work is [Reactor.Run] that answers a [*rest.Rest] when there has been nothing to do for a while.
func (r *Reactor) Work(ctx context.Context) error {
	r.started = r.Clock.Now()
	r.nextSeal = r.started.Add(r.Interval)
	r.weighing.changed = r.Meter != nil
	return rest.Then(func() error { return r.work(ctx) }, r.end)
}

// work fires until there is nothing to do or the reactor ends.
func (r *Reactor) work(ctx context.Context) error {
	err := r.loop(ctx)
	if rest.Of(err) == nil {
		r.publish(r.Clock.Now())
	}
	return err
}

// end is the last of a reactor, whatever ends it.
func (r *Reactor) end() {
	defer close(r.stopped)
	defer r.pipe.mark.End(ErrStopped)
	defer r.Inbox.Close()
	defer r.giveTurn()
	defer r.Careful.forget(r)
	defer r.reach.CutOff()
	defer r.committing.Wait()
	defer r.Epochs.forget(r)
	defer r.desk.Close()
	defer r.Meter.Left(r.Core.Config().ID.Shard)
}

func (r *Reactor) loop(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var quiet time.Time // since when there has been nothing to do; zero while there is
	for ctx.Err() == nil {
		if r.disowned() {
			return ErrDisowned
		}
		now := r.lookUp()
		r.shown.turn.Store(now.UnixNano())
		work := r.Hands.Begin()
		busy, err := r.turn(now)
		r.Meter.Worked(r.Core.Config().ID.Shard, work.Took())
		if err != nil {
			return err
		}
		if busy {
			quiet = time.Time{}
			continue
		}
		sleep := r.sleep(now)
		if quiet.IsZero() {
			quiet = work.Began
		}
		if r.calm(sleep) {
			if work.Began.Sub(quiet) >= restAfter {
				r.shown.turn.Store(0)
				return r.rest(ctx, sleep)
			}
			sleep = min(sleep, restAfter)
		}
		timer.Reset(min(sleep, time.Hour))
		r.shown.turn.Store(0)
		if err := r.wait(ctx, timer.C); err != nil {
			return err
		}
	}
	if r.disowned() {
		return ErrDisowned
	}
	return r.shutDown(ctx)
}

// beginTime goes on from the engine time that was persisted. One that is far ahead of the wall
// clock comes from a clock that was set wrongly: it is not gone on from, or everything would
// be late until the wall clock has got there.
func (r *Reactor) beginTime() {
	now := r.Clock.Now()
	if ahead := r.Core.Now().Sub(now); ahead > maxAhead {
		r.Log.Warn(
			"the engine time of the checkpoint is far ahead of the wall clock; the graph goes on from the wall clock",
			"ahead", ahead.Round(time.Second))
		r.Core.SetBack(now)
		return
	}
	r.Clock.resume(r.Core.Now())
}

// lookUp is the engine time of a turn. When the wall clock has stepped, health says so.
func (r *Reactor) lookUp() time.Time {
	now, step := r.Clock.check()
	r.Core.SetClockStep(step)
	return now
}

// disowned is looked at before anything leaves the graph.
func (r *Reactor) disowned() bool { return r.Owned != nil && !r.Owned() }

// turn does one round of everything that is due and reports whether there may be more.
func (r *Reactor) turn(now time.Time) (busy bool, err error) {
	if err := r.collect(now); err != nil {
		return false, err
	}
	answered := r.desk.Take(r.engine(now))
	if answered && r.flow != nil {
		r.flow.Stir()
	}
	if busy = r.admit(now); busy {
		r.Fail.Hit("admit")
	}
	busy = busy || answered
	if !r.desk.Stands() {
		r.Core.Tick(r.engine(now))
	}
	for range len(r.commands) {
		r.carryOut(<-r.commands, now)
		busy = true
	}
	r.drainRefused()
	if r.deserted() {
		r.endSteps(context.Cause(r.stepping.caller))
	}
	r.rests = r.Meter.Rests()
	fired, free := r.fire(now)
	r.free = free
	busy = r.desk.Look(r.scouts(), fireWithin, r.foresees()) || busy || fired
	r.lookForFull(now)
	r.stepped(fired, free && !r.desk.Holds())
	if r.disowned() {
		return false, ErrDisowned
	}
	if kept := r.Core.Kept(); kept != r.kept {
		if r.kept = kept; r.Kept != nil {
			r.Kept()
		}
	}
	r.hand(now)
	r.takeBack(now)
	r.seal(now)
	r.write(now)
	if busy {
		r.shown.stirred = true
	} else {
		r.atRest()
	}
	r.show(now, busy)
	r.weigh(now, busy)
	return busy, nil
}

// collect takes in what became of commits and appends that have come back, if any. The
// order is fixed, so that the same happenings are the same run.
func (r *Reactor) collect(now time.Time) error {
	select {
	case done := <-r.pipe.appends:
		if err := r.appendDone(done, now); err != nil {
			return err
		}
	default:
	}
	select {
	case err := <-r.care.answered:
		if err := r.noted(err, now); err != nil {
			return err
		}
	default:
	}
	select {
	case done := <-r.commits:
		return r.commitDone(done)
	default:
		return nil
	}
}
