// Package guest runs functions of WebAssembly modules: within bounds of memory and time, without a clock, chance or
// input of their own, and so that what a call answers depends on its arguments alone.
//
// [Modules] reads and compiles a module, once for all who have the same one; a [Module] answers for its functions; a
// [Function] is taken ([Function.Take]), called and given back.
//
// # What a guest keeps
//
// Nothing. A guest is started once, when its module is read, and what its memory and its globals are then is what each
// call finds. Where a function can change none of that, as package meter finds from its code, there is nothing to do;
// else it is put back after each call; and what cannot be put back (tables, dropped segments, a memory that has grown)
// has the guest thrown away. Guests that stand ready are therefore alike, and shared by all graphs of a daemon.
//
// # Bounds
//
// A guest asks from time to time whether it may go on (package meter), and is stopped when its time is over. Its memory
// has a bound of pages. Compiled code is kept as long as somebody has its module, guests as long as somebody has a
// function of it.
//
// # Concurrency
//
// Modules and functions are safe for concurrent use; what has been taken belongs to who has taken it. Nothing here
// starts a goroutine.
package guest

import (
	"fmt"
	"strings"
	"time"
)

// Codes of an [Error].
const (
	CodeTrap    = "wasm_trap"    // the code did what it may not do, or has given up
	CodeTimeout = "wasm_timeout" // it has not ended within its time
	CodeMemory  = "wasm_memory"  // it needs more memory than it may have
	CodeFailed  = "wasm_failed"  // it has said that it cannot answer
	CodeResult  = "wasm_result"  // what it has answered is nothing that could be read
	// CodeArgument is an input that is not what a parameter takes.
	CodeArgument = "wasm_argument"
)

// Error is why a call has no result.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

func failed(code, format string, args ...any) *Error {
	return &Error{Code: code, Text: Shortened(fmt.Sprintf(format, args...))}
}

// maxText bounds a text that a module or a guest has a part in: it goes into records, letters and answers.
const maxText = 1 << 10

// Shortened is a text that is told, of at most 1 KiB: its end is left out where it is longer.
func Shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}

// PageBytes is the size of a page of memory.
const PageBytes = 64 << 10

const (
	// startWithin is how long a guest may take to start when its module is read: some bring a runtime of their own.
	startWithin = 5 * time.Second
	// againWithin is how long it may take at least when one has to be started anew in a call, which has waited for it.
	againWithin = time.Second
)

// Call is what a call may know beside its arguments.
type Call struct {
	// Now is what clocks say: the epoch's time.
	Now time.Time
	// Seed is what chance is made of.
	Seed [2]uint64
	// Within is how long the call may take.
	Within time.Duration
}
