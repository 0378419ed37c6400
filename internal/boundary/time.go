package boundary

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrTimeRange says that a time cannot be held: 64 bits of nanoseconds are all there are.
var ErrTimeRange = errors.New("the time is out of range: years 1678 to 2261 can be held")

// The first and the last instant that fit 64 bits of nanoseconds.
var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// Holds reports whether a Value holds t as it is.
func Holds(t time.Time) bool { return !t.Before(firstTime) && !t.After(lastTime) }

// layoutLocal is a time without a zone.
const layoutLocal = "2006-01-02T15:04:05.999999999"

// ParseTime reads an RFC 3339 text, in which the letters T and Z may be small; one without a
// zone is read in zone, if there is one. Digits beyond the nanosecond are left out. A leap
// second (23:59:60) and the hour 24 are no times here.
func ParseTime(text string, zone *time.Location) (time.Time, error) {
	if n := len(text); n > len("2006-01-02t") && (text[10] == 't' || text[n-1] == 'z') {
		large := []byte(text)
		if large[10] == 't' {
			large[10] = 'T'
		}
		if large[n-1] == 'z' {
			large[n-1] = 'Z'
		}
		text = string(large)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && zone != nil {
		t, err = time.ParseInLocation(layoutLocal, text, zone)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("the text %q is not an RFC 3339 time", text)
	}
	if !Holds(t) {
		return time.Time{}, ErrTimeRange
	}
	return t.UTC(), nil
}
