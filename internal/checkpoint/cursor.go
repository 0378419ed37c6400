package checkpoint

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FiringCursor is the cursor of a page of firings that goes on before one record. Whoever
// holds records that are not in the store yet makes the cursor at which the store's begin.
func FiringCursor(incarnation, epoch int64) string {
	return strconv.FormatInt(incarnation, 10) + "." + strconv.FormatInt(epoch, 10)
}

// ParseFiringCursor reads a cursor back; "" is above every record. The error wraps ErrBadCursor.
func ParseFiringCursor(cursor string) (incarnation, epoch int64, err error) {
	if cursor == "" {
		return math.MaxInt64, math.MaxInt64, nil
	}
	first, second, ok := strings.Cut(cursor, ".")
	incarnation, err1 := strconv.ParseInt(first, 10, 64)
	epoch, err2 := strconv.ParseInt(second, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		if len(cursor) > 40 {
			cursor = cursor[:40] + "…"
		}
		return 0, 0, fmt.Errorf("%q: %w", cursor, ErrBadCursor)
	}
	return incarnation, epoch, nil
}
