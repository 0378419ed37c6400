package told

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
)

const (
	codeBusy, codeStuck = "reactor_busy", "stuck_node"

	// BusyAfter is how long a reactor is in its epochs before its graph is said to be busy: what
	// is shown then is from before (W22).
	BusyAfter = 2 * time.Second
	// NamedAfter is how long one run of a node of somebody else's code may take before the node is named.
	NamedAfter = 800 * time.Millisecond
	// stuckGrace is how long after epoch_timeout an epoch may go on before its node counts as stuck.
	stuckGrace = 5 * time.Second
)

// Running is a node that runs somebody else's code, which may not come back.
type Running struct {
	Node  string // "" for none
	Since time.Time
	// Lost says that its epoch has ended without it: what it still comes to is dropped.
	Lost bool
}

// Stuck says that a reactor has not come out of its epochs for long, nil when it has (M25): since
// when it is in them, the last epoch that it has shown, the node that runs, and the graph's epoch_timeout. A node that
// was given up is told of as long as it runs.
func Stuck(since time.Time, epoch int64, runs Running, limit time.Duration, now time.Time) *api.Reason {
	if runs.Lost {
		return &api.Reason{Code: codeStuck, Detail: fmt.Sprintf("node %s has run for %v and does not heed "+
			"epoch_timeout (%v): it is run no more until it comes back, and what it then has is dropped; its epochs "+
			"fail meanwhile, unless its on_error says otherwise. Fix the function", runs.Node, took(now, runs.Since),
			limit)}
	}
	if since.IsZero() {
		return nil
	}
	if limit > 0 && now.Sub(since) > limit+stuckGrace {
		which := "a node"
		if runs.Node != "" {
			which = "node " + runs.Node
		}
		return &api.Reason{Code: codeStuck,
			Detail: fmt.Sprintf("%s of an epoch after %d has run for %v and does not heed "+
				"epoch_timeout (%v); fix the function, then restart the graph or delete it: what it still does is "+
				"dropped",
				which, epoch, took(now, since), limit)}
	}
	switch {
	case runs.Node != "" && now.Sub(runs.Since) >= NamedAfter:
		return &api.Reason{Code: codeBusy,
			Detail: fmt.Sprintf("node %s has run for %v; what is shown is from before, epoch %d", runs.Node,
				took(now, runs.Since), epoch)}
	case now.Sub(since) >= BusyAfter:
		return &api.Reason{Code: codeBusy,
			Detail: fmt.Sprintf("the reactor has been in its epochs for %v; what is shown is from before, epoch %d",
				took(now, since), epoch)}
	}
	return nil
}

// took is for how long something lasts, as it is told.
func took(now, since time.Time) time.Duration { return now.Sub(since).Round(100 * time.Millisecond) }
