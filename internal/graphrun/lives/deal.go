package lives

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
)

// checkDeal refuses to start over a state that was dealt otherwise (M54): what the shard would not see of it would be
// lost. A shard that has never committed asks what the others have.
func (s *Shard) checkDeal(ctx context.Context, head *checkpoint.Head) error {
	heads := []checkpoint.ShardHead{{Shard: s.cfg.Number, Meta: head.Meta}}
	if len(head.Meta) == 0 {
		var err error
		if heads, err = s.host.Store.ShardHeads(ctx, s.ID().Whole()); err != nil {
			return fmt.Errorf("look for the other shards: %w", err)
		}
	}
	dealt, err := Dealt(heads)
	switch mine := s.deal(); {
	case err != nil || !dealt.Differs(mine):
		return err
	case dealt.Of != mine.Of:
		return fmt.Errorf("%w: to %d, and the graph would run as %d; nothing is changed", reactor.ErrDealt, dealt.Of,
			mine.Of)
	default:
		return fmt.Errorf("%w: %s, and the graph would look for them %s; nothing is changed: apply it as it was, or "+
			"delete it with its state and apply it anew", reactor.ErrDealt, dealt, mine)
	}
}

// deal is how the keys are dealt by the shard's declaration.
func (s *Shard) deal() Deal { return DealOf(s.cfg.Unit, s.cfg.Of) }

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

// Deal is how the keys of a graph are dealt: to so many shards, by the function of that name; "" is graphd's own. The
// zero Deal is that of a graph without a state.
type Deal struct {
	Of int
	By string
}

// DealOf is how a declaration deals keys to so many shards; unit may be nil.
func DealOf(unit *compile.Unit, of int) Deal {
	if unit == nil || of == 1 {
		return Deal{Of: of}
	}
	return Deal{Of: of, By: unit.Spec.DealtBy()}
}

// Differs reports whether a state that is dealt as d is cannot be used as one that is dealt as o is.
func (d Deal) Differs(o Deal) bool { return d.Of != 0 && d != o }

func (d Deal) String() string {
	if d.By == "" {
		return fmt.Sprintf("to %d by graphd's own function, without partitioned", d.Of)
	}
	return fmt.Sprintf("to %d by %s, as partitioned says", d.Of, d.By)
}

// CannotChange says why keys that are dealt as d is cannot be dealt anew as o is, however the graph stands; "" where
// they can.
func (d Deal) CannotChange(o Deal) string {
	if d.By == "" && o.By == "" {
		return ""
	}
	return fmt.Sprintf("they are dealt %s, and would be %s, and what is dealt as the partitions of a topic are is not "+
		"dealt otherwise yet: apply it under another name, or delete the graph with its state and apply it anew", d, o)
}

// Dealt is how the keys of a graph are dealt in the store. All heads say the same, for they are changed together.
func Dealt(heads []checkpoint.ShardHead) (d Deal, err error) {
	for i := range heads {
		if d.Of, err = reactor.Dealt(heads[i].Meta); d.Of == 0 && err == nil {
			continue
		}
		if err == nil {
			d.By, err = reactor.DealtBy(heads[i].Meta)
		}
		return d, err
	}
	return Deal{}, nil
}
