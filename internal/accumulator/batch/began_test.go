package batch

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator/window/pane"
)

// M4: the order in which batches began is as long as there are batches, also behind one that waits for ever.
func TestM4OrderOfBatchesIsBounded(t *testing.T) {
	t.Parallel()
	b := newBatches(&program{})
	add := func() int32 {
		b.last++
		slot := b.shelf.Add(&keyed{Pane: pane.Pane{Gen: b.gen, Hash: uint64(b.last)}, number: b.last}, b.gen)
		b.begin(waiting{b.last, slot})
		return slot
	}
	rare := add()
	for range 10_000 {
		b.shelf.Remove(add(), b.gen)
	}
	later := add()
	if n := len(b.began); n > 2*b.shelf.Len()+pane.PerPage+1 {
		t.Errorf("%d are in the order, of %d batches", n, b.shelf.Len())
	}
	if first, ok := b.first(); !ok || first != rare {
		t.Errorf("the first is %d, %v, want %d", first, ok, rare)
	}
	b.shelf.Remove(rare, b.gen)
	if first, ok := b.first(); !ok || first != later {
		t.Errorf("then it is %d, %v, want %d", first, ok, later)
	}
}
