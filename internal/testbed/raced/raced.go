// Package raced tells a test whether the race detector watches it.
//
// A simulation that is one goroutine gains nothing from the race detector and takes ten times
// as long under it: it runs part of its seeds there, and all of them without. `make test` does both.
package raced

// Some is how many of many seeds a test runs: a tenth of them under the race detector, all without.
func Some(many int) int {
	if Enabled {
		return many / 10
	}
	return many
}
