package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump/look"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/failpoint"
)

// LineConfig is what a Line is made of.
type LineConfig struct {
	// Name is the accumulator's, for errors.
	Name string
	// Core is restored already; it belongs to the reactor from then on.
	Core *accumulator.Core
	// Dater makes what reads the times of events; each call another.
	Dater func() *accumulator.Dater
	// Source is nil for an accumulator that is fed by its socket alone.
	Source accumulator.Source
	// From is where the source resumes: the positions of the mark that Core was restored from.
	From []boundary.Position
	// Mailbox outlives the Line.
	Mailbox *Mailbox
	// Port is the accumulator's way to tell its health. Nothing is put into it.
	Port accumulator.Port
	// Pace holds back what the source reads; nil for nothing.
	Pace Pace
	// Share is this shard's part of the events; nil where the graph is not dealt.
	Share *Share
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// Now is the wall clock, as far as it is to be trusted.
	Now func() time.Time
}

// Line is one accumulator of a graph under the event clock (M26). Its events are not folded as
// they come: they wait here, those of each stream in their order, until the reactor finds
// that it is their turn, and folds them itself. Run is for a goroutine of its own; the methods in
// turn.go and pushes.go are for the reactor's.
type Line struct {
	cfg  LineConfig
	own  *Loader // of what its source gives to it alone; nil without one
	wake func()  // wakes the reactor; set before anything is staged

	news atomic.Bool   // fresh is not empty
	room chan struct{} // capacity 1: something was taken off
	held bool          // it was told that something of the source is held back; of whose goroutine it is

	mu sync.Mutex
	// starved says that the graph waits for one of the source's streams, starving, "" for any: until
	// something of that is here, the others may stage more than their share, for what the graph waits
	// for may be behind it.
	starved  bool
	starving string

	fresh  []*Parcel // as they came, and not yet taken by the reactor
	spare  []*Parcel // used up, for reuse
	depths map[string]*depth
	staged int     // events, over all streams
	loader *Loader // of the last load; nil for none

	failed  chan error    // capacity 1: why the reactor has given the line up
	drained chan struct{} // closed when all that the source has said was folded

	pushes pushes
	*look.Looks
}

// depth is how much of one stream waits.
type depth struct {
	stream string
	events int
	bytes  int64
}

// Bounds of what waits of one stream, and of a source when the graph waits for one of its streams:
// as much as is read while a batch of epochs runs, and no more than memory has for many graphs.
const (
	maxStagedEvents = 2048
	maxStagedBytes  = 4 << 20
	maxStarved      = 16 // times as much, over all streams
)

// Parcel is one message of a source: some events of one stream, or a word about it.
type Parcel struct {
	Stream string // without its generation
	Events []boundary.Event
	// Times are when the events happen, in nanoseconds since 1970; [timeline.Never] is at the
	// present instant.
	Times  []int64
	Newest int64 // the greatest of Times
	// What it is besides.
	Kind ParcelKind
	Look int64     // that is done, of the kind Looked
	Held pace.Held // of the kind HeldBack

	load  *Load // whose events they are, from the first-th on; nil of a word
	first int
	depth *depth
}

// ParcelKind says what a Parcel is.
type ParcelKind uint8

// The kinds of parcels.
const (
	Events     ParcelKind = iota
	Advance               // the one event is a position only
	CaughtUp              // all there was of the stream has been handed over
	FellBehind            // there is more of the stream
	HealthSaid            // the source has told its health; see Line.Down
	HeldBack              // something of the stream is here, and may not come in yet; or, Free, nothing is any more
	Looked                // what a look has found has been handed over; see Line.Ask
	End                   // the source has returned
)

// NewLine makes a Line. It does nothing before Run.
func NewLine(cfg LineConfig) *Line {
	l := &Line{
		cfg: cfg, room: make(chan struct{}, 1), depths: map[string]*depth{},
		failed: make(chan error, 1), drained: make(chan struct{}), wake: func() {},
		Looks: look.New(),
	}
	if cfg.Source != nil {
		l.own = NewLoader(LoaderConfig{Dater: cfg.Dater, Pace: cfg.Pace, Share: cfg.Share})
		l.own.Gate.Tell(l.Held)
	}
	return l
}

// Follows reports whether the source tells when it has caught up with what there is.
func (l *Line) Follows() bool {
	f, ok := l.cfg.Source.(accumulator.Follower)
	return ok && f.Follows()
}

// Run runs the source until ctx is done, and then returns nil. When the source ends, pushes are
// served on. When the source fails, Run returns its error, wrapped, once what it had said is
// folded; a [*accumulator.DataLost] makes the health halted. What the reactor could not fold is a
// [*accumulator.PanicError]. It is called once, when the reactor has the line.
func (l *Line) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	ended := make(chan error, 1)
	if l.cfg.Source == nil {
		l.cfg.Port.Health(accumulator.SocketOnly, "", "")
	} else {
		l.cfg.Port.Health(accumulator.Connecting, "", "")
		wg.Go(func() { ended <- l.pull(ctx) })
	}
	err := l.await(ctx, ended)
	if ctx.Err() != nil && !isPanic(err) || err == nil {
		return nil
	}
	if lost := new(accumulator.DataLost); errors.As(err, &lost) {
		l.cfg.Port.Health(accumulator.Halted, "source_data_lost", lost.Error())
	}
	return fmt.Errorf("accumulator %q: %w", l.cfg.Name, err)
}

