// Command bench measures graphd beside its floors, in one run on one machine.
//
//	go run ./bench            # what make bench runs
//	go run ./bench -lines 200000 -n 3 w1
//
// Each workload is run by real processes that read real files: graphd itself, graphd with
// everything off that only makes it faster (GRAPHD_PLAIN=1), and two hand-written programs
// for the same job, which are this binary's `floor` subcommand. The variants take turns,
// so that a change of the machine's mood meets all of them; what is reported are medians.
// Before anything is timed, all variants run over a small input with their outputs in
// files, and those must be the same to the byte.
//
// The measure is CPU seconds (user and system) per million events: wall time depends on
// who else uses the machine.
//
// # Concurrency
//
// Nothing here starts a goroutine: the processes run one after another.
package main
