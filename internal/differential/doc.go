// Package differential holds tests alone: random declarations with keys, windows, routes and
// functions with memory, over random events out of order, run in a bounded run, live, and
// across crashes at random points, and compared with a computation that knows nothing of
// graphd (M3, M13, M16, M28, M42).
package differential
