// Package schema prints how the schema of a store stands to this release, for graphd migrate --status and --dry-run.
package schema

import (
	"fmt"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/dal/rules"
)

// Standing is a schema as data.
type Standing struct {
	Store string `json:"store"`
	// Format is 0 where there is no store yet.
	Format       int64       `json:"format"`
	ReadableFrom int64       `json:"readable_from"`
	Reads        Range       `json:"reads"`
	Migrations   []Migration `json:"migrations"`
	Missing      int         `json:"missing"`
	// Refused is why this release cannot use the store.
	Refused string `json:"refused,omitempty"`
	Script  string `json:"script,omitempty"`
}

// Range is of the formats that this release reads.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Migration is one that the store has, since Applied, or lacks.
type Migration struct {
	Version int64      `json:"version"`
	Name    string     `json:"name"`
	Applied *time.Time `json:"applied,omitempty"`
}

// View is how a schema stands, as data.
func View(s graphd.StoreSchema) Standing {
	v := Standing{Store: s.Store, Format: s.Format, ReadableFrom: s.ReadableFrom,
		Reads: Range{From: rules.OldestFormat, To: rules.Format}, Migrations: []Migration{}, Missing: len(s.Missing),
		Script: s.Script}
	for _, a := range s.Applied {
		at := a.At.UTC()
		v.Migrations = append(v.Migrations, Migration{Version: a.Version, Name: a.Name, Applied: &at})
	}
	for _, m := range s.Missing {
		v.Migrations = append(v.Migrations, Migration{Version: m.Version, Name: m.Name})
	}
	if s.Refused != nil {
		v.Refused = s.Refused.Error()
	}
	return v
}

// Table has a row for each migration.
func (s Standing) Table() *terminal.Table {
	table := terminal.NewTable("MIGRATION", "APPLIED").Color(1, func(cell string) terminal.Tone {
		if cell == "missing" {
			return terminal.Warn
		}
		return terminal.Plain
	})
	for _, m := range s.Migrations {
		applied := "missing"
		if m.Applied != nil {
			applied = terminal.Moment(*m.Applied)
		}
		table.Row(m.Name, applied)
	}
	return table
}

// Verdict says it in a sentence.
func (s Standing) Verdict() string {
	reads := fmt.Sprintf("this release reads formats %d to %d", s.Reads.From, s.Reads.To)
	switch {
	case s.Format == 0:
		return fmt.Sprintf("there is no %s store yet: graphd migrate and the daemon's next start make it, by %s; %s",
			s.Store, terminal.Plural(s.Missing, "migration"), reads)
	case s.Missing == 0:
		return fmt.Sprintf("the %s store of format %d lacks no migration; %s", s.Store, s.Format, reads)
	}
	return fmt.Sprintf("the %s store of format %d lacks %s, which graphd migrate and the daemon's next start apply: "+
		"back it up first; %s", s.Store, s.Format, terminal.Plural(s.Missing, "migration"), reads)
}
