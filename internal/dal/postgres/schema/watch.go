package schema

import (
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

const (
	// Readable is true in a statement for as long as this release can read the store. What it writes of a graph's
	// state is written under it: a release that raises the format locks the tables that it changes, and changes this
	// in the same transaction, so that a statement which waits for the lock sees it.
	Readable = `(SELECT readable_from FROM store_format) <= 2`
	// Said are the columns that [Watch.Take] is given.
	Said = `(SELECT coalesce(max(version), 0) FROM schema_migration), (SELECT format FROM store_format),
		(SELECT readable_from FROM store_format)`
	// SaidAlone asks for nothing else.
	SaidAlone = `SELECT ` + Said
)

// Watch notices that a newer release raises the schema while this one runs. Safe for concurrent use.
type Watch struct {
	// Log is told what was noticed, once; nil says nothing.
	Log *slog.Logger
	// Known is how many migrations this release knows.
	Known int64

	have    atomic.Int64 // the last that the store has
	refusal atomic.Pointer[error]
}

// Open counts the migrations that this release knows.
func (w *Watch) Open(files fs.FS) error {
	known, err := rules.ReadMigrations(files, folder)
	w.Known = int64(len(known))
	return err
}

// Take takes in what the store says of itself, and answers with why this release may not write it any more.
func (w *Watch) Take(version, format, readableFrom int64) error {
	before := w.have.Swap(version)
	var refusal *error
	if readableFrom > rules.Format {
		err := fmt.Errorf("the store was raised to format %d while this daemon runs, which reads up to %d, and it "+
			"writes nothing more: start the newer release in its place: %w", format, rules.Format,
			checkpoint.ErrNewerSchema)
		refusal = &err
	}
	was := w.refusal.Swap(refusal)
	switch {
	case w.Log == nil:
	case refusal != nil && was == nil:
		w.Log.Error("a newer release has raised the store beyond what this one reads", "err", *refusal)
	case refusal == nil && was != nil:
		w.Log.Info("the store can be read again", "format", format, "schema", version)
	case refusal == nil && version > max(before, w.Known):
		w.Log.Warn("a newer release has raised the store's schema; this one goes on with what it knows of it: start "+
			"the newer release in its place", "schema", version, "known", w.Known)
	}
	return w.Refusal()
}

// Refusal is why this release may not write the store any more, nil while it may.
func (w *Watch) Refusal() error {
	if err := w.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// Ahead is how many migrations the store has that this release does not know.
func (w *Watch) Ahead() int64 { return max(w.have.Load()-w.Known, 0) }
