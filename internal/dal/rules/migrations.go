package rules

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Migration is one numbered SQL file.
type Migration struct {
	Version int64
	Name    string
	Text    string
}

// ReadMigrations returns the files of one store's folder, whose numbers must be dense from 1.
func ReadMigrations(files fs.FS, folder string) ([]Migration, error) {
	entries, err := fs.ReadDir(files, folder) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []Migration
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(len(all)+1) {
			return nil, fmt.Errorf("migration %q is not number %04d", e.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, folder+"/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		all = append(all, Migration{version, e.Name(), string(text)})
	}
	return all, nil
}

// CheckVersion refuses a schema that only a newer release knows.
func CheckVersion(have int64, known []Migration) error {
	if want := int64(len(known)); have > want {
		return fmt.Errorf("schema %d is not known to this release, which goes up to %d: start the newer release again, or give this one another store: %w",
			have, want, checkpoint.ErrNewerSchema)
	}
	return nil
}
