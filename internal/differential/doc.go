// Package differential holds tests alone: random declarations with keys, windows, routes and
// functions with memory, over random events out of order, run in a bounded run, live, and
// across crashes at random points, and compared with a computation that knows nothing of
// graphd (M3, M13, M16, M28, M42).
//
// The declarations of the files wide*_test.go have every field there is. They are not computed
// by anybody else: what a bounded run says is compared with what every other way says (M26).
//
// Those with shards are drawn by newDealt, and compared by TestM51ShardsSayWhatOneSays, TestM48LiveShardsSayWhatOneSays
// and TestM52MovedShardsSayWhatOneSays: a bounded run to the byte, live graphs by key, for several numbers of shards
// and of cores (M48 to M54). A graph that has lost something stands still, which is told after a third of the patience.
//
// Graphs that follow others are drawn by newLed, and compared with runs over what runs have put out (M46).
//
// Mistakes that were planted by hand, and which way has found them, are listed in decision 0252.
package differential
