// Package aggregate has the functions that make one value of many events: count, sum,
// mean, min, max, min_by, max_by, first, last, stddev, quantile, distinct,
// count_distinct, collect and top.
//
// [Compile] turns the text of a declaration's `aggregate` into [Calls]; a group of events
// holds one [Cell] for each call. A cell is a plain value of fixed size: adding an event
// allocates nothing but in the sketches and lists, and copying a cell with [Cell.Clone]
// is a snapshot of it.
//
// # Order
//
// Results do not depend on the order in which events arrive, but for events of the same
// time, which count as they came, and for the last bits of sums of floats. Sums of ints
// are kept in 128 bits, so that only a result can overflow and no intermediate.
//
// # Nulls
//
// As in SQL, null is no value: sum, mean, min, max, min_by, max_by, stddev, quantile and
// distinct and count_distinct pass it over, and give null when there was nothing else (sum and
// the two distinct give 0). count counts events; first, last, collect and top take what is there.
//
// # Concurrency
//
// Calls are immutable and may be shared. A cell belongs to one goroutine. Nothing here
// starts a goroutine, reads a clock or a random source.
package aggregate
