package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
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

// TimeUnit is the unit of a numeric time by its name.
func TimeUnit(name string) (unit time.Duration, ok bool) {
	switch name {
	case "s":
		return time.Second, true
	case "ms":
		return time.Millisecond, true
	case "us":
		return time.Microsecond, true
	case "ns":
		return time.Nanosecond, true
	}
	return 0, false
}

// TimeOfNumber is the instant that lies a number of units, a power of ten of nanoseconds, after
// 1970-01-01. ok is false for one that cannot be held.
func TimeOfNumber(v Value, unit time.Duration) (t time.Time, ok bool) {
	if n, whole := v.AsInt(); whole {
		if most := math.MaxInt64 / int64(unit); n > most || n < -most {
			return time.Time{}, false
		}
		return time.Unix(0, n*int64(unit)).UTC(), true
	}
	f, _ := v.AsFloat()
	ns, ok := nanoseconds(f, int64(unit))
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(0, ns).UTC(), true
}

// nanoseconds is f times unit, which is a power of ten, as the shortest decimal text of f has
// it: 1700000000.1 seconds are 100 ms and not what binary makes of them. Digits beyond the
// nanosecond are left out, as they are in a text.
func nanoseconds(f float64, unit int64) (ns int64, ok bool) {
	if limit := float64(math.MaxInt64/unit) + 1; f >= limit || f <= -limit {
		return 0, false
	}
	var room [400]byte // more than the digits of any float
	whole, part, _ := bytes.Cut(strconv.AppendFloat(room[:0], math.Abs(f), 'f', -1, 64), []byte("."))
	n := uint64(0) // at most 19 digits, and less than 1<<63 + unit
	for _, c := range whole {
		n = n*10 + uint64(c-'0')
	}
	for ; unit > 1; unit /= 10 {
		n *= 10
		if len(part) > 0 {
			n += uint64(part[0] - '0')
			part = part[1:]
		}
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if f < 0 {
		return -int64(n), true
	}
	return int64(n), true
}
