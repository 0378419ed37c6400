package form

import (
	"math"
	"time"
)

// Never is no time. It is not 0, which is a time like any other: the beginning of 1970.
const Never = math.MinInt64

// Nano is a time as cells keep it: nanoseconds since 1970, or Never for the zero time.
func Nano(t time.Time) int64 {
	if t.IsZero() {
		return Never
	}
	return t.UnixNano()
}

// NanoTime is a time of a cell as a time.
func NanoTime(n int64) time.Time {
	if n == Never {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Stored is a time of a cell as it is written, and back: no time is written as 0, as it always
// was, and the time that this would be in the other's place.
func Stored(n int64) int64 {
	switch n {
	case Never:
		return 0
	case 0:
		return Never
	}
	return n
}
