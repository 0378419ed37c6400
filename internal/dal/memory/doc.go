// Package memory is the store that is lost with the process (M39). The simulation runs on it
// too, with instance ids that follow from a seed.
//
// # Concurrency
//
// All methods of [Store] are safe for concurrent use; it starts no goroutine.
package memory
