// Command bench measures graphd beside its floors, in one run on one machine.
//
//	go run ./bench                # what make bench runs: every section
//	go run ./bench -quick w1 w4   # two of them, in seconds
//	go run ./bench -base v0.1.0   # the workloads on files, compared with a revision
//
// Everything that is measured is a real process on real files or on the loopback, and
// every figure is a median. The floors are this binary's `floor` subcommand: hand-written
// programs for one job each. The contenders take turns, so that a change of the machine's
// mood meets all of them.
//
// W1 to W3 run over files: the floors, graphd, and graphd with everything off that only
// makes it faster (GRAPHD_PLAIN=1). Before anything is timed, all of them run over a small
// input with their outputs in files, and those must be the same to the byte. W4 and W4b
// drive a live daemon and a hand-written relay with the same open loop: an event is due at
// a fixed moment whatever became of those before, and latency counts from that moment.
// Afterwards the daemon's books must balance and every output must have come.
//
// The measure is CPU seconds (user and system) per million events: wall time depends on
// who else uses the machine.
//
// # Concurrency
//
// Processes over files run one after another. A load on a live daemon has one goroutine
// for each connection; all of them have ended when it returns, or end with its context.
package main
