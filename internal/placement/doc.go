// Package placement says which daemon runs which unit, and when a daemon takes one or hands it
// back (M52). A unit is a graph, or a shard of one: a [checkpoint.ID].
//
// [Rank] orders the members of a store for a unit, by weighted rendezvous hashing: every daemon
// that knows the same members comes to the same order, without a word to the others. [Desk] is
// what one daemon makes of it over time. Daemons that do not agree for a moment take nothing from
// each other: a taking is refused while the owner lives, and the fence decides.
//
// The package is pure: time is an argument, and nothing depends on the order of a map.
package placement
