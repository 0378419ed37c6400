// Package watch tells who subscribes what happens in graphs, without ever holding a graph up:
// a watcher that is too slow misses frames, and is told which.
//
// A [Hub] belongs to one graph and outlives its runs. It looks at the graph's reactor between
// two epochs and hands frames of what is new to the [Queue] of each watcher. [Everyone] are the
// watchers of all graphs of a tenant: they are attached to graphs that come later too.
//
// # Concurrency
//
// The package starts no goroutine. [Hub.Look], [Hub.AttachLive] and [Hub.Resume] run on the
// reactor's goroutine and never block; everything else may be called from any. A queue is
// written by hubs and read by its one watcher.
package watch
