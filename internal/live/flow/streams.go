package flow

import (
	"math"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
)

// rank puts streams of equal times in the order of their inputs, then in their own.
func rank(input, place int) uint64 { return uint64(input)<<32 | uint64(place) }

func (f *Flow) add(input int, s *staged) int {
	n := f.order.Add(rank(input, math.MaxInt32))
	for n >= len(f.owners) {
		f.owners = append(f.owners, belongs{})
	}
	f.owners[n] = belongs{input, s}
	return n
}

// stream is an input's stream of a name; it is made when it is not there.
func (f *Flow) stream(i int, name string) *staged {
	e := &f.entries[i]
	if s := e.streams[name]; s != nil {
		return s
	}
	s := &staged{name: name}
	s.number = f.add(i, s)
	e.streams[name] = s
	for _, a := range e.streams { // those of an input in the order of their names: the same after a restart
		place := 2
		for _, b := range e.streams {
			if before(b.name, a.name) {
				place++
			}
		}
		f.order.Rank(a.number, rank(i, place))
	}
	return s
}

// before orders the names of streams; partition 10 comes after 9.
func before(a, b string) bool {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return x < y
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// Admit takes in what has come: it waits for its turn. It reports whether there was any.
func (f *Flow) Admit() (came bool) {
	f.look()
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil {
			continue
		}
		f.parcels = e.line.Take(f.parcels[:0])
		for _, p := range f.parcels {
			f.take(i, p)
			came = true
		}
		if e.ending {
			f.drained(i)
		}
	}
	clear(f.parcels)
	return came
}

// take puts a parcel in its place.
func (f *Flow) take(i int, p *pump.Parcel) {
	e := &f.entries[i]
	switch p.Kind {
	case pump.End:
		e.ending, e.behind, e.held = true, false, pace.Free
		e.unasked()
		for _, s := range e.streams {
			s.behind, s.held = false, false
		}
		f.awaitAll(e)
		f.keep(i)
		return
	case pump.HealthSaid:
		e.down = p.Down()
		f.awaitAll(e)
		return
	case pump.HeldBack:
		f.hold(i, p)
		return
	case pump.Looked:
		e.looked = p.Look
		f.await(e)
		return
	case pump.CaughtUp, pump.FellBehind:
		behind := p.Kind == pump.FellBehind
		if p.Stream == "" {
			e.behind = behind
			f.await(e)
			return
		}
		s := f.stream(i, p.Stream)
		s.behind = behind
		f.awaitStream(e, s)
		return
	}
	if p.Kind == pump.Events {
		f.inquire(i)
	}
	s := f.stream(i, p.Stream)
	f.order.Heard(s.number, f.mono)
	f.newest = max(f.newest, p.Newest)
	s.queue = append(s.queue, p)
	if s.head == len(s.queue)-1 && !e.stuck {
		f.order.Set(s.number, p.Times[0])
	}
	if e.count += len(p.Events); e.count == len(p.Events) {
		f.await(e)
	}
}

// hold takes note of what is here of a source and may not come in yet, which is no silence of it: its stream has an
// event, and of the others nothing could be heard, since one goroutine reads them all. They are waited for however long
// that takes where it ends by itself, and else, as in a silence, for a while: the room may have to be made by what the
// others bring, or by the time.
func (f *Flow) hold(i int, p *pump.Parcel) {
	e := &f.entries[i]
	if e.held = p.Held; e.held == pace.Free {
		for _, s := range e.streams {
			s.held = false
		}
	} else {
		f.stream(i, p.Stream).held = true
		f.trail(i)
	}
	f.awaitAll(e)
	f.keep(i)
}

// keep says whether an input has something although nothing of it is in the order.
func (f *Flow) keep(i int) {
	e := &f.entries[i]
	f.drive.Hold(i, e.stuck || e.held != pace.Free)
}

// inquire has the other inputs' sources look again, for something of input i has come: whoever has written that
// may have written something that happens earlier elsewhere, and before. What a look that begins now does not
// find was written later.
func (f *Flow) inquire(i int) {
	for j := range f.entries {
		e := &f.entries[j]
		if j == i || !e.looks {
			continue
		}
		waits := e.asked > e.looked
		if e.asked = e.line.Ask(); !waits { // else its silence would begin anew with each event of the others
			f.await(e)
		}
	}
}

// unasked forgets what a source was asked that does not look any more.
func (e *entry) unasked() { e.looks, e.asked, e.looked = false, 0, 0 }

// await says whether the others wait for an input's source as a whole: while it is behind, or is to look again,
// and nothing of it is here. Of its streams each stands for itself.
func (f *Flow) await(e *entry) {
	behind := e.behind && !e.down || e.asked > e.looked || e.held != pace.Free
	f.order.Sure(e.whole, e.held == pace.Passing)
	f.order.Behind(e.whole, behind && !e.stuck && e.count == 0, f.mono)
}

func (f *Flow) awaitStream(e *entry, s *staged) {
	f.order.Sure(s.number, e.held == pace.Passing)
	f.order.Behind(s.number, (s.behind && !e.down || s.held) && !e.stuck, f.mono)
}

func (f *Flow) awaitAll(e *entry) {
	f.await(e)
	for _, s := range e.streams {
		f.awaitStream(e, s)
	}
}

// drained ends a line whose source has returned, once everything of it is folded.
func (f *Flow) drained(i int) {
	if e := &f.entries[i]; e.ending && e.count == 0 && !f.drive.Open() {
		e.ending = false
		f.Settle()
		e.line.Drained()
	}
}

// pushed looks for pushed events, and for senders who have given up.
func (f *Flow) pushed() {
	for i := range f.entries {
		if e := &f.entries[i]; e.line != nil && !e.stuck {
			f.nextPush(i)
		}
	}
}

func (f *Flow) nextPush(i int) {
	e := &f.entries[i]
	at, ok := e.line.NextPush()
	if ok && !e.pushing {
		f.inquire(i)
	}
	if e.pushing = ok; ok {
		f.order.Set(e.pushes, at)
		f.newest = max(f.newest, at)
	} else {
		f.order.Clear(e.pushes)
		f.forgo(&e.coming, len(e.coming))
	}
}
