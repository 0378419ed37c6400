// Package room is where what was read from Kafka is written, one behind the other and of whatever partition: of many
// partitions an answer has a record or two of each.
package room

import "github.com/graphd/graphd/internal/boundary"

// The pieces of memory that are taken at once.
const (
	values = 64 << 10
	metas  = 256
)

// Room holds values and what expressions read as `meta`. What was put into it stays as it is. The zero Room is ready;
// it is for one goroutine.
type Room struct {
	values []byte
	metas  []boundary.Meta
}

// Value is a copy of one; a large one has memory of its own.
func (r *Room) Value(value []byte) []byte {
	if len(value) > values/4 {
		return append([]byte{}, value...)
	}
	if cap(r.values)-len(r.values) < len(value) {
		r.values = make([]byte, 0, values)
	}
	at := len(r.values)
	r.values = append(r.values, value...)
	return r.values[at:len(r.values):len(r.values)]
}

// Meta is a copy of one.
func (r *Room) Meta(m boundary.Meta) *boundary.Meta {
	if len(r.metas) == cap(r.metas) {
		r.metas = make([]boundary.Meta, 0, metas)
	}
	r.metas = append(r.metas, m)
	return &r.metas[len(r.metas)-1]
}
