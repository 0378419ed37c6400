// Package reactor decides when a graph fires, cuts its inputs, runs the plan, commits, and
// says what is to be released.
//
// It is a pure state machine: a [Core] owns cache, dirty flags, queues, timers and node state
// of one graph, and everything that happens to it is a call that carries the time. It knows no
// lock, no context, no clock and no store; what it wants done it leaves to be fetched. The live
// daemon (package live), bounded runs, declaration tests and the simulator drive the same Core,
// so the same calls give the same epochs, and a journal of the calls is a journal of the graph.
//
// # The way of a boundary
//
//	Admit ──▶ wait ──────────▶ Fire: criteria ──▶ cut ──▶ run ──▶ commit ──▶ Released
//	           newest value,          guard          the plan     │
//	           or queue                                           └──▶ Seal ──▶ a checkpoint
//
// [Core.Admit] takes in what an accumulator hands over: a latest input is overwritten, a
// sequential one queues (admit.go, cell.go). [Core.Fire] runs at most one epoch: criteria and
// timers say which key is ready (criteria.go, agenda.go), the cut takes the newest value of
// every latest input and the head of the queue of sequential ones in one step (cut.go), the
// plan runs on it, and all of it is kept or nothing (run.go). A failed epoch undoes its cut: the
// cache, node values and state are what they were, and the events it took become dead letters
// (M21). What the epoch put out is in [Core.Released], or is held until a commit takes it
// (held.go).
//
// # What is kept
//
// [Core.Seal] freezes what has changed since the seal before, between two epochs; the seal is
// immutable and is encoded elsewhere, while the core goes on (seal.go, keyseal.go, codec.go).
// [Core.Restore] loads a checkpoint, and a [Replayer] the journal behind it (restore.go, log.go,
// replay.go).
//
// # Where to begin
//
// Read core.go for the state, cut.go for an epoch, criteria.go for when one is called for, and
// keys.go for what a key adds: a state of its own for each, and an agenda of those that are
// ready. view.go is what the outside sees.
//
// A Core is owned by one goroutine; package live is the shell that sees to that.
package reactor
