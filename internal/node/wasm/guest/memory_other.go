//go:build !unix

package guest

import "github.com/tetratelabs/wazero/experimental"

// room is nothing: guests have their memory in Go's heap.
var room experimental.MemoryAllocator
