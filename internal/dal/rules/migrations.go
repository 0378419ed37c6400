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

// Statements is the text, with an end of its last statement.
func (m Migration) Statements() string {
	text := strings.TrimRight(m.Text, " \t\r\n")
	if strings.HasSuffix(text, ";") {
		return text
	}
	return text + "\n;" // behind what may be a comment
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

// Format is what this release writes, and OldestFormat the lowest that it reads: what lies
// between is brought up to Format when the store is opened. A store says in its turn what
// format wrote it and the lowest that can read it (M55). Format 1 is that of stores from
// before they said so.
const (
	Format       = 2
	OldestFormat = 1
)

// CheckFormat refuses a store that this release cannot read: its format, and the lowest one
// that reads it, both 1 where the store does not say.
func CheckFormat(format, readableFrom int64) error {
	switch {
	case readableFrom > Format:
		return fmt.Errorf("it has format %d, which takes a graphd that reads format %d, and this one reads %d to %d: "+
			"start the newer release again, or give this one another store: %w", format, readableFrom, OldestFormat,
			Format, checkpoint.ErrNewerSchema)
	case format < OldestFormat:
		return fmt.Errorf("it has format %d, and this graphd reads %d to %d: start a release in between first, "+
			"which brings it up to date: %w",
			format, OldestFormat, Format, checkpoint.ErrOlderFormat)
	}
	return nil
}

// Missing are the migrations that a store at version have lacks. A store that is further than
// this release and says that this release can read it lacks none; formatKnown is false for one
// that does not say.
func Missing(have int64, known []Migration, formatKnown bool) ([]Migration, error) {
	want := int64(len(known))
	if have > want && formatKnown {
		return nil, nil
	}
	if have > want {
		return nil, fmt.Errorf("schema %d is not known to this release, which goes up to %d: start the newer "+
			"release again, or give this one another store: %w",
			have, want, checkpoint.ErrNewerSchema)
	}
	return known[have:], nil
}
