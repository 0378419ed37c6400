// Package share deals the events of an input to the shards of its graph (M49).
package share

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
)

// Share says which of an input's events are folded here, where each shard of a graph reads all of them (M49): those of
// its keys. The others are passed: their positions are behind this shard too, and their times count for it (M50).
type Share struct {
	// Shard is this one, of so many.
	Shard, Of int
	// Dealer finds the shards of events; each call another. Nil: what the input has is for all keys, so every shard
	// folds it.
	Dealer func() *accumulator.Dealer
	// Partitioned says that a shard reads the partitions whose number modulo Of is its own: they were dealt by key.
	Partitioned bool
}

// Home is the shard that alone reads a stream of the source; -1 where all of them do.
func (s *Share) Home(stream string) int {
	if s == nil || !s.Partitioned {
		return -1
	}
	if n := partitioner.NumberOf(stream); n >= 0 {
		return n % s.Of
	}
	return -1
}

// Dealing is a Share at work. It belongs to one goroutine.
type Dealing struct {
	share  *Share
	dealer *accumulator.Dealer
}

// New has a Share deal; nil where it deals everything to one shard.
func New(s *Share) *Dealing {
	if s == nil || s.Dealer == nil {
		return nil
	}
	return &Dealing{share: s, dealer: s.Dealer()}
}

// With has a Share deal by a dealer that there is already.
func With(s *Share, d *accumulator.Dealer) *Dealing { return &Dealing{share: s, dealer: d} }

// Dealer is what it deals by.
func (s *Dealing) Dealer() *accumulator.Dealer { return s.dealer }

// Deal finds the shard of an event. One whose reading panics is the first shard's, or that of its partition, and panics
// again when it is folded; bad says that one is in a partition of another shard than its key's.
func (s *Dealing) Deal(ev *boundary.Event, d accumulator.Dated, loan *boundary.Loan, f *fold.Fate) (
	shard int, bad *accumulator.BadEvent) {
	home := s.share.Home(ev.Pos.Stream)
	defer func() {
		if r := recover(); r != nil {
			s.dealer = s.share.Dealer() // its scratch may be in any state
			shard, bad, *f = max(home, 0), nil, fold.Fate{}
		}
	}()
	if shard = home; home >= 0 {
		f.Vouched, bad = s.dealer.DealIn(home, ev, d, loan, s.share.Of)
	} else {
		shard, f.Vouched = s.dealer.Deal(ev, d, loan, s.share.Of)
	}
	if f.Vouched {
		f.At = s.dealer.When()
	}
	return shard, bad
}

// Echoes says that other shards fold the same events, and the first of them keeps what cannot be used: here it is
// refused as a push is, and no dead letter comes of it.
func (s *Share) Echoes() bool { return s != nil && s.Dealer == nil && s.Shard > 0 }
