package checkpointtest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Owner commits for one graph.
type Owner struct {
	store checkpoint.Store
	// Next is the commit that the next Commit sends, but for its numbers.
	Next checkpoint.Commit
}

// NewOwner acquires a graph.
func NewOwner(b testing.TB, s checkpoint.Store, name string) *Owner {
	b.Helper()
	id := checkpoint.ID{Tenant: "default", Graph: name}
	head, err := s.Acquire(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return &Owner{
		s, checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq, Epoch: head.Epoch, At: time.Now(),
			Meta: make([]byte, 500), KeepFirings: 1000},
	}
}

// Commit sends Next, as the commit after the last one.
func (o *Owner) Commit(b testing.TB) {
	b.Helper()
	o.Next.Seq++
	o.Next.Epoch += int64(max(1, len(o.Next.Firings)))
	for i := range o.Next.Firings {
		o.Next.Firings[i] = checkpoint.Firing{Incarnation: 1, Epoch: o.Next.Epoch - int64(len(o.Next.Firings)-1-i),
			Data: o.Next.Firings[i].Data}
	}
	if err := o.store.Commit(b.Context(), &o.Next); err != nil {
		b.Fatal(err)
	}
}

// CellsOf makes n cells of one size, each with a key of its own.
func CellsOf(n, size int) []checkpoint.Cell {
	cells := make([]checkpoint.Cell, n)
	for i := range cells {
		cells[i] = checkpoint.Cell{
			Kind: "input", Name: "orderbook", Key: fmt.Sprintf(`"S%d"`, i), Data: bytes.Repeat([]byte{byte(i)}, size),
		}
	}
	return cells
}

// FiringsOf makes n records of one size; Commit numbers them.
func FiringsOf(n, size int) []checkpoint.Firing {
	f := make([]checkpoint.Firing, n)
	for i := range f {
		f[i].Data = make([]byte, size)
	}
	return f
}
