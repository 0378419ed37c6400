package redeal

import (
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// stands is a shard of two that has read up to an offset.
func stands(offset int64) Shard {
	m := form.Meta{Shards: 2}
	at := []boundary.Position{{Stream: "s", Offset: offset}}
	a := form.Account{Identity: "a", Mark: accumulator.Mark{Positions: at}}
	return Shard{Head: checkpoint.Head{Meta: m.Append(nil)},
		Cells: []checkpoint.Cell{{Kind: form.CellAccount, Name: "a", Data: a.Append(nil, false)}}}
}

// M54: shards that have not read equally far are not put together, for an event would be taken in twice or never.
func TestM54ShardsThatAreApartAreNotDealt(t *testing.T) {
	t.Parallel()
	g := &Graph{Inputs: []Input{{Name: "a", Global: true}}, Plan: "p"}
	if _, err := Deal(g, []Shard{stands(7), stands(8)}, 2); !errors.Is(err, ErrApart) {
		t.Errorf("one at 7, one at 8: %v", err)
	}
	commits, err := Deal(g, []Shard{stands(7), stands(7)}, 1)
	if err != nil || len(commits) != 2 {
		t.Fatalf("both at 7: %v", err)
	}
	for i, c := range commits {
		m, there, err := form.ReadMeta(c.Meta)
		if err != nil || !there || m.Dealt() != 1 {
			t.Errorf("shard %d says %d, %v", i, m.Dealt(), err)
		}
	}
	if gone := commits[1].Cells; len(gone) != 1 || gone[0].Data != nil {
		t.Errorf("the shard that is no more keeps %v", gone)
	}
}
