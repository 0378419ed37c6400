package boundary

import "iter"

// Rows are what a table holds as of one moment: values by key. They are immutable, and may be read by
// any goroutine.
type Rows interface {
	// Row is the row of a key, which is a value or a list of values as [AppendKey] takes them; ok is
	// false when there is none.
	Row(key Value) (row Value, ok bool)
	// Len is how many rows there are.
	Len() int
	// All walks the rows, in an order that is the same for the same rows.
	All() iter.Seq2[Key, Value]
}

// SameTable reports whether two tables refer to the same rows, which is more than to equal ones.
func SameTable(a, b Value) bool { return a.ref == b.ref }

// Forgetful is Rows as of a time that may be too long ago: then nothing is known of them.
type Forgetful interface{ Forgotten() bool }

// Forgotten says that nothing is known of the rows.
func Forgotten(rows Rows) bool {
	f, ok := rows.(Forgetful)
	return ok && f.Forgotten()
}

type table struct{ rows Rows }

// Table is a value that refers to rows. It stands for an input that is a table, and for nothing else:
// no list or object holds one, and what is kept of it is only that it is one.
func Table(rows Rows) Value { return Value{ref: &table{rows}} }

// AsTable returns the rows of a table; ok is false for one that was decoded, whose rows are kept elsewhere.
func (v Value) AsTable() (rows Rows, ok bool) {
	if t, is := v.ref.(*table); is && t.rows != nil {
		return t.rows, true
	}
	return nil, false
}

// len is how many rows there are.
func (t *table) len() int {
	if t.rows == nil {
		return 0
	}
	return t.rows.Len()
}
