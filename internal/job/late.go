package job

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
)

// tellLate says in one line what a window has dropped as late, and names the event that moved
// the watermark past it: one far in the future makes all others late, and is hard to find.
func tellLate(input string, l *accumulator.Lateness) string {
	text := fmt.Sprintf("%d late events of %s were dropped; furthest behind was event %d, of %s",
		l.Events, input, l.Worst, l.WorstAt.Format(time.RFC3339Nano))
	if l.Mover > 0 {
		text += fmt.Sprintf(", when event %d, of %s, had moved the watermark", l.Mover,
			l.MoverAt.Format(time.RFC3339Nano))
	}
	return text
}
