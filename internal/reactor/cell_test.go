package reactor

import (
	"testing"
	"unsafe"
)

// M13: what a million keys are a million of. Whoever makes it larger has a reason and says so here.
func TestKeysAreSmall(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(cell1x0{}); got > 192 {
		t.Errorf("a key of one input takes %d bytes, want at most 192", got)
	}
	if got := unsafe.Sizeof(cell2x1{}); got > 288 {
		t.Errorf("a key of two inputs and a node takes %d bytes, want at most 288", got)
	}
}
