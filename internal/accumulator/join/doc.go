// Package join is the kind of accumulator that is made of two other inputs of its graph: it hands over each pair of
// events, one of either side, that have the same key and lie within a span of each other's time, and for the outer
// types what has found no partner when its time is up.
//
// # What is joined
//
// Everything goes by event time. A right event is within the span of a left one when it happened no earlier than
// `before` before it, and no later than `after` after it, both included. Events of a side may come out of order by
// `lateness`; what comes later than that is late, and is not joined. Of all others each pair is handed over once, by
// the one of the two that comes second. So what is joined does not depend on when anything comes. With `tumbling` it is
// within the span when both are of one window.
//
// A side may be a join itself. What that hands over is late by none of its lateness, see [Program].
//
// # How far it has come
//
// The reactor says when the graph is at rest how far engine time has come (package stage): the time of the join is
// that less the lateness, and no event from before it comes any more that is not late. A row, which is an event that
// is kept for its partners, goes when that time is past the last partner it could have.
//
// # State
//
// Rows stand in pages, by side in the order in which they came, so that a checkpoint writes the pages that have changed
// and drops those that are empty. What finds rows, by key and by when their time is up, is made anew when a state is
// resumed. A snapshot shares the pages: one that is written to after it is copied first.
//
// # Concurrency
//
// As all folds: a Join belongs to one goroutine, and the states that it gives out are immutable.
package join
