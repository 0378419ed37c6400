package checkpoint

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FiringPlace is where a record stands in the history of a graph: epochs are counted for each
// incarnation of each shard.
type FiringPlace struct {
	Shard              int
	Incarnation, Epoch int64
}

// FiringCursor is the cursor of a page of firings that goes on before one record. Whoever
// holds records that are not in the store yet makes the cursor at which the store's begin.
func FiringCursor(p FiringPlace) string {
	text := strconv.FormatInt(p.Incarnation, 10) + "." + strconv.FormatInt(p.Epoch, 10)
	if p.Shard != 0 {
		text = strconv.Itoa(p.Shard) + "." + text
	}
	return text
}

// ParseFiringCursor reads a cursor back; "" is above every record. The error wraps ErrBadCursor.
func ParseFiringCursor(cursor string) (p FiringPlace, err error) {
	if cursor == "" {
		return FiringPlace{Incarnation: math.MaxInt64, Epoch: math.MaxInt64}, nil
	}
	parts := strings.Split(cursor, ".")
	ok := len(parts) == 2
	if len(parts) == 3 {
		p.Shard, err = strconv.Atoi(parts[0])
		ok = err == nil && p.Shard > 0
		parts = parts[1:]
	}
	if ok {
		var err1, err2 error
		p.Incarnation, err1 = strconv.ParseInt(parts[0], 10, 64)
		p.Epoch, err2 = strconv.ParseInt(parts[1], 10, 64)
		ok = err1 == nil && err2 == nil
	}
	if !ok {
		if len(cursor) > 40 {
			cursor = cursor[:40] + "…"
		}
		return FiringPlace{}, fmt.Errorf("%q: %w", cursor, ErrBadCursor)
	}
	return p, nil
}
