// Command members measures what a second daemon on one store brings to a graph that reads Kafka, and makes of it what
// more of them would bring:
//
//	go run ./bench/members -graphd bin/graphd          # one daemon, two, and two of which one has few shards
//	go run ./bench/members rest                        # what 64 members at rest ask of the database
//	go run ./bench/members model -own 6 -foreign 0.5   # up to how many members it pays, from measured costs
//
// Each daemon is bound to one core, by GOMAXPROCS and, where it is there, taskset. Broker and database are beside them
// on the machine's cores: where there are two, wall time tells of all of them together. Beside it stands the processor
// time of each, and what follows from it where every daemon has a core to itself.
//
// The topic is written once. Every contender reads it from its start under a database of its own, and its books must
// have each record once. The broker does not answer until each member has its shards, so that coming there is not
// measured. The contenders take turns, so that a change of the machine's mood meets all.
//
// # Concurrency
//
// The program has one goroutine, but for one that reads what a daemon says, which ends with that daemon.
package main
