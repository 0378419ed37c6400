package eval

import (
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// RowKey is the name of what stands around a key that a table is asked for: the checker does not look
// through it. Nobody can write it.
const RowKey = "row key"

// Look is a row that an expression has looked up. Row is null where there was none.
type Look struct {
	Rows     boundary.Rows
	Key, Row boundary.Value
}

// Looks notes rows that are looked up, as many as it has room for. It keeps its memory.
type Looks struct{ List []Look }

// has says that a row was looked up already.
func (l *Looks) has(rows boundary.Rows, key boundary.Value) bool {
	for i := range l.List {
		if look := &l.List[i]; look.Rows == rows && boundary.Equal(look.Key, key) {
			return true
		}
	}
	return false
}

// maxLooks is how many rows a record tells of one epoch.
const maxLooks = 32

// row looks a row up; null when there is none of the key.
func (e *Env) row(at Site, table, key boundary.Value) boundary.Value {
	row, found, f := rules.Row(table, key)
	if f != nil {
		return e.fault(at, f)
	}
	if !found {
		row = boundary.Null()
	}
	e.note(table, key, row)
	return row
}

// hasRow is key in table.
func (e *Env) hasRow(at Site, table, key boundary.Value) verdict {
	row, found, f := rules.Row(table, key)
	if f != nil {
		e.fault(at, f)
		return stopped
	}
	if !found {
		row = boundary.Null()
	}
	e.note(table, key, row)
	return verdictOf(found)
}

// Knows reports whether something is known of a table as of its time. If not, that is the fault of the evaluation.
func (e *Env) Knows(at Site, table boundary.Value) bool {
	if f := rules.Known(table); f != nil {
		e.fault(at, f)
		return false
	}
	return true
}

// note notes a look, where somebody wants to know.
func (e *Env) note(table, key, row boundary.Value) {
	if e.Looks == nil || len(e.Looks.List) >= maxLooks {
		return
	}
	if rows, ok := table.AsTable(); ok {
		e.Looks.Note(Look{rows, key, row})
	}
}

// Note notes a look, unless it is noted or there is no room.
func (l *Looks) Note(look Look) {
	if len(l.List) < maxLooks && !l.has(look.Rows, look.Key) {
		l.List = append(l.List, look)
	}
}
