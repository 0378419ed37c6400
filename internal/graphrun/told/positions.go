package told

import (
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// OrStart is positions in words that are not too long.
func OrStart(ps []boundary.Position) string {
	if len(ps) == 0 {
		return "the start"
	}
	const most = 4 << 10 // a position may hold digests of a whole table
	text := Positions(ps)
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
