// Package terminal is what every verb of the command line says and prints with: the
// streams, tables, JSON and YAML, and the exit codes.
//
// Data goes to standard output in the format of -o, talk to standard error. What
// came from outside is cleaned of control characters before a terminal sees it.
//
// The package starts no goroutine.
package terminal
