package reader

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// Ordered is what a source may be too: it knows the order of its positions. Each of its streams is a partition.
type Ordered interface {
	// Behind reports whether a comes before b, of one stream, in what the source gives; the zero position is that of
	// who was given nothing of the stream. known is false where that cannot be said. It may be called at any time, by
	// one goroutine at a time.
	Behind(a, b boundary.Position) (behind, known bool)
}

// places are positions by stream, without its generation.
type places map[string]boundary.Position

func placesOf(positions []boundary.Position) places {
	p := make(places, len(positions))
	for _, pos := range positions {
		p.move(pos)
	}
	return p
}

// move makes pos where its stream stands. The zero position is none.
func (p places) move(pos boundary.Position) {
	if !pos.IsZero() {
		p[nameOf(pos.Stream)] = pos
	}
}

// nameOf is the name of a stream without its generation.
func nameOf(stream string) string {
	name, _, _ := strings.Cut(stream, "#")
	return name
}

// positions are the places in the order of the streams' names.
func (p places) positions() (all []boundary.Position) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, p[name])
	}
	return all
}

func (p places) clone() places {
	q := places{}
	maps.Copy(q, p)
	return q
}

func (p places) same(q places) bool { return maps.Equal(p, q) }

// beyond are the places that are not those of q, which are at or behind them.
func (p places) beyond(q places) places {
	ahead := places{}
	for name, at := range p {
		if at != q[name] {
			ahead[name] = at
		}
	}
	return ahead
}

// least are the places from which on all is read that is behind one of the two; ok is false where that is not known.
func least(o Ordered, a, b places) (to places, ok bool) {
	if a.same(b) {
		return a, true
	}
	to = a.clone()
	return to, to.lower(o, b)
}

// lower makes p the places from which on all is read that is behind p or q; it is false, and p of no use, where that is
// not known.
func (p places) lower(o Ordered, q places) (ok bool) {
	for name, at := range p {
		other := q[name]
		if at == other {
			continue
		}
		if o == nil {
			return false
		}
		behind, known := o.Behind(other, at)
		switch {
		case !known:
			return false
		case behind && other.IsZero():
			delete(p, name) // the stream begins where the source begins
		case behind:
			p[name] = other
		}
	}
	for name, at := range q {
		if _, both := p[name]; both {
			continue
		}
		if o == nil {
			return false
		}
		behind, known := o.Behind(boundary.Position{}, at)
		if !known {
			return false
		}
		if !behind {
			p[name] = at
		}
	}
	return true
}
