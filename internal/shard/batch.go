package shard

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/sink"
)

// Batch is how many items make a batch where nothing else is said: enough that handing it over costs nothing beside
// them. batchesAhead is how many batches may be on their way to a shard, which bounds what they hold: events come with
// what was made of them ahead, and the collector has room for nine times of it.
const (
	Batch        = 2048
	batchesAhead = 2
)

// what an item is.
type what uint8

const (
	anEvent     what = iota
	anElsewhere      // an event of another shard, which may complete something here
	aHandoff         // of what all keys share
	aBeginning       // of engine time
)

// item is one thing that happens to a shard.
type item struct {
	what   what
	input  int32
	at     int64  // engine time
	round  uint64 // the number of the event that opened the instant
	seq    uint64 // the number of the event
	number int64  // the same among those of its input
	ev     boundary.Event
	dated  accumulator.Dated
	taken  accumulator.Taken // where ahead says so
	ahead  bool
	bad    *accumulator.BadEvent
	newest vouched // what the input's events vouched for before, or by this one
	share  *accumulator.Handoff
}

// vouched is how far the events of an input have come, and by which one.
type vouched struct{ at, number int64 }

// batch is what the front has dealt at once.
type batch struct {
	items [][]item // by shard
	loans []boundary.Loan
	n     int    // of items
	at    int64  // engine time at its end
	round uint64 // the round that is open at its end; 0: none
	last  last
}

// last is what a batch says of the end, when all inputs have ended. Each step but the first begins at the time at which
// the last shard was done with the one before.
type last uint8

const (
	notYet  last = iota
	left         // what is not complete stays as it is
	awaited      // time goes on for what it completes
	handed       // what no time completes is handed over
	reached      // and all shards go to the time of the last
)

// entry is something that a shard did: an epoch, or that it took something in of which there is a letter.
type entry struct {
	round
	fired   bool
	of      label // the place of what was taken in, or of what completed the criteria
	epochs  int64 // numbers that it took
	out     int   // where its messages end, of the chunk's
	letters int   // where its letters end
}

// chunk is what a shard has done of one batch.
type chunk struct {
	entries []entry
	out     []sink.Message
	letters []checkpoint.DeadLetter
	now     int64 // engine time
	err     error
}
