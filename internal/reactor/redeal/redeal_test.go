package redeal

import (
	"encoding/binary"
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

// halts is a shard of two that has halted on a key, and in which an event waits in a key since seq, which is behind the
// value that waits for all keys since that place in line.
func halts(on boundary.Key, seq, since uint64) Shard {
	m := form.Meta{Shards: 2, Plan: "p", Halted: string(on), Since: map[string]uint64{"all": since}, Admitted: seq,
		Joins: map[string]string{"left": "j", "right": "j"}, Keys: map[string]string{"one": "k"},
		Defaults: map[string]uint64{"all": 7}}
	b := func(n int64) *boundary.Boundary { return &boundary.Boundary{Value: boundary.Int(n), Events: 1} }
	slot := form.Slot{Version: 1, Stands: form.FirstPrint, Pend: b(1)}
	key := form.KeyHead{Layout: 1, Arrival: seq, At: [4]int64{form.Never, form.Never, form.Never, form.Never}}
	at := form.Queued{B: b(2), Seq: seq, Since: seq, At: form.Never}
	layout := form.AppendText(binary.AppendUvarint(form.AppendText(nil, "key"), 1), "one")
	own := new(form.Slot).Append(key.Append(nil))
	return Shard{Head: checkpoint.Head{Meta: m.Append(nil)}, Cells: []checkpoint.Cell{
		{Kind: form.CellLayout, Name: "1", Data: layout},
		{Kind: form.CellInput, Name: "all", Data: slot.AppendShared(nil)},
		{Kind: form.CellKey, Key: string(on), Data: binary.AppendUvarint(own, 0)},
		{Kind: form.CellQueue, Name: form.QueueName("one", seq), Key: string(on), Data: at.Append(nil)},
	}}
}

// M54, M21, M33: what a head says of the graph goes with its keys and with what all of them share: the key that a graph
// has halted on to the shard that has it, the place in line of what waits for all keys, as it is counted now, and what
// stood for inputs and took them, which an update asks for.
func TestM54HeadsGoWithTheirKeys(t *testing.T) {
	t.Parallel()
	g := &Graph{Inputs: []Input{{Name: "all", Global: true}, {Name: "one"}}, DealtOn: "d"}
	old := []Shard{halts("x", 10, 4), halts("y", 20, 30)}
	for _, of := range []int{1, 2, 3, 7} {
		commits, err := Deal(g, old, of)
		if err != nil {
			t.Fatal(err)
		}
		halted := map[boundary.Key]bool{}
		for i := range of {
			m, _, err := form.ReadMeta(commits[i].Meta)
			if err != nil {
				t.Fatal(err)
			}
			if k := boundary.Key(m.Halted); k != "" {
				halted[k] = true
				if k.Shard(of) != i {
					t.Errorf("of %d: shard %d has halted on %s, which is of shard %d", of, i, k, k.Shard(of))
				}
			}
			if m.Defaults["all"] != 7 || m.Joins["left"] != "j" || m.Joins["right"] != "j" ||
				m.Keys["one"] != "k" {
				t.Errorf("of %d: shard %d says of defaults %v, of joins %v and of keys %v", of, i, m.Defaults, m.Joins,
					m.Keys)
			}
			if (m.DealtOn == "d") != (of > 1) {
				t.Errorf("of %d: shard %d says that they are dealt on %q", of, i, m.DealtOn)
			}
			since, waits := m.Since["all"]
			for _, cell := range commits[i].Cells {
				if cell.Kind != form.CellQueue || cell.Data == nil {
					continue
				}
				// The first shard has it from before its key, and the first of those that have read equally far counts.
				if q, _, err := form.ReadQueued(&cell); err != nil || cell.Key == "x" && since >= q.Since {
					t.Errorf("of %d: it waits since %d, and the event behind it since %d: %v", of, since, q.Since, err)
				}
			}
			if !waits || since == 0 || since > m.Admitted {
				t.Errorf("of %d: shard %d says that it waits since %d (%t), of %d", of, i, since, waits, m.Admitted)
			}
		}
		apart := boundary.Key("x").Shard(of) != boundary.Key("y").Shard(of)
		if len(halted) == 0 || apart && len(halted) < 2 {
			t.Errorf("of %d: %v", of, halted)
		}
	}
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
