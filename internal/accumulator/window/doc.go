// Package window is the accumulator of the kind window: it folds events into panes by
// their own time and key, and hands the aggregates over when a window is complete (M3).
//
// [Declared] is what a declaration asks of it, a [Program] that, checked and typed once, and a [Window]
// its fold; window.go is where to begin. The words:
//
//   - An *instance* is one window on the grid: from its start up to its end (package grid).
//   - A *pane* is what one key has in one instance: cells that aggregate, and how many
//     events no boundary accounts for yet (package pane). A checkpoint keeps panes by the page.
//   - The *watermark* is how far event time has come, partition by partition (package watermark).
//     When it reaches an instance's end the instance is handed over (emit.go). It is then
//     forgotten, or kept for `retain` under `late: update`.
//   - A *session* is a window of one key that ends with a pause: a pane with times of its own (session.go). [Sessions]
//     folds into these, on a *shelf* of slots that are used again.
//   - A window of so many events is a *tally* of a key, which knows no time (counts.go).
//
// # Late events
//
// An event is late when the last instance that contains it is gone, or a session of it alone would be; the fold then
// changes nothing and says what becomes of the event (lateness.go).
//
// # Memory
//
// A pane keeps its key and what its aggregates hold compact, in memory of its own. Nothing
// else of an event is kept.
//
// # Concurrency
//
// A Program is immutable. A Window belongs to one goroutine; its states share pages with
// it, which are copied before they are written to, so that they may be encoded on any other.
// Nothing here starts a goroutine.
package window
