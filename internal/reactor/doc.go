// Package reactor decides when a graph fires, cuts its inputs, runs the plan,
// commits, and releases the outputs.
//
// It has two halves. [Core] is a pure state machine: it owns cache, dirty flags,
// queues and node state, knows no goroutine, no clock and no store, and is driven
// by calls that carry the time. Live daemon, bounded run, declaration tests and
// simulator all drive the same Core. [Reactor] is the one goroutine around a Core
// that makes it live: it admits what accumulators hand over, fires, gives outputs
// to sink writers and checkpoints to the store.
//
// # The way of one boundary
//
//	accumulator ── Inbox.Put ──▶ Core.Admit ──▶ criteria ──▶ cut ──▶ plan ──▶ commit ──▶ Writer ──▶ Sink
//	                 (bounded)     overwrite        │                           │
//	                               or queue      wait                   Core.Seal ──▶ store
//
// A cut takes the newest value of every latest input and the head of the queue of
// sequential ones in one step. What arrives while the plan runs waits in the inbox
// and belongs to a later epoch (M7). A failed epoch undoes its cut: the cache, node
// values and state are what they were, and the events it took become dead letters (M21).
//
// # Concurrency
//
// A Core is owned by one goroutine. A Reactor owns its Core; everyone else sends it a
// function to run between epochs ([Reactor.Do]), so a command never meets a half-done
// epoch (M11). A Reactor starts one goroutine per output (its Writer), and one for each
// commit in flight; Run joins them before it returns.
package reactor
