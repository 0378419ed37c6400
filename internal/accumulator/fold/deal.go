package fold

import (
	"errors"

	"github.com/graphd/graphd/internal/boundary"
)

// ErrNotInStep says that states which are to be put together have not come equally far: one has completed what another
// still holds open. A moment later they may have.
var ErrNotInStep = errors.New("the shards have not come equally far")

// ErrTooMany says that states which are to be put together have more than one may have.
var ErrTooMany = errors.New("one shard would have more than it may: let there be more shards")

// Dealt is a fold whose state has a part for each key, so that the keys can be dealt anew (M54).
type Dealt interface {
	// Deal makes the state of the keys that mine says, of states of folds that have heard of the same events and have
	// each folded those of other keys. The first of the new ones carries what is counted over all keys.
	Deal(states []State, mine func(key boundary.Value) bool, first bool) (State, error)
}
