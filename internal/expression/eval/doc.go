// Package eval evaluates checked expressions: it compiles a syntax tree to Go
// closures over [boundary.Value] and runs them.
//
// [Compile] makes a [Program] of a tree in which package expression has
// resolved the names and checked the types; the functions come as a table of
// [Function]. An evaluation has an [Env]: what is read, and room to work in.
//
// One file per family of nodes: access.go (names, fields, elements), arith.go
// and compare.go (operators in registers), build.go (lists, objects, slices),
// loop.go and gather.go (map, filter, sum, groupBy …). limits.go says how much
// one evaluation may do. What an operator means on any two values stands in
// package rules; the closures here handle numbers themselves and go there for
// everything else.
//
// # How closures stop
//
// A closure that cannot go on returns an absent value, and [Env.Fail] has noted
// why. No closure ever returns an absent value otherwise: a missing field reads
// as null, a name that never arrived stops the evaluation or reads as null.
//
// # Concurrency
//
// The package starts no goroutine. A Program may be evaluated by many
// goroutines at once, each with its own Env.
package eval
