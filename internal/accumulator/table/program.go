package table

import (
	"cmp"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// program is the declaration of a table, checked and ready to run.
type program struct {
	ttl      time.Duration
	maxRows  int
	maxBytes int64 // of all rows
	rowMost  int64 // of one
	versions int   // that are kept of the past; 0 where rows are looked up as of now
	empty    *handle
	row      expression.Type
}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	p := &program{
		ttl: c.TTL, maxRows: max(c.MaxRows, 1), maxBytes: max(c.MaxBytes, 1), row: at.Emitted,
		rowMost: min(max(c.MaxBytes, 1), at.MaxBytes),
	}
	p.empty = &handle{most: p.maxRows}
	if c.AsOf == asOfEvent {
		p.versions = max(c.MaxVersions, 1)
		p.empty.past = &history{stamp: never, known: never, most: p.versions}
	}
	parts, ds := fold.CompileKeys(c.Key, at.Scope, nil)
	deletes, ds := fold.CompileExpr(c.DeleteWhen, at.Scope, expression.CompileBool, ds)
	if len(ds) > 0 {
		return nil, ds
	}
	keys := make([]expression.Type, len(parts))
	for i, part := range parts {
		keys[i] = part.Type()
	}
	return &fold.Program{
		New: func() fold.Fold { return newTable(p) }, Type: expression.TableOf(at.Emitted, keys...),
		Keys: parts, Deletes: deletes, LooksOnly: true, Ticks: p.ttl > 0, Table: p,
	}, nil
}

// Value implements [fold.Rows].
func (p *program) Value(s fold.State) boundary.Value { return boundary.Table(p.handle(s)) }

// State implements [fold.Rows].
func (p *program) State(v boundary.Value) fold.State {
	rows, _ := v.AsTable()
	h, _ := rows.(*handle)
	return cmp.Or(h, p.empty)
}

// Made implements [fold.Rows]: the names of the object are keys, as texts or as JSON writes them.
func (p *program) Made(object boundary.Value) (boundary.Value, error) {
	h := &handle{most: p.maxRows}
	gen := new(fold.Generation)
	for name, v := range object.Fields() {
		key := boundary.Key(name)
		parsed, err := appendKey(nil, key.Value())
		if err != nil || string(parsed) != name {
			if parsed, err = appendKey(nil, boundary.String(name)); err != nil {
				return boundary.Value{}, err
			}
		}
		h.seq++
		r := &row{key: string(parsed), value: v.Compact(), seq: h.seq}
		h.root, _ = h.root.set(hashOf(r.key), r, 0, gen)
	}
	return p.Value(h), nil
}
