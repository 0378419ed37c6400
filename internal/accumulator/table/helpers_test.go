package table

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// compiled is a declaration at a site of its own.
func compiled(t testing.TB, c Declared) *fold.Program {
	t.Helper()
	if c.Key == nil {
		c.Key = []spec.Expr{{Text: "event.k"}}
	}
	if c.MaxRows == 0 {
		c.MaxRows = defaultMaxRows
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	p, ds := c.Compile(&fold.Site{
		Place:   fold.Place{Place: kind.Place{}, Accumulator: &spec.Accumulator{Name: "a"}},
		Scope:   expression.Scope{Names: []expression.Name{{Name: "event"}, {Name: "meta"}, {Name: "vars"}}},
		Emitted: expression.Any(), MaxBytes: 1000,
	})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return p
}

// start is when the tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// put changes the row of a key; a null value deletes it.
func put(t testing.TB, f fold.Fold, now time.Time, key, value boundary.Value) *fold.BadEvent {
	t.Helper()
	in := &fold.Input{Value: value, Event: &boundary.Event{}, Facts: &fold.Facts{Key: key}}
	if _, said := f.Add(now, in, nil); said == fold.Refused {
		return in.Bad
	}
	return nil
}

// handed is what a table hands over now.
func handed(f fold.Fold) (rows boundary.Rows, b *boundary.Boundary) {
	out := f.(fold.Handing).Hand(nil)
	if len(out) == 0 {
		return nil, nil
	}
	rows, _ = out[0].Value.AsTable()
	return rows, &out[0]
}

// store is what a checkpoint keeps of a table.
type store struct {
	head  []byte
	parts map[string][]byte
	last  fold.State
	wrote int
	bytes int
}

// seal writes what has changed.
func (s *store) seal(f fold.Fold) {
	state := f.State().(fold.Tracked)
	s.head, s.wrote, s.bytes = state.AppendHead(nil), 0, 0
	if s.parts == nil {
		s.parts = map[string][]byte{}
	}
	for part := range state.Changed(s.last) {
		if part.Append == nil {
			delete(s.parts, part.Name)
			continue
		}
		s.parts[part.Name] = part.Append(nil)
		s.wrote++
		s.bytes += len(s.parts[part.Name])
	}
	s.last = state
}
