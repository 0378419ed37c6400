// Package live is the shell that makes a [reactor.Core] live: the goroutine that owns it, the
// inbox in front of it, the writers behind it, its clock, and its way to the store.
//
// # The way of a boundary
//
//	accumulator ── Inbox ──▶ Reactor: admit, fire, hand on ── Writer ──▶ Sink
//	               (lanes)        │        ▲
//	          commands ───────────┤        └── room, outcomes, refusals
//	                              └──▶ checkpoints, journal ──▶ store
//
// An [Inbox] has a lane for each input, bounded for itself: a full sequential input holds up
// its own accumulator and nobody else (M4). A [Reactor] turns: it takes in what came back from
// the store, admits what the inbox has, carries out commands, fires as long as there is room
// for what may come out, gives values to the writers, and starts a commit or an append when one
// is due. A [delivery.Writer] delivers the values of one output, and waits for its sink so that the
// reactor need not. A [Clock] is the engine time that a graph's pieces share (M26).
//
// # Commands and views
//
// A command is a message whose answer comes through a channel of capacity 1: the reactor never
// waits for its caller, and a command whose caller has gone does not run. Whoever only wants to
// see the graph reads its [View], which is immutable, a tenth of a second old at most, and there
// while an epoch is stuck in somebody's code.
//
// # Concurrency
//
// One goroutine, Run, owns the core and everything in a Reactor that is not a channel or an
// atomic. Beside it, joined by Run before it returns: one call to the store for a commit, one
// for an append to the journal, one for a note in the crash ledger, and at shutdown the wait for
// the writers. Whoever makes a Writer runs and joins it; the writers outlive the reactor by what
// they have left to deliver. Inbox, Gate, View and the commands may be used from any goroutine.
// Every wait ends with a context, and nothing polls: what can have become possible rings.
package live
