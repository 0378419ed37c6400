package told

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
)

const (
	// BusyAfter is how long a reactor is in its epochs before its graph is said to be busy: what
	// is shown then is from before (W22).
	BusyAfter = 2 * time.Second
	// stuckGrace is how long after epoch_timeout an epoch may go on before its node counts as stuck.
	stuckGrace = 5 * time.Second
)

// Stuck says that a reactor has not come out of its epochs for long, nil when it has (M25): since
// when it is in them, the last epoch that it has shown, the node that runs somebody else's code ("" for
// none), and the graph's epoch_timeout.
func Stuck(since time.Time, epoch int64, node string, limit time.Duration, now time.Time) *api.Reason {
	if since.IsZero() || now.Sub(since) < BusyAfter {
		return nil
	}
	took := now.Sub(since).Round(100 * time.Millisecond)
	if limit > 0 && took > limit+stuckGrace {
		which := "a node"
		if node != "" {
			which = "node " + node
		}
		return &api.Reason{Code: "stuck_node",
			Detail: fmt.Sprintf("%s of an epoch after %d has run for %v and does not heed "+
				"epoch_timeout (%v); fix the function, then restart the graph or delete it: what it still does is "+
				"dropped",
				which, epoch, took, limit)}
	}
	return &api.Reason{Code: "reactor_busy",
		Detail: fmt.Sprintf("the reactor has been in its epochs for %v; what is shown is from before, epoch %d", took,
			epoch)}
}
