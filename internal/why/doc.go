// Package why puts into sentences why an epoch ran, and why nothing comes.
//
// It computes nothing of its own: [Picture.Tell] is told of the record that an epoch has left, and [Picture.Not] of how
// a graph stands, of the records of its newest epochs, and of the sample that it keeps of what has come to nothing
// (package refused). Every reason has a code, a sentence, and what can be done.
//
// Begin with [Picture], which knows what rests on what; silent.go says of a record why a node or an output gave
// nothing.
package why
