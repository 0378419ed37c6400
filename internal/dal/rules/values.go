package rules

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Nanos and [FromNanos] are the stored form of a time: nanoseconds since 1970 UTC, 0
// for the zero time.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// FromNanos is the time that Nanos was given, in UTC.
func FromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// Instant is a time as every store gives it back: UTC, without a monotonic reading.
func Instant(t time.Time) time.Time { return FromNanos(Nanos(t)) }

// OrNil gives a record that was never written as nil.
func OrNil(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

// OrEmpty is data for a column that is never null.
func OrEmpty(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// NotFound refuses a name that is not in the store.
func NotFound(what string, name any, id checkpoint.ID) error {
	return Refuse("%s %v of graph %s: %w", what, name, id, checkpoint.ErrNotFound)
}

// Wrap says what was being done, and leaves the caller's own sentinels in reach.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
