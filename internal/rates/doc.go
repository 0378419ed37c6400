// Package rates bounds how often something may be done, by who does it: a [Rates] has a limiter for each key, of
// which the least recently used go when there are too many, so that a flood from many addresses fills no memory.
// [Source] makes the key of an address.
//
// It starts no goroutine. Everything in it may be used by any number of them.
package rates
