package dal

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
	cursorLetter   = "d"
	cursorRecovery = "r"
	// maxCursor is more than any cursor takes that was given out: a dead letter's id is
	// short. It keeps garbage from being decoded at length.
	maxCursor = 1024
)

// place is where a firing stands in the history: newest first by incarnation, then epoch.
type place struct{ incarnation, epoch int64 }

func (p place) before(o place) bool {
	return p.incarnation < o.incarnation || p.incarnation == o.incarnation && p.epoch < o.epoch
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
	return "", badCursor(cursor)
}

func badCursor(cursor string) error {
	if len(cursor) > 40 {
		cursor = cursor[:40] + "…"
	}
	return fmt.Errorf("%q: %w", cursor, checkpoint.ErrBadCursor)
}

func firingCursor(p place) string { return checkpoint.FiringCursor(p.incarnation, p.epoch) }

// firingPlace is the place a page of firings begins below; "" is above all.
func firingPlace(cursor string) (place, error) {
	incarnation, epoch, err := checkpoint.ParseFiringCursor(cursor)
	return place{incarnation, epoch}, err
}

// letterBound is the id a page of dead letters begins below; ok is false for the newest page.
func letterBound(cursor string) (id string, ok bool, err error) {
	if cursor == "" {
		return "", false, nil
	}
	id, err = decodeCursor(cursorLetter, cursor)
	return id, err == nil, err
}

func recoveryCursor(id int64) string {
	return encodeCursor(cursorRecovery, strconv.FormatInt(id, 10))
}

// recoveryBound is the id a page of recovery events begins below; "" is above all.
func recoveryBound(cursor string) (int64, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	text, err := decodeCursor(cursorRecovery, cursor)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, badCursor(cursor)
	}
	return id, nil
}
