package kafka

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/boundary"
)

var _ reader.Ordered = (*Source)(nil)

// M49: the offsets of a partition have an order; those of two topics of one name have none, and where a partition
// begins that was never read is known of its first record alone.
func TestM49TheOffsetsOfAPartitionHaveAnOrder(t *testing.T) {
	t.Parallel()
	const one, two = "#AAAAAAAAAAAAAAAAAAAAAQ", "#AAAAAAAAAAAAAAAAAAAAAg"
	at := func(stream string, offset int64) boundary.Position {
		return boundary.Position{Stream: stream, Offset: offset}
	}
	for _, c := range []struct {
		name, start   string
		a, b          boundary.Position
		behind, known bool
	}{
		{"behind", "", at("t/1"+one, 4), at("t/1"+one, 5), true, true},
		{"ahead", "", at("t/1"+one, 6), at("t/1"+one, 5), false, true},
		{"without a generation", "", at("t/1", 4), at("t/1", 5), true, true},
		{"made anew", "", at("t/1"+one, 4), at("t/1"+two, 5), false, false},
		{"believed once", "", at("t/1", 4), at("t/1"+one, 5), false, false},
		{"a witness", "", at("t/1#3.0.17", 4), at("t/1#4.0.18", 5), false, false},
		{"never read", "earliest", boundary.Position{}, at("t/1"+one, 5), true, true},
		{"never read, from the end on", "latest", boundary.Position{}, at("t/1"+one, 5), false, false},
	} {
		s := &Source{cfg: Config{Start: Start{At: c.start}}}
		if behind, known := s.Behind(c.a, c.b); known != c.known || known && behind != c.behind {
			t.Errorf("%s: %v, %v", c.name, behind, known)
		}
	}
}
