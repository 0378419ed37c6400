// Package grid says where windows begin and end. It knows no clock and starts nothing.
package grid

import "time"

// Grid is the windows of one length that begin one after the other. Times are nanoseconds since 1970. It belongs to one
// goroutine: it keeps its last answer.
//
// Windows are counted on the wall clock: a window begins when the clock of the zone first
// reads a multiple of every, counted from midnight of 1970-01-01, and ends when it first
// reads size more. In UTC that is plain arithmetic. Elsewhere a window of a day lasts from
// midnight to midnight, 23 or 25 hours when the clock is set; of shorter windows, the one
// in which the clock is set back lasts longer, and those that the clock skips do not exist.
type Grid struct {
	size, every int64
	zone        *time.Location // nil: UTC
	// The last answer of Latest, which most events share: [start, next) and the window's number.
	start, next, number int64
}

// New makes a grid of windows of size, of which one begins every so often on the clock of zone.
func New(size, every time.Duration, zone *time.Location) Grid {
	if zone == time.UTC {
		zone = nil
	}
	return Grid{size: int64(size), every: int64(every), zone: zone}
}

// Latest is the number of the last window that contains the time t. Those before it follow
// by counting down, until one has ended at t.
func (g *Grid) Latest(t int64) int64 {
	if t >= g.start && t < g.next {
		return g.number
	}
	n := g.find(t)
	g.number, g.start, g.next = n, g.instant(n*g.every), g.instant((n+1)*g.every)
	return n
}

func (g *Grid) find(t int64) int64 {
	if g.zone == nil {
		return floorDiv(t, g.every)
	}
	// No clock was ever further than that from UTC; of the windows that begin at t at the
	// Latest, the last one is searched.
	low, high := floorDiv(t-int64(farthest), g.every), floorDiv(t+int64(farthest), g.every)
	for low < high {
		mid := low + (high-low+1)/2
		if g.instant(mid*g.every) <= t {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Window is when the n-th window begins and ends.
func (g *Grid) Window(n int64) (start, end int64) {
	return g.instant(n * g.every), g.instant(n*g.every + g.size)
}

// farthest is more than any clock was ever from UTC (Manila was, by 15 h 56 min).
const farthest = 17 * time.Hour

// instant is when the clock of the zone first reads wall or later. wall is what the clock
// would read, as nanoseconds since 1970 as if it were in UTC.
func (g *Grid) instant(wall int64) int64 {
	if g.zone == nil {
		return wall
	}
	at := time.Unix(0, wall).Add(-farthest).In(g.zone) // surely before
	for {
		from, to := at.ZoneBounds()
		_, offset := at.Zone()
		reads := wall - int64(offset)*int64(time.Second)
		if to.IsZero() || reads < to.UnixNano() {
			if !from.IsZero() {
				reads = max(reads, from.UnixNano()) // what the clock skipped
			}
			return reads
		}
		at = to
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// NextEnd is when the first window ends that has not ended at t.
func (g *Grid) NextEnd(t int64) int64 {
	n := g.Latest(t)
	for _, end := g.Window(n); end <= t; _, end = g.Window(n) {
		n++
	}
	for {
		_, end := g.Window(n - 1)
		if end <= t {
			break
		}
		n--
	}
	_, end := g.Window(n)
	return end
}
