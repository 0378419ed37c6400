package rules

import "time"

// Standing is how the schema of a store stands to this release.
type Standing struct {
	// Store is its kind.
	Store string
	// Format wrote the store, and ReadableFrom is the lowest that reads it. Both are 0 where there is no store yet.
	Format, ReadableFrom int64
	// Applied are the migrations that the store has, those included that this release does not know.
	Applied []Applied
	// Missing are those that it lacks, nil where Refused.
	Missing []Migration
	// Script is the SQL that applies them, "" where none is missing.
	Script string
	// Refused is why this release cannot use the store, nil where it can.
	Refused error
}

// Applied is a migration that a store has.
type Applied struct {
	Version int64
	Name    string
	At      time.Time
}

// Settle finds what is missing of the migrations that this release knows. said is false for a store that does not say
// its format.
func (s *Standing) Settle(known []Migration, said bool) {
	have := int64(0)
	for _, a := range s.Applied {
		have = max(have, a.Version)
	}
	if !said && have > 0 {
		s.Format, s.ReadableFrom = 1, 1
	}
	if have > 0 {
		s.Refused = CheckFormat(s.Format, s.ReadableFrom)
	}
	if s.Refused == nil {
		s.Missing, s.Refused = Missing(have, known, said)
	}
}

// Probe is what a few questions to a store have found.
type Probe struct {
	// Latency is the least that one took.
	Latency time.Duration
	// Ahead is how far the store's clock is ahead of this machine's; it has one of its own where Clock says so.
	Clock bool
	Ahead time.Duration
	// Server is the version of the database, "" of a file.
	Server string
	// MayCreate says that the schema can be made or raised by who asks; of a file nothing says so.
	MayCreate bool
}
