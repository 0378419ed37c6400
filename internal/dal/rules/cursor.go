package rules

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
)

// A cursor names the last item of a page; the next page begins after it. To callers
// it is opaque. The letter in front says which list it belongs to.
const (
	cursorDeadLetter = "d"
	cursorRecovery   = "r"
	// maxCursor is more than any cursor takes that was given out: a dead letter's id is
	// short. It keeps garbage from being decoded at length.
	maxCursor = 1024
)

// Place is where a firing stands in the history: newest first by incarnation, then epoch.
type Place struct{ Incarnation, Epoch int64 }

// Before says that p is older than o.
func (p Place) Before(o Place) bool {
	return p.Incarnation < o.Incarnation || p.Incarnation == o.Incarnation && p.Epoch < o.Epoch
}

func encodeCursor(list, text string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + text))
}

// decodeCursor returns what encodeCursor was given for this list.
func decodeCursor(list, cursor string) (string, error) {
	if len(cursor) <= maxCursor {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		if text, ok := strings.CutPrefix(string(raw), list+":"); err == nil && ok {
			return text, nil
		}
	}
	return "", BadCursor(cursor)
}

// BadCursor refuses a cursor that this list has not given.
func BadCursor(cursor string) error {
	if len(cursor) > 40 {
		cursor = cursor[:40] + "…"
	}
	return fmt.Errorf("%q: %w", cursor, checkpoint.ErrBadCursor)
}

// FiringCursor is the cursor of the page of a shard's firings that begins below p.
func FiringCursor(id checkpoint.ID, p Place) string {
	return checkpoint.FiringCursor(checkpoint.FiringPlace{Shard: id.Shard, Incarnation: p.Incarnation, Epoch: p.Epoch})
}

// FiringPlace is the place a page of a shard's firings begins below; "" is above all.
func FiringPlace(id checkpoint.ID, cursor string) (Place, error) {
	p, err := checkpoint.ParseFiringCursor(cursor)
	if err == nil && cursor != "" && p.Shard != id.Shard {
		err = BadCursor(cursor)
	}
	return Place{p.Incarnation, p.Epoch}, err
}

// DeadLetterBound is the id a page of dead letters begins below; ok is false for the newest page.
func DeadLetterBound(cursor string) (id string, ok bool, err error) {
	if cursor == "" {
		return "", false, nil
	}
	id, err = decodeCursor(cursorDeadLetter, cursor)
	return id, err == nil, err
}

// RecoveryCursor is the cursor of the page of recovery events that begins below id.
func RecoveryCursor(id int64) string {
	return encodeCursor(cursorRecovery, strconv.FormatInt(id, 10))
}

// RecoveryBound is the id a page of recovery events begins below; "" is above all.
func RecoveryBound(cursor string) (int64, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	text, err := decodeCursor(cursorRecovery, cursor)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, BadCursor(cursor)
	}
	return id, nil
}

// DeadLetterCursor is the cursor of the page of dead letters that begins below id.
func DeadLetterCursor(id string) string { return encodeCursor(cursorDeadLetter, id) }
