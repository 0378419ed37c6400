//go:build unix

package guest

import (
	"runtime"
	"testing"

	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// What a guest takes is no garbage of the heap, which holds up all who run beside it while it is made and collected;
// and what has been thrown away is given back to the system.
func TestMemoryIsOutsideOfTheHeap(t *testing.T) {
	const calls, most = 50, 256 // pages
	module, err := new(Modules).Module(Program{Pages: 1, Funcs: []Func{Grow("grow")}}.Bytes(), most)
	if err != nil {
		t.Fatal(err)
	}
	f, err := module.Function("grow")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		if _, err := numbers(f, long(), 0); code(err) != CodeMemory {
			t.Fatalf("it ended with %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > calls*most*PageBytes/10 {
		t.Errorf("%d guests of 16 MiB made %d MiB in the heap", calls, made>>20)
	}
}

func TestMemoryOfAGuest(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*memory{
		"reserved": reserve(0, 3*PageBytes).(*memory), "in the heap": {heap: true}, "none": reserve(0, 0).(*memory),
	} {
		if name != "none" {
			m.Reallocate(PageBytes)[7] = 9
			if b := m.Reallocate(3 * PageBytes); len(b) != 3*PageBytes || b[7] != 9 || b[3*PageBytes-1] != 0 {
				t.Errorf("%s: it has grown to %d bytes, and has lost what was in it or has more", name, len(b))
			}
		} else if b := m.Reallocate(0); len(b) != 0 {
			t.Errorf("no memory has %d bytes", len(b))
		}
		if !m.heap && m.Reallocate(4*PageBytes) != nil {
			t.Errorf("%s: it has grown over what it may have", name)
		}
		for range 2 { // an engine may free what it has freed
			if m.Free(); m.all != nil {
				t.Errorf("%s: it is still there", name)
			}
		}
	}
}
