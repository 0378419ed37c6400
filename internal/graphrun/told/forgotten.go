package told

import "sync/atomic"

// Forgotten is what retention has removed of a graph since the daemon has it.
type Forgotten struct {
	Letters atomic.Int64
	// Expired and Displaced are Idempotency-Keys of pushes: too old, and without room beside newer ones.
	Expired, Displaced atomic.Int64
}
