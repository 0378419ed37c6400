package lives

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
)

// errGone says that the graph was deleted elsewhere with all that it had, and that this daemon has not heard of it yet.
// It is waited for to hear of it, or for the graph to be applied again.
var errGone = errors.New("the graph was deleted")

// checkThere refuses to begin a shard anew whose graph was deleted with its state: the state that it would have is one
// that nobody removes, and that the next graph of the name would be found to have.
func (s *Shard) checkThere(ctx context.Context, head *checkpoint.Head) error {
	if head.Seq > 0 || head.Journal > 0 || len(head.Meta) > 0 {
		return nil
	}
	switch there, err := s.declared(ctx); {
	case err != nil:
		return fmt.Errorf("look whether the graph is there: %w", err)
	case !there:
		return errGone
	}
	return nil
}

// declared reports whether the store has a declaration of the graph. It has a revision of it then, which is one row,
// but for an older release, which kept none.
func (s *Shard) declared(ctx context.Context) (bool, error) {
	graph := s.ID().Whole()
	past, err := s.host.Store.Revisions(ctx, graph)
	if err != nil || len(past) > 0 {
		return true, err
	}
	all, err := s.host.Store.Declarations(ctx)
	return slices.ContainsFunc(all, func(d checkpoint.Declaration) bool {
		return d.Tenant == graph.Tenant && d.Graph == graph.Graph
	}), err
}
