package pump

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Share says which of an input's events are folded here, where each shard of a graph reads all of them (M49): those of
// its keys. The others are passed: their positions are behind this shard too, and their times count for it (M50).
type Share struct {
	// Shard is this one, of so many.
	Shard, Of int
	// Dealer finds the shards of events; each call another. Nil: what the input has is for all keys, so every shard
	// folds it.
	Dealer func() *accumulator.Dealer
}

// sharer is a Share at work. It belongs to one goroutine. Nil deals everything to this shard.
type sharer struct {
	share  *Share
	dealer *accumulator.Dealer
}

func newSharer(s *Share) *sharer {
	if s == nil || s.Dealer == nil {
		return nil
	}
	return &sharer{share: s, dealer: s.Dealer()}
}

// deal finds the shard of an event. One whose reading panics is the first shard's, and panics again when it is folded.
func (s *sharer) deal(ev *boundary.Event, d accumulator.Dated, loan *boundary.Loan, f *fold.Fate) (shard int) {
	defer func() {
		if r := recover(); r != nil {
			s.dealer = s.share.Dealer() // its scratch may be in any state
			shard, *f = 0, fold.Fate{}
		}
	}()
	if shard, f.Vouched = s.dealer.Deal(ev, d, loan, s.share.Of); f.Vouched {
		f.At = s.dealer.When()
	}
	return shard
}

// echoes says that other shards fold the same events, and the first of them keeps what cannot be used: here it is
// refused as a push is, and no dead letter comes of it.
func (s *Share) echoes() bool { return s != nil && s.Dealer == nil && s.Shard > 0 }
