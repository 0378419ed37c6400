package live

import (
	"sync/atomic"
	"time"
)

const (
	// stepped is by how much the wall clock must be off for it to be told: less is what clocks
	// are off by.
	stepped = time.Second
	// clockNoise is by how much it must be off for engine time to be set by it.
	clockNoise = time.Millisecond
	// believe is how long the wall clock must be ahead before engine time follows it: a
	// machine that slept has really lost that time, a clock that is set wrongly is often set
	// right soon.
	believe = 10 * time.Second
	// maxAhead is how far a persisted engine time may be ahead of the wall clock to be gone on
	// from.
	maxAhead = time.Hour
)

// Clock is engine time (M26): the wall clock, never going backwards, with durations by the
// monotonic one. While the two agree it is the wall clock. When that steps back, engine time
// goes on by the monotonic clock, a tenth slower until the wall clock has caught up; when it
// steps forward and stays there for ten seconds, engine time follows it at once. A graph's
// reactor and accumulators share one. Now is safe for concurrent use, check is for the reactor.
type Clock struct {
	read  func() (wall, mono int64)
	line  atomic.Pointer[line]
	ahead int64         // since when the wall clock is ahead by a step, monotonic; 0 when it is not
	off   time.Duration // what was told: by how much the wall clock had stepped; 0 for none
}

// line is engine time as it follows from monotonic time, in nanoseconds.
type line struct {
	mono, engine int64
	ahead        int64 // of the wall clock, at mono: a tenth of what passes goes into making it up
}

func (l *line) at(mono int64) int64 { return l.engine + mono - l.mono - l.madeUp(mono) }

func (l *line) madeUp(mono int64) int64 { return min(l.ahead, (mono-l.mono)/10) }

// NewClock makes a clock that begins at the wall's time.
func NewClock() *Clock {
	began := time.Now()
	return newClock(func() (wall, mono int64) {
		now := time.Now()
		return now.UnixNano(), int64(now.Sub(began))
	})
}

func newClock(read func() (wall, mono int64)) *Clock {
	c := &Clock{read: read}
	wall, mono := read()
	c.line.Store(&line{mono: mono, engine: wall})
	return c
}

// mono is the monotonic time, in nanoseconds.
func (c *Clock) mono() int64 {
	_, mono := c.read()
	return mono
}

// Now is the engine time.
func (c *Clock) Now() time.Time {
	_, mono := c.read()
	return time.Unix(0, c.line.Load().at(mono)).UTC()
}

// resume begins at a time that was persisted: engine time goes on from there.
func (c *Clock) resume(at time.Time) {
	_, mono := c.read()
	if l := c.line.Load(); !at.IsZero() && at.UnixNano() > l.at(mono) {
		c.line.Store(&line{mono: mono, engine: at.UnixNano(), ahead: at.UnixNano() - l.at(mono)})
	}
}

// check compares the clocks. It answers the engine time, and by how much the wall clock has
// stepped while that lasts: ahead of engine time, or behind it when negative; 0 when they agree.
func (c *Clock) check() (now time.Time, step time.Duration) {
	wall, mono := c.read()
	l := c.line.Load()
	engine := l.at(mono)
	switch off := time.Duration(wall - engine); {
	case off >= stepped && c.ahead == 0:
		c.ahead, c.off = max(mono, 1), off
	case off >= stepped && mono-c.ahead < int64(believe):
	case off >= 0: // they agree, or the step has lasted
		c.ahead, c.off = 0, 0
		if off > clockNoise {
			engine = wall
			c.line.Store(&line{mono: mono, engine: engine})
		}
	default:
		c.ahead = 0
		if off <= -stepped && c.off >= 0 {
			c.off = off
		} else if off > -10*clockNoise {
			c.off = 0
		}
		if known := l.ahead - l.madeUp(mono); known+int64(off) < -int64(clockNoise) {
			c.line.Store(&line{mono: mono, engine: engine, ahead: -int64(off)})
		}
	}
	return time.Unix(0, engine).UTC(), c.off
}

// due is when check should look again although nothing happens: while a step lasts.
func (c *Clock) due(now time.Time) (at time.Time, ok bool) { return now.Add(stepped), c.off != 0 }
