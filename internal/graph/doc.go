// Package graph compiles the nodes of a declaration into an immutable [Plan]
// and runs one epoch of it. It is a pure step: no I/O, no goroutine, no clock
// of its own, and nothing depends on the order of a map.
//
// # Compiling
//
// [Compile] finds what each node refers to (names in its expressions, and
// `after`), turns the references into edges, ranks the nodes by longest path,
// checks the types of every expression in that order, and reports every mistake
// with its place in the document. The nodes of a plan are in the total order
// (rank, priority, declaration index); an index of a node is its place in it.
//
// # Running
//
// Three values take part in an epoch. The [State] holds, for one key, the node
// values of the last committed epoch. The [Epoch] is what the reactor's cut
// took. The [Result] is scratch and answer at once, reused from epoch to epoch.
// An epoch is Run, and then perhaps Commit:
//
//	p.Run(st, e, r)              // what changed is due, and runs; r owns the cut
//	p.Commit(st, r)              // makes it current; not calling it discards the epoch
//
// Within, it is begun ([Plan.Begin]), each node that is ready is evaluated and settled
// ([Result.Settle]), and it is finished ([Result.Finish]), so that a node may take its time
// while others run. In which order nodes are settled makes no difference to what the epoch
// comes to: where it could (which failure ends the epoch, who had run before it) the plan's
// order decides, as if the nodes had run one after the other (M23). [Result.Cancel] gives up
// what is out.
//
// With [Epoch.Hands], Run gives the nodes of pools to workers and goes on with the others meanwhile (M23). Each of them
// is a [Run] that reads the values of its epoch: one that does not come back may be left behind with them (M25).
//
// Who owns what: from Begin to Finish the result owns copies of the cut's values and
// versions, so that the caller's slices are free again at once; the values themselves
// are immutable. The state is read only in that time, but for what functions
// remember, which goes on in place and can be taken back until the commit. All of
// these calls are the owner's; [Run.Do] alone may be on another goroutine.
//
// Because nothing writes the state before Commit, an epoch that fails, that is
// interrupted or that is only an aside leaves no trace: the next one behaves as if it
// had never happened (M21, M22).
//
// # Stamps
//
// A stamp is a number from one growing counter that the reactor owns, shared by
// everything one key reads (with global inputs: one counter for the reactor).
// [Epoch.Stamp] is this epoch's, and [Epoch.Versions] says at which stamp each
// input's value was put in the cache: for a queued boundary that is the cut that
// took it, not its arrival. The rules a caller keeps: Stamp is greater than
// every version; a version set after a committed epoch is greater than that
// epoch's stamp; an input whose value is taken away (an update drops it) gets a
// new version too. When a cut is undone, versions go back with the values.
//
// In each committed epoch every node that was due has been brought up to date,
// so "newer than what the node last ran with" (M16) is the same question for all
// nodes: is the version newer than the last committed epoch's stamp, or has the
// node in between ticked in this epoch? A state therefore needs one stamp for
// the key instead of two for each node, and a node that nothing reaches costs
// nothing at all.
//
// A node that asks for fresh() or cause() is due in every epoch: their answers change with
// each, whatever the inputs do. It is cut off like any other, and what rests on it hears
// nothing then.
//
// # Cells
//
// A checkpoint writes a state as cells: one for each node and each output that
// emits on change, and one for the stamp. [Result.Touch] says which of them a
// commit changes: nodes that ticked, outputs that emitted, and always the stamp. A
// node's cell knows what the node computes, so cells can be restored into the plan
// of a changed declaration (M33): a node that now computes something else starts
// afresh, and what rests on it hears of that.
//
// # What a node does in an epoch
//
//   - [Idle]: not due; it keeps its value.
//   - [Ran]: it was computed and ticked: the value changed, or it is an event node.
//   - [CutOff]: it was computed, the value is equal to the one before, which
//     stays; it did not tick.
//   - [Skipped]: it was due but had nothing to compute: it plainly read an absent
//     value, or the node or route it comes after has no value or was not taken.
//     Its value is absent. That is no error.
//   - [Failed]: it met an error or a panic. on_error says what its value is:
//     fail_epoch ends the epoch; skip and dead_letter make it absent; last_good
//     leaves the value as it was. Either way the node is due again only when
//     something it rests on changes. What has failed because it could not run is due in
//     the next epoch: where the budget of the epoch left it out, and where it has never run.
//
// Becoming absent is a change like any other: nodes that read the value with
// `?.` or `??` are due, those that read it plainly are skipped. Outputs emit
// values, never absences.
//
// A route node's value is the name of the route taken, or null when no condition
// held (no_route). What comes `after` a node does not start when that has no value or
// null, nor `after` a route that was not taken.
package graph
