package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
)

const (
	// togetherTime bounds how long the shards of a graph may take to come here, each of which ends at another member
	// with a commit and begins here with what it has in the store.
	togetherTime = 30 * time.Second
	// lookWhole is how often it is looked whether all of them have.
	lookWhole = 20 * time.Millisecond
)

// together has the keys of a graph dealt anew by do while all of its shards run here (M54). Where other members have
// some, they hand them over, and take none until do is through, whatever comes of it, or this daemon's lease is over.
// Those that are to come here by themselves, as from a member that has died, are waited for likewise: who was refused
// for that, such as a file of declarations that has changed while the daemon was down, would not try again.
func (e *Engine) together(ctx context.Context, m *graphrun.Graph, do func(ctx context.Context) error) error {
	if !slices.ContainsFunc(m.ShardIDs(), func(id checkpoint.ID) bool {
		_, other := e.own.Likely(id)
		return other
	}) && !m.AnyStandsBy() {
		return do(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, togetherTime)
	defer cancel()
	held, release, err := e.Hold(wait, m.ID(), checkpoint.ClaimDeal)
	switch {
	case errors.Is(err, checkpoint.ErrClaimed) && e.own.Term() == nil:
		return notTogether("this daemon has no lease on the store at this time, see its health: try again when it has")
	case errors.Is(err, checkpoint.ErrClaimed):
		return notTogether("another daemon on the store deals them at this time: try again when that is through")
	case err != nil:
		return fmt.Errorf("have the shards of the graph handed over: %w", err)
	}
	defer release()
	if err := e.newest(held, m); err != nil { // another daemon may have dealt them just before
		return err
	}
	look := time.NewTicker(lookWhole)
	defer look.Stop()
	for !whole(m) {
		select {
		case <-look.C:
		case <-held.Done():
			return notTogether(e.scattered(m))
		}
	}
	err = do(ctx)
	if owned, ok := errors.AsType[*checkpoint.OwnedError](err); ok {
		return notTogether("one that was, or is to be, a shard of it is " + owned.Owner + "'s until that has " +
			"heard of the last change: try again in a moment")
	}
	return err
}

// newest refuses where the store has a newer revision of a graph than runs here.
func (e *Engine) newest(ctx context.Context, m *graphrun.Graph) error {
	all, err := e.cfg.Store.Revisions(ctx, m.ID())
	if err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	if is := m.Declaration().Revision; len(all) > 0 && all[0].Revision != is {
		return conflict(is)
	}
	return nil
}

// whole says that all shards of a graph run here.
func whole(m *graphrun.Graph) bool {
	for n := range m.ShardIDs() {
		if !m.Runs(n) {
			return false
		}
	}
	return true
}

// scattered says why the shards of a graph have not come here.
func (e *Engine) scattered(m *graphrun.Graph) string {
	var where []string
	n := 0
	for shard, id := range m.ShardIDs() {
		if m.Runs(shard) {
			continue
		}
		n++
		at := "nobody"
		if owner, other := e.own.Elsewhere(id); other {
			at = owner.Name
		}
		if !slices.Contains(where, at) {
			where = append(where, at)
		}
	}
	return fmt.Sprintf("for that all of its shards have to run here, and %d of them were not handed over within %v, "+
		"by %s: see graphd describe and graphd members, and try again", n, togetherTime, strings.Join(where, ", "))
}

// notTogether refuses an update to another number of shards; nothing is changed.
func notTogether(why string) error {
	return &api.Error{Status: http.StatusFailedDependency, Code: "update_failed",
		Detail: "the keys are not dealt anew, and the graph runs on as it was: " + why}
}
