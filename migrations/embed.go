// Package migrations holds the numbered SQL files that bring a store to the schema
// this program knows. A file is named NNNN_what_it_does.sql; the numbers are dense
// and start at 0001. A file that has been released is never changed: the next
// change is the next file, and it only adds, so that the release before can still
// be told from this one.
//
// Each file is applied in one transaction together with the note that it was
// applied, so an interrupted migration leaves the schema of the file before it.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite returns the migrations of the embedded store, in the folder "sqlite".
func SQLite() embed.FS { return files }

// Postgres returns the migrations of the Postgres store, in the folder "postgres".
func Postgres() embed.FS { return files }

// PostgresSchema is the number of the newest migration of the Postgres store.
func PostgresSchema() int {
	files, err := fs.Glob(files, "postgres/*.sql")
	if err != nil {
		panic("migrations: " + err.Error()) // the pattern is none
	}
	return len(files)
}
