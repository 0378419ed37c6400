package job

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
)

// tellLate says in one line what a window or join has dropped as late, and names the event that moved the watermark
// past it: one far in the future makes all others late, and is hard to find. A join, which has no watermark, says how
// far behind the newest the event was.
func tellLate(input string, l *accumulator.Lateness) string {
	text := fmt.Sprintf("%d late events of %s were dropped; furthest behind was", l.Events, input)
	if l.Events == 1 {
		text = "1 late event of " + input + " was dropped:"
	}
	which := fmt.Sprintf("event %d", l.Worst)
	if l.Of != "" {
		which = "one of " + l.Of
	}
	text += fmt.Sprintf(" %s, of %s", which, l.WorstAt.Format(time.RFC3339Nano))
	switch {
	case l.Mover == 0 && l.MoverAt.After(l.WorstAt):
		text += fmt.Sprintf(", %v behind the newest; give %s as much lateness to have it joined",
			l.MoverAt.Sub(l.WorstAt), input)
	case l.Mover > 0:
		text += fmt.Sprintf(", when event %d, of %s, had moved the watermark", l.Mover,
			l.MoverAt.Format(time.RFC3339Nano))
	}
	return text
}
