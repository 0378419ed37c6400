package calls

import (
	"cmp"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/kind"
)

const (
	// slowAnswer is how long the next epoch waits for an answer until that is worth telling, failedInRow how many
	// tries fail one after the other until it is: an answer takes its time, and one of many fails. Health names within
	// a second who holds a graph up.
	slowAnswer  = 800 * time.Millisecond
	failedInRow = 3
)

// Hindrance is what is in the way of a node's calls, "" for nothing. failing says that tries of them have failed, and
// not only that nothing has been answered for a while.
func Hindrance(t *kind.Told, now time.Time) (failing bool, why string) {
	since := ""
	if !t.WaitedFor.IsZero() && now.Sub(t.WaitedFor) >= slowAnswer {
		since = "; the next epoch has waited since " + t.WaitedFor.UTC().Format(time.RFC3339)
	}
	switch {
	case t.Open:
		failing, why = true, "nobody is called for a while, by its breaker: "+cmp.Or(t.Trouble, "its last calls failed")
	case t.Trouble != "" && (t.Retrying > 0 || t.Row >= failedInRow):
		failing, why = true, fmt.Sprintf("%s; %d in a row", t.Trouble, t.Row)
	case since != "":
		why = "it has asked, and there is no answer yet"
	default:
		return false, ""
	}
	return failing, fmt.Sprintf("%s%s; calls on their way: %d, waiting: %d", why, since, t.Out, t.Waiting)
}
