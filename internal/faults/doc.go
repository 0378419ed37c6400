// Package faults holds the tests that run the real binary and kill it: what the
// guarantees of docs/guarantees.md say of a crash is shown here, on a real file system,
// with the effects counted from outside.
//
// Tests that wait more than they work run in parallel; those that push as fast as they can,
// measure time or memory, or set the environment run alone.
package faults
