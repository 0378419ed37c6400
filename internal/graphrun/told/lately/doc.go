// Package lately tells what a run has done of late: how fast its queues fill, how often its epochs come, and for how
// long its outputs have given nothing. It takes samples of the views that the run publishes, so that a run at rest
// costs nothing: begin with [Rates], [EpochRate] and [Ages], which a run has one of each.
package lately
