// Package accumulator turns events into boundaries.
//
// An accumulator is one input of a graph. Events reach it over its socket (a
// push) and, optionally, from a [Source]; each is decoded, checked against the
// schema, filtered by `where`, shaped by `emit`, and folded: a passthrough hands
// every event on, a kind such as batch or window makes of many what it does. A complete
// boundary goes to the reactor through a [Port].
//
// There are three parts, each usable without the next:
//
//	Compile ──▶ Program   what the declaration says, checked and typed once
//	            Core      the pure fold: no goroutine, no clock, no I/O
//	            pump.Unit the goroutine that feeds a Core live
//
// A bounded run, a test of a declaration and the simulator drive a [Core]
// themselves, with a virtual clock; the daemon wraps it in a Unit of package pump. Each kind has a
// package of its own below this one, and nothing here knows its name; what they have in common,
// and what they are asked, is in package fold.
//
// # The books
//
// Every event is received once and then filtered, rejected, dead-lettered, open
// (folded but not handed over) or part of exactly one boundary; [Counters] says
// how many. An event refused while its sender waits is rejected; one that a source
// pulled is a dead letter, with its bytes, position, stage and code (M5, M42).
//
// Stages: "size", "decode", "schema", "time", "where", "emit", "key", "fold", those of the kinds
// ("aggregate", "window"), and what a source names itself ("generate"). Codes are those of the
// decoder and of expressions, and against_schema, too_large, type_error, time_invalid,
// key_missing, bad_key, panic, and those of the kinds (late_event, window_full).
//
// # Marks
//
// With every handoff goes a [Mark]: the positions, the fold's state and the
// counters as of its end. A restart resumes from the last mark that was admitted,
// so nothing is folded twice and nothing is left out, whatever was in flight.
//
// # Concurrency
//
// A Program is immutable after [Program.Project] and may be shared. A Core belongs
// to one goroutine. Nothing here starts one.
package accumulator
