package reactor

import (
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// The simulator of keyed graphs drives the inbox of package live too, so it stands outside of
// this package. What it sees of a core, and how it spoils a seal, is here.

// EpochZero is where tests' engine time starts.
var EpochZero = epochZero

// The helpers that are shared with the tests of this package.
var (
	TestConfig = testConfig
	Keyed      = keyed
	CheckKeys  = checkKeys
)

// Cached is the cached value of input i, of each key in the order of their arrivals.
func Cached(c *Core, i int) (values []boundary.Value) {
	cells := []*cell{c.shared}
	if c.cfg.Keys != nil {
		cells = slices.SortedFunc(c.keys.byKey.All(), byArrival)
	}
	for _, k := range cells {
		values = append(values, k.slots[i].cur)
	}
	return values
}

// SpoilFlags loses the dirty flags of a seal.
func SpoilFlags(s *Seal) {
	for i := range s.slots {
		s.slots[i].Pend = nil
	}
	for _, k := range s.keys {
		for i := range k.slots {
			k.slots[i].Pend = nil
		}
	}
}

// SpoilKeys loses half of the keys of a seal, SpoilEvictions what it would delete, SpoilQueues
// its queues.
func SpoilKeys(s *Seal) { s.keys = s.keys[:len(s.keys)/2] }

func SpoilEvictions(s *Seal) {
	s.commit.Cells = slices.DeleteFunc(s.commit.Cells, func(c checkpoint.Cell) bool {
		return c.Kind == form.CellKey && c.Data == nil
	})
}

func SpoilQueues(s *Seal) { s.queue = nil }

// SpoilMark says that the accumulator of the first input stands elsewhere.
func SpoilMark(s *Seal, m accumulator.Mark) {
	for i := range s.accs {
		if s.accs[i].input == 0 {
			s.accs[i].mark = m
		}
	}
}

// SpoilTouched forgets which keys a seal held, so that they are not merged back.
func SpoilTouched(s *Seal) { s.before.touched = nil }
