package memory

import (
	"cmp"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(*testing.T) checkpoint.Store { return New() },
		Rows: func(t *testing.T, s checkpoint.Store) (string, func() []string) { return tableRows(s.(*Store)) },
	})
}

// tableRows makes a table and reads it as the suite wants it.
func tableRows(m *Store) (table string, read func() []string) {
	m.MakeTable("t", "id")
	return "t", func() []string {
		rows := m.Rows("t")
		slices.SortFunc(rows, func(a, b map[string]boundary.Value) int {
			x, _ := a["id"].AsInt()
			y, _ := b["id"].AsInt()
			return cmp.Compare(x, y)
		})
		var got []string
		for _, r := range rows {
			word, _ := r["word"].AsString()
			got = append(got, r["id"].String()+" "+word)
		}
		return got
	}
}

// Two simulations with one seed see the same instances.
func TestSeeded(t *testing.T) {
	t.Parallel()
	instances := func(seed uint64) (all [3]string) {
		s := NewSeeded(seed)
		for i, name := range []string{"a", "b", "c"} {
			head, err := s.Acquire(t.Context(), checkpoint.ID{Graph: name})
			if err != nil {
				t.Fatal(err)
			}
			all[i] = head.Instance
		}
		return all
	}
	first := instances(1)
	if first != instances(1) || first == instances(2) || first[0] == first[1] {
		t.Errorf("instances of seed 1 are %v, then %v; of seed 2 %v", first, instances(1), instances(2))
	}
}
