package lives

import (
	"cmp"
	"context"
	"errors"
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
	case dealt.Rekeyed(mine) && s.isHeld():
		return nil // it is tried before its keys are dealt anew, and takes nothing in
	case dealt.Of != mine.Of:
		return fmt.Errorf("%w: to %d, and the graph would run as %d; nothing is changed", reactor.ErrDealt, dealt.Of,
			mine.Of)
	case dealt.Rekeyed(mine):
		return fmt.Errorf("%w: %w", reactor.ErrDealt, errRekeyed)
	default:
		return fmt.Errorf("%w: %s, and the graph would look for them %s; nothing is changed: apply it as it was, or "+
			"delete it with its state and apply it anew", reactor.ErrDealt, dealt, mine)
	}
}

// errRekeyed says that shards which have not read equally far would have events of each other's.
var errRekeyed = errors.New("what events have as their key is another by now, and of what one shard has read another " +
	"may have nothing; nothing is changed: apply the graph as it was, and the change when that runs")

// deal is how the keys are dealt by the shard's declaration.
func (s *Shard) deal() Deal { return DealOf(s.cfg.Unit, s.cfg.Of) }

// lookAgain is how often the daemon is told of a shard that waits for another of its graph's deal.
const lookAgain = time.Second

// awaitDeal shows that the shard cannot run over the deal that the store has, and waits until its graph is made anew:
// as so many shards as that has, to begin with.
func (s *Shard) awaitDeal(ctx context.Context, why error) {
	detail := why.Error()
	if !errors.Is(why, errRekeyed) {
		detail += "; it is run as they are dealt, and they are dealt anew then"
	}
	s.SetHealth(reactor.HealthStarting, "dealt_otherwise", detail)
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
	// On says by what events have their keys, as [compile.Unit.DealtOn]; "" where that is not known.
	On string
}

// DealOf is how a declaration deals keys to so many shards; unit may be nil.
func DealOf(unit *compile.Unit, of int) Deal {
	if unit == nil || of == 1 {
		return Deal{Of: of}
	}
	return Deal{Of: of, By: unit.Spec.DealtBy(), On: unit.DealtOn()}
}

// Differs reports whether a state that is dealt as d is cannot be used as one that is dealt as o is.
func (d Deal) Differs(o Deal) bool {
	return d.Of != 0 && (d.Of != o.Of || d.By != o.By) || d.Rekeyed(o)
}

// Rekeyed reports whether events of an input that both have are of other shards by the one than by the other, though
// there are as many. Each shard has read up to a place of its own, so that it would not have, or have twice, what
// others have read and it has not. Where shards read partitions, nobody else reads what is in theirs.
func (d Deal) Rekeyed(o Deal) bool {
	return d.Of > 1 && d.Of == o.Of && d.By == "" && o.By == "" && compile.Rekeyed(d.On, o.On)
}

// Or is d where the store says it, and as for the rest: how a graph deals that runs.
func (d Deal) Or(as Deal) Deal {
	if d.Of == 0 {
		return as
	}
	d.On = cmp.Or(d.On, as.On)
	return d
}

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

// Dealt is how the keys of a graph are dealt in the store. All heads say the same, for they are changed together; but
// those that an earlier release has written do not say by what.
func Dealt(heads []checkpoint.ShardHead) (d Deal, err error) {
	for i := range heads {
		var one Deal
		if one.Of, err = reactor.Dealt(heads[i].Meta); err == nil && one.Of != 0 {
			one.By, one.On, err = reactor.DealtBy(heads[i].Meta)
		}
		switch {
		case err != nil && d.Of != 0:
			return d, nil // that shard says so itself
		case err != nil:
			return one, err
		case d.Of == 0:
			d = one
		default:
			d.On = cmp.Or(d.On, one.On)
		}
		if d.Of == 1 || d.On != "" {
			return d, nil
		}
	}
	return d, nil
}
