package window

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// noTime is before every time there is.
const noTime = math.MinInt64

// partition is one stream of the source, as far as event time goes. Pushes are the
// partition "".
type partition struct {
	name  string // of the stream, without its generation
	max   int64  // the greatest time it vouches for; noTime before its first event
	since int64  // when it was last heard of, in engine time; noTime where a state of before did not say
	idle  bool   // silent for so long that it holds nothing up
	mover int64  // the number of the event that max is of; 0 after a restart
}

// watermark is how far event time has come: no event before it is waited for (M3). It never
// goes back. Times are nanoseconds since 1970.
type watermark struct {
	lateness, silence int64 // silence: after which a partition is idle; 0: never
	mark              int64
	parts             []partition
	last              int // the partition of the last event
	stream            string
}

func newWatermark(lateness, silence time.Duration) watermark {
	return watermark{lateness: int64(lateness), silence: int64(silence), mark: noTime, last: -1}
}

// part is the index of a stream's partition.
func (w *watermark) part(stream string, now int64) int {
	if w.last >= 0 && stream == w.stream {
		return w.last
	}
	name := boundary.Partition(stream)
	i := slices.IndexFunc(w.parts, func(p partition) bool { return p.name == name })
	if i < 0 {
		i = len(w.parts)
		w.parts = append(w.parts, partition{name: strings.Clone(name), max: noTime, since: now})
	}
	w.last, w.stream = i, stream
	return i
}

// saw takes note of an event of the time at that arrived now, and reports whether the
// watermark moved. An event vouches for no time after its arrival: a clock that runs ahead
// closes nothing early.
func (w *watermark) saw(stream string, at, now, number int64) bool {
	p := &w.parts[w.part(stream, now)]
	p.since = now
	woken := p.idle
	p.idle = false
	if at = min(at, now); at <= p.max && !woken {
		return false
	}
	if at > p.max {
		p.max, p.mover = at, number
	}
	return w.move()
}

// tick marks what is silent at now as idle, and reports whether the watermark moved.
func (w *watermark) tick(now int64) bool {
	if w.silence == 0 {
		return false
	}
	changed := false
	for i := range w.parts {
		p := &w.parts[i]
		if p.since == noTime {
			p.since = now
		}
		if !p.idle && now-p.since >= w.silence {
			p.idle, changed = true, true
		}
	}
	return changed && w.move()
}

// due is when tick must be called; false for never.
func (w *watermark) due() (at int64, ok bool) {
	if w.silence == 0 {
		return 0, false
	}
	for i := range w.parts {
		p := &w.parts[i]
		if p.idle {
			continue
		}
		next := p.since + w.silence
		if p.since == noTime {
			next = noTime // at once: to learn what time it is
		}
		if !ok || next < at {
			at, ok = next, true
		}
	}
	return at, ok
}

// move brings the watermark up to the partitions: the least of those that are not idle, or
// the greatest of all when they all are. It reports whether it moved.
func (w *watermark) move() bool {
	low, high, waiting := int64(math.MaxInt64), int64(noTime), false
	for i := range w.parts {
		p := &w.parts[i]
		high = max(high, p.max)
		if !p.idle {
			low, waiting = min(low, p.max), true
		}
	}
	if !waiting {
		low = high
	}
	if low == noTime {
		return false
	}
	return w.to(low - w.lateness)
}

// slowest is the partition by which the watermark goes; nil before the first event.
func (w *watermark) slowest() *partition {
	var found *partition
	for i := range w.parts {
		p := &w.parts[i]
		switch {
		case p.max == noTime:
		case found == nil, found.idle && (!p.idle || p.max > found.max), !found.idle && !p.idle && p.max < found.max:
			found = p
		}
	}
	return found
}

func (w *watermark) to(mark int64) bool {
	if mark <= w.mark {
		return false
	}
	w.mark = mark
	return true
}
