// Package drive takes a graph through its events: one at a time in the order of their times, through
// the timers on the way, to rest at every instant (M26). A bounded run, a test of a declaration and a
// live graph under the event clock are all driven by it, and so cannot differ in what they answer.
//
// A [Drive] knows no clock, no goroutine and no place where events come from. Where they wait is its
// [Events]'s business, what an epoch costs and where its outputs go its [Host]'s.
package drive
