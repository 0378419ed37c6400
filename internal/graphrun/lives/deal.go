package lives

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// checkDeal refuses to start over a state that was dealt for another number of shards (M54): what the shard would not
// see of it would be lost. A shard that has never committed asks what the others have.
func (s *Shard) checkDeal(ctx context.Context, head *checkpoint.Head) error {
	heads := []checkpoint.ShardHead{{Shard: s.cfg.Number, Meta: head.Meta}}
	if len(head.Meta) == 0 {
		var err error
		if heads, err = s.host.Store.ShardHeads(ctx, s.ID().Whole()); err != nil {
			return fmt.Errorf("look for the other shards: %w", err)
		}
	}
	dealt, err := Dealt(heads)
	if err != nil || dealt == 0 || dealt == s.cfg.Of {
		return err
	}
	return fmt.Errorf("%w: to %d, and the graph would run as %d; nothing is changed", reactor.ErrDealt, dealt, s.cfg.Of)
}

// lookAgain is how often the daemon is told of a shard that waits for another of its graph's deal.
const lookAgain = time.Second

// awaitDeal shows that the shard cannot run over the deal that the store has, and waits until its graph is made anew:
// as so many shards as that has, to begin with.
func (s *Shard) awaitDeal(ctx context.Context, why error) {
	s.SetHealth(reactor.HealthStarting, "dealt_otherwise", why.Error()+"; it is run as they are dealt, and they are "+
		"dealt anew then")
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		s.host.DealtOtherwise(s.ref)
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// Dealt is the number of shards that the keys of a graph are dealt to in the store; 0 where it has no state. All heads
// say the same, for they are changed together.
func Dealt(heads []checkpoint.ShardHead) (shards int, err error) {
	for i := range heads {
		if shards, err = reactor.Dealt(heads[i].Meta); shards != 0 || err != nil {
			return shards, err
		}
	}
	return 0, nil
}