// await waits for what ends the line.
func (l *Line) await(ctx context.Context, ended <-chan error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-l.failed:
		return err
	case err := <-ended:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.say(&Parcel{Kind: End})
		select {
		case <-l.drained:
		case <-ctx.Done():
			return ctx.Err()
		case poison := <-l.failed:
			return poison
		}
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	l.cfg.Port.Health(accumulator.Ended, "", "")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-l.failed:
		return err
	}
}

// pull runs the source.
func (l *Line) pull(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &accumulator.PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return l.cfg.Source.Run(ctx, l.cfg.From, l)
}

// Batch implements [accumulator.Recycler].
func (l *Line) Batch(n int) []boundary.Event { return l.own.Batch(n) }

// Emit implements [accumulator.Out].
func (l *Line) Emit(ctx context.Context, batch []boundary.Event) error {
	return l.own.Emit(ctx, l.cfg.Now(), batch, l.take(ctx))
}

// Refuse implements [accumulator.Out].
func (l *Line) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	return l.own.Refuse(ctx, ev, bad, l.take(ctx))
}

// Advance implements [accumulator.Out].
func (l *Line) Advance(ctx context.Context, pos boundary.Position) error {
	return l.own.Advance(pos, l.take(ctx))
}

// take takes what the source has given to this line alone.
func (l *Line) take(ctx context.Context) func(*Load) error {
	return func(d *Load) error { return l.Give(ctx, d, 0, alone) }
}

// Health implements [accumulator.Out].
func (l *Line) Health(h accumulator.Health, detail string) {
	code := ""
	if h == accumulator.Disconnected {
		code = "source_disconnected"
	}
	l.tell(h, code, detail)
}

// Trouble implements [accumulator.Troubled].
func (l *Line) Trouble(code, detail string) { l.tell(accumulator.Disconnected, code, detail) }

func (l *Line) tell(h accumulator.Health, code, detail string) {
	l.cfg.Port.Health(h, code, detail)
	p := &Parcel{Kind: HealthSaid}
	if h == accumulator.Disconnected {
		p.Newest = 1
	}
	l.say(p)
}

// CaughtUp implements [accumulator.Pace].
func (l *Line) CaughtUp(stream string, caughtUp bool) {
	p := &Parcel{Kind: FellBehind, Stream: boundary.Partition(stream)}
	if caughtUp {
		p.Kind = CaughtUp
	}
	l.say(p)
}

// CanLook reports whether the source looks whether there is more when it is asked to.
func (l *Line) CanLook() bool {
	s, ok := l.cfg.Source.(accumulator.Looker)
	return ok && s.Looks()
}

// Looked implements [accumulator.Asker].
func (l *Line) Looked(look int64) {
	if l.Answers(look) {
		l.say(&Parcel{Kind: Looked, Look: look})
	}
}

// Down reports whether a parcel of the kind HealthSaid says that the source is disconnected.
func (p *Parcel) Down() bool { return p.Newest == 1 }

func samePartition(a, b string) bool { return a == b || boundary.Partition(a) == boundary.Partition(b) }

// parcel makes a parcel of the events of a load from the first-th on.
func (l *Line) parcel(d *Load, first int) *Parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &Parcel{}
	if n := len(l.spare); n > 0 {
		p, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	*p = Parcel{Kind: d.kind, Events: d.events[first:], Times: d.times[first:], Newest: d.newest,
		load: d, first: first}
	l.loader = d.loader
	name := p.Events[0].Pos.Stream
	if p.depth = l.depths[name]; p.depth == nil {
		b := boundary.Partition(name)
		for _, d := range l.depths {
			if d.stream == b {
				p.depth = d
			}
		}
		if p.depth == nil {
			p.depth = &depth{stream: b}
		}
		if len(l.depths) >= maxKnown {
			clear(l.depths) // generations come and go; what they count by is in the parcels
		}
		l.depths[name] = p.depth
	}
	p.Stream = p.depth.stream
	return p
}

// maxKnown bounds the names of streams that are remembered, generations apart.
const maxKnown = 4096

// tryStage lets a parcel wait for its turn, and reports whether there was room. relaxed has a line take more that is
// not starved itself.
func (l *Line) tryStage(p *Parcel, relaxed bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := p.depth
	if d.events > 0 && (d.events+len(p.Events) > maxStagedEvents || d.bytes+p.load.bytes > maxStagedBytes) &&
		(!l.starved && !relaxed || l.staged >= maxStarved*maxStagedEvents) {
		return false
	}
	if l.starving == "" || l.starving == d.stream {
		l.starved = false
	}
	d.events += len(p.Events)
	d.bytes += p.load.bytes
	l.staged += len(p.Events)
	l.push(p)
	return true
}

// say hands over a word that is no event.
func (l *Line) say(p *Parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(p)
}

func (l *Line) push(p *Parcel) {
	l.fresh = append(l.fresh, p)
	l.news.Store(true)
	l.wake()
}
