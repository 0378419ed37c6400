// Package watermark says how far event time has come on an input: partition by partition, and for its windows (M3).
//
// # Concurrency
//
// A Watermark belongs to one goroutine. Nothing is started, and it knows no clock.
package watermark

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// NoTime is before every time there is.
const NoTime = math.MinInt64

// Partition is one stream of the source, as far as event time goes. Pushes are the
// partition "".
type Partition struct {
	Name  string // of the stream, without its generation
	Max   int64  // the greatest time it vouches for; NoTime before its first event
	Since int64  // when it was last heard of, in engine time; NoTime where a state of before did not say
	Idle  bool   // silent for so long that it holds nothing up
	Mover int64  // the number of the event that max is of; 0 after a restart
}

// Watermark is how far event time has come: no event before it is waited for (M3). It never
// goes back. Times are nanoseconds since 1970.
type Watermark struct {
	Lateness, Silence int64 // Silence: after which a partition is idle; 0: never
	Mark              int64
	Parts             []Partition
	last              int // the partition of the last event
	stream            string
}

// New makes the watermark before the first event.
func New(lateness, silence time.Duration) Watermark {
	return Watermark{Lateness: int64(lateness), Silence: int64(silence), Mark: NoTime, last: -1}
}

// Clone is a copy: neither sees what becomes of the other.
func (w *Watermark) Clone() Watermark {
	c := *w
	c.Parts = slices.Clone(w.Parts)
	return c
}

// Resume brings w to where o is, whatever they are declared with.
func (w *Watermark) Resume(o *Watermark) { w.Mark, w.Parts, w.last = o.Mark, slices.Clone(o.Parts), -1 }

// Part is the index of a stream's partition.
func (w *Watermark) Part(stream string, now int64) int {
	if w.last >= 0 && stream == w.stream {
		return w.last
	}
	name := boundary.Partition(stream)
	i := slices.IndexFunc(w.Parts, func(p Partition) bool { return p.Name == name })
	if i < 0 {
		i = len(w.Parts)
		w.Parts = append(w.Parts, Partition{Name: strings.Clone(name), Max: NoTime, Since: now})
	}
	w.last, w.stream = i, stream
	return i
}

// Saw takes note of an event of the time at that arrived now, and reports whether the
// watermark moved. An event vouches for no time after its arrival: a clock that runs ahead
// closes nothing early.
func (w *Watermark) Saw(stream string, at, now, number int64) bool {
	p := &w.Parts[w.Part(stream, now)]
	p.Since = now
	woken := p.Idle
	p.Idle = false
	if at = min(at, now); at <= p.Max && !woken {
		return false
	}
	if at > p.Max {
		p.Max, p.Mover = at, number
	}
	return w.move()
}

// Tick marks what is silent at now as idle, and reports whether the watermark moved.
func (w *Watermark) Tick(now int64) bool {
	if w.Silence == 0 {
		return false
	}
	changed := false
	for i := range w.Parts {
		p := &w.Parts[i]
		if p.Since == NoTime {
			p.Since = now
		}
		if !p.Idle && now-p.Since >= w.Silence {
			p.Idle, changed = true, true
		}
	}
	return changed && w.move()
}

// Due is when tick must be called; false for never.
func (w *Watermark) Due() (at int64, ok bool) {
	if w.Silence == 0 {
		return 0, false
	}
	for i := range w.Parts {
		p := &w.Parts[i]
		if p.Idle {
			continue
		}
		next := p.Since + w.Silence
		if p.Since == NoTime {
			next = NoTime // at once: to learn what time it is
		}
		if !ok || next < at {
			at, ok = next, true
		}
	}
	return at, ok
}

// move brings the watermark up to the partitions: the least of those that are not idle, or
// the greatest of all when they all are. It reports whether it moved.
func (w *Watermark) move() bool {
	low, high, waiting := int64(math.MaxInt64), int64(NoTime), false
	for i := range w.Parts {
		p := &w.Parts[i]
		high = max(high, p.Max)
		if !p.Idle {
			low, waiting = min(low, p.Max), true
		}
	}
	if !waiting {
		low = high
	}
	if low == NoTime {
		return false
	}
	return w.To(low - w.Lateness)
}

// Slowest is the partition by which the watermark goes; nil before the first event.
func (w *Watermark) Slowest() *Partition {
	var found *Partition
	for i := range w.Parts {
		p := &w.Parts[i]
		switch {
		case p.Max == NoTime:
		case found == nil, found.Idle && (!p.Idle || p.Max > found.Max), !found.Idle && !p.Idle && p.Max < found.Max:
			found = p
		}
	}
	return found
}

// To brings the watermark to mark, if that is ahead, and reports whether it moved.
func (w *Watermark) To(mark int64) bool {
	if mark <= w.Mark {
		return false
	}
	w.Mark = mark
	return true
}

// Join takes in how far another watermark over the same events has come.
func (w *Watermark) Join(o *Watermark) {
	w.Mark = max(w.Mark, o.Mark)
	for _, p := range o.Parts {
		i := slices.IndexFunc(w.Parts, func(q Partition) bool { return q.Name == p.Name })
		if i < 0 {
			w.Parts = append(w.Parts, Partition{Name: p.Name, Max: p.Max, Since: p.Since, Idle: p.Idle})
			continue
		}
		q := &w.Parts[i]
		q.Max, q.Since, q.Idle = max(q.Max, p.Max), max(q.Since, p.Since), q.Idle && p.Idle
	}
	slices.SortFunc(w.Parts, func(a, b Partition) int { return cmp.Compare(a.Name, b.Name) })
	w.last = -1
}

// Append writes how far event time has come.
func (w *Watermark) Append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, w.Mark)
	dst = binary.AppendUvarint(dst, uint64(len(w.Parts)))
	for _, p := range w.Parts {
		dst = binary.AppendUvarint(dst, uint64(len(p.Name)))
		dst = append(dst, p.Name...)
		dst = binary.AppendVarint(dst, p.Max)
		dst = append(dst, fold.BoolByte(p.Idle))
		dst = binary.AppendVarint(dst, p.Since)
	}
	return dst
}

// Read reads it, of which an old one does not say since when partitions are silent.
func (w *Watermark) Read(r *fold.Reader, withSince bool) {
	w.Mark = r.Varint()
	for range r.Count() {
		p := Partition{Name: r.Text(), Max: r.Varint(), Idle: r.Uvarint() == 1, Since: NoTime}
		if withSince {
			p.Since = r.Varint()
		}
		w.Parts = append(w.Parts, p)
	}
}
