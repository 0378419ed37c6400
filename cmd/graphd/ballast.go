package main

import "runtime/debug"

// ballastBytes is memory that is asked for and never touched, so that it takes none. The
// garbage collector runs whenever the heap has doubled, and a daemon with few graphs keeps
// a few MiB: it would run after every 4 MiB of garbage. With the ballast it runs after some
// 36, which spares a busy daemon a quarter of its processor time, for that much memory at
// most. To a large heap it makes no difference.
const ballastBytes = 32 << 20

// ballast is nil where the environment says how often to collect, or where memory is short.
// The caller keeps it alive.
func ballast(getenv func(string) string) []byte {
	const scarce = 16 * ballastBytes
	if getenv("GOGC") != "" || debug.SetMemoryLimit(-1) < scarce {
		return nil
	}
	return make([]byte, ballastBytes)
}
