package form

import (
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

// M28, M33: a slot says whether its value has arrived, beside what earlier releases write and read.
func TestM33SlotsSayWhatHasArrived(t *testing.T) {
	t.Parallel()
	ten, at := boundary.Int(10), boundary.Position{Stream: "a", Offset: 1}
	for name, c := range map[string]struct{ in, out Slot }{
		"nothing":               {Slot{}, Slot{}},
		"with a position":       {Slot{Cur: ten, Version: 3, At: at}, Slot{Cur: ten, Version: 3, At: at, Given: true}},
		"without one":           {Slot{Cur: ten, Version: 3, Given: true}, Slot{Cur: ten, Version: 3, Given: true}},
		"by an earlier release": {Slot{Cur: ten, Version: 3}, Slot{Cur: ten, Version: 3}},
		"taken away":            {Slot{Given: true}, Slot{Given: true}},
		"a default":             {Slot{Version: 1, Stands: FirstPrint}, Slot{Version: 1, Stands: FirstPrint}},
		"another":               {Slot{Version: 1, Stands: 1<<32 - 1}, Slot{Version: 1, Stands: 1<<32 - 1}},
		"a stream without a name": {Slot{Cur: ten, At: boundary.Position{Offset: 7}},
			Slot{Cur: ten, At: boundary.Position{Offset: 7}, Given: true}},
	} {
		same := func(s Slot) bool {
			return boundary.Equal(s.Cur, c.out.Cur) && s.Version == c.out.Version && s.At == c.out.At &&
				s.Given == c.out.Given && s.Stands == c.out.Stands
		}
		shared, err := ReadShared(c.in.AppendShared(nil))
		if err != nil || !same(shared) {
			t.Errorf("%s: %+v, %v, want %+v", name, shared, err, c.out)
		}
		r := Reader{Rest: c.in.Append(nil)}
		if own := r.Slot(); !same(own) || r.Done() != nil {
			t.Errorf("%s, of a key: %+v, %v, want %+v", name, own, r.Done(), c.out)
		}
	}
}
