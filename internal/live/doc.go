// Package live is the shell that makes a [reactor.Core] live: the goroutine that owns it, its
// inbox, its writers, and its way to the store.
package live
