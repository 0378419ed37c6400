// Package letters deals with the dead letters of a graph (M5): it lists them, replays them, says beforehand what would
// become of that, and discards them, one or those that a choice means. What replays them in a run is in graphrun; where
// they are kept is the store's matter. The letters of a graph's shards are one list here ([Pile]).
package letters

import (
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/engine/spread"
)

// Desk deals with the dead letters of one graph.
type Desk struct {
	Store checkpoint.Store
	Graph *spread.Letters
	// MaxEventBytes bounds an event that a preview tries.
	MaxEventBytes int
}

func (d *Desk) pile() *Pile { return &Pile{Store: d.Store, Shards: d.Graph.ShardIDs()} }
