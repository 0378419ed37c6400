// Package reader reads a source once for all shards of a graph that a process runs (M49).
//
// A [Reader] has the source. What it reads is dated, decoded and dealt once, and given to every shard's line or unit,
// which take part as long as they run [Reader.Source]'s: as a source of their own it looks to them. Reading begins at
// the least position of all who take part. One that comes later is given what was read lately, and where that does not
// reach back to it reading begins again. Each is given nothing that it is past.
// What it cannot hold holds back the reader, and with it the others: nothing is dropped.
//
// Positions have no order of their own. A source that knows it is an [Ordered]; where it does not, or cannot say it of
// two positions, the shards that stand elsewhere than the first of them read for themselves, as each would without a
// Reader.
//
// Where the keys were dealt to the partitions of the source ([pump.Share]) it reads those of who takes part, each from
// where its shard stands, and gives each to its shard alone.
//
// Where to look: reader.go who takes part · session.go one run of the source · words.go what it says · recent.go who
// comes while it runs · again.go for whom it begins again · order.go positions.
//
// # Concurrency
//
// A Reader is safe for concurrent use. It has one goroutine while somebody takes part, which the last to leave joins.
package reader
