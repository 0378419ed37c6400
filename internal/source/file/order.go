package file

import (
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/boundary"
)

var _ reader.Ordered = (*Source)(nil)

// Behind implements [reader.Ordered]: the bytes of a file have an order. Two fingerprints that were taken of a short
// file while it grew are known for one file's by the file that has the name now.
func (s *Source) Behind(a, b boundary.Position) (behind, known bool) {
	if a.IsZero() {
		return true, true
	}
	pair := [2]string{a.Stream, b.Stream}
	if a.Stream != b.Stream && pair != s.same {
		if !s.have(pair[0], pair[1]) {
			return false, false
		}
		s.same = pair
	}
	return a.Offset < b.Offset, true
}

// have reports whether the file that has the name now is the one of these streams.
func (s *Source) have(streams ...string) bool {
	f, err := openRegular(s.cfg.Access, s.cfg.Path)
	if err != nil {
		return false
	}
	defer f.Close() // read only
	for _, stream := range streams {
		want, ok := parseStream(stream)
		if !ok {
			return false
		}
		if have, err := fingerprintOf(f, want.n); err != nil || have != want {
			return false
		}
	}
	return true
}
