package lives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// errGone says that the graph was deleted elsewhere with all that it had, and that this daemon has not heard of it yet.
var errGone = errors.New("the graph was deleted")

// checkThere refuses to begin a shard anew whose graph was deleted with its state: the state that it would have is one
// that nobody removes, and that the next graph of the name would be found to have.
func (s *Shard) checkThere(ctx context.Context, head *checkpoint.Head) error {
	if head.Seq > 0 || head.Journal > 0 || len(head.Meta) > 0 {
		return nil
	}
	graph := s.ID().Whole()
	past, err := s.host.Store.Revisions(ctx, graph)
	if err != nil || len(past) > 0 {
		return wrapped(err)
	}
	all, err := s.host.Store.Declarations(ctx) // of an older release, which kept no revisions
	if err != nil || slices.ContainsFunc(all, func(d checkpoint.Declaration) bool {
		return d.Tenant == graph.Tenant && d.Graph == graph.Graph
	}) {
		return wrapped(err)
	}
	return errGone
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("look whether the graph is there: %w", err)
	}
	return nil
}

// awaitRemoval waits for the daemon to hear that the graph was deleted, or to be applied again.
func (s *Shard) awaitRemoval(ctx context.Context) {
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-again.C:
	case <-ctx.Done():
	}
}
