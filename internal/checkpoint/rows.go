package checkpoint

import (
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
)

// ErrNoTables says that a commit carried rows and the store has no tables to put them in.
var ErrNoTables = errors.New("this store cannot commit rows together with the state")

// Table is where the rows of a co-transaction go (M30): a table of the store's own database.
type Table struct {
	// Output is the output they come from, for errors.
	Output string
	// Name is the table as declared, with its schema or without.
	Name    string
	Columns []string
	// Upsert replaces the row with the same Conflict columns; otherwise rows are inserted.
	Upsert   bool
	Conflict []string
}

// SinkRows are rows that are written in the same transaction as the state, in their order.
type SinkRows struct {
	Table Table
	// Rows hold one value for each column; an absent one is the column's default.
	Rows [][]boundary.Value
}

// RowError refuses one row of a commit for good: a constraint that it violates, a value
// that its column cannot hold. Nothing of the commit was applied; it may be sent again
// without the row.
type RowError struct {
	// Sink is the index into Commit.Rows, Row into its Rows.
	Sink, Row int
	// Code is stable, snake_case: "row_refused" where nothing more precise is known.
	Code string
	Err  error
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d of the rows %d: %s: %v", e.Row, e.Sink, e.Code, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }
