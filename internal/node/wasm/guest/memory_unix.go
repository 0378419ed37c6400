//go:build unix

package guest

import (
	"runtime"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// room is where guests have their memory.
var room experimental.MemoryAllocator = experimental.MemoryAllocatorFunc(reserve)

// reserve makes the memory of a guest outside of Go's heap: as much of the address space as it may ever have, of which
// the system gives what is touched. In the heap a memory that grows is copied again and again, what a guest has left is
// garbage of many MiB, and both hold up all who run beside it: a copy cannot be interrupted, and each collection waits
// for it.
func reserve(_, most uint64) experimental.LinearMemory {
	if most == 0 {
		return &memory{}
	}
	all, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return &memory{heap: true}
	}
	m := &memory{all: all}
	m.lost = runtime.AddCleanup(m, func(all []byte) { _ = syscall.Munmap(all) }, all) // of a start that has failed
	return m
}

// memory is that of one guest. It does not move, unless it is in the heap.
type memory struct {
	all  []byte // unmapped once
	lost runtime.Cleanup
	heap bool // the system has given no room: all is Go's, as long as it has to be
}

// Reallocate implements [experimental.LinearMemory].
func (m *memory) Reallocate(size uint64) []byte {
	if m.heap {
		if more := int(size) - len(m.all); more > 0 {
			m.all = append(m.all, make([]byte, more)...)
		}
	}
	if size > uint64(len(m.all)) {
		return nil
	}
	return m.all[:size:size]
}

// Free implements [experimental.LinearMemory].
func (m *memory) Free() {
	if !m.heap && m.all != nil {
		m.lost.Stop()
		_ = syscall.Munmap(m.all) // as it was mapped
	}
	m.all = nil
}
