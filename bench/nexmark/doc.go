// Command nexmark runs the queries of Nexmark, a benchmark of streams, as declarations beside plain programs.
//
//	go run ./bench/nexmark                           # all of them over a million events: minutes
//	go run ./bench/nexmark -events 100000 -n 1 q4 q9 # some of them over fewer
//
// The events are those of an online auction: persons register, auctions begin, bids come. Their shapes, shares and
// names are those that the benchmark lays down (https://github.com/nexmark/nexmark). [generator] makes them, the same
// for the same numbers, a file for each stream. q0.yaml and the others say what is asked, in the form that a user
// would write; the plain programs in plain*.go answer the same by a loop over the files, know nothing of graphd, and
// are the floor.
//
// Before anything is measured, what comes out of a query is compared with what its plain program says, whatever the
// order ([tally]). Then both run, each in a process of its own and in turn, and put out their lines to the null device.
// Those of graphd run as graphd run does, over files under virtual time, but for q10: its files are written by a
// daemon with a store in memory. The measure is CPU seconds (user and system) per million events that a query reads,
// and the peak of the memory, which is read from /proc: on Linux only.
//
// # Concurrency
//
// One process after another. The program starts no goroutine but the one that a daemon runs on, which has ended
// when the run over it returns.
package main
