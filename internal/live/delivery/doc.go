// Package delivery is the way of values from a graph to one sink: a [Writer] has a queue, or what an outbox has
// for it, tries again what its sink does not take, and makes dead letters of what the sink refuses for good.
// Its goroutine is Run; everything else may be called from any goroutine, but for what says otherwise.
package delivery
