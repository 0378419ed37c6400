package expression

import "github.com/graphd/graphd/internal/boundary"

// OfJSON is a text of JSON as expressions read it; null where it is none.
func OfJSON(raw []byte) boundary.Value {
	v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: len(raw) + 1}).Decode(raw)
	if err != nil {
		return boundary.Null()
	}
	return v
}
