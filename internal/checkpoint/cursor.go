package checkpoint

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
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

// LetterID is the id of a dead letter, of which an incarnation of a shard has made so many before: the ids of all
// shards of a graph differ, and sort by time. The first shard's are as those of a graph that has no others.
func LetterID(shard int, at time.Time, incarnation, number int64) string {
	id := fmt.Sprintf("%012x-%x-%06x", at.UnixMilli(), incarnation, number)
	if shard != 0 {
		id += "-" + strconv.FormatInt(int64(shard), 16)
	}
	return id
}

// LetterShard is the shard that made a dead letter; 0 where the id does not say.
func LetterShard(id string) int {
	parts := strings.Split(id, "-")
	if len(parts) != 4 {
		return 0
	}
	n, err := strconv.ParseUint(parts[3], 16, 31)
	if err != nil {
		return 0
	}
	return int(n)
}
