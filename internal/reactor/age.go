package reactor

import (
	"cmp"
)

// ages orders keys by their last arrival, the oldest first. What is noted of a key is its
// last arrival as of when it was noted; that it has moved on since is found out when it
// comes to the front. An arrival therefore costs nothing here, and a key is moved at most
// once for each time it could have been evicted.
type ages []age

// age is a key with an arrival of its: seen and arrival are those of the cell, then.
type age struct {
	seen    int64
	arrival uint64
	k       *cell
}

// put notes a key that is not noted.
func (a *ages) put(k *cell) {
	k.listed = true
	*a = append(*a, age{k.seen, k.arrival, k})
	h := *a
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// soonest is a time, in nanoseconds, that no key was seen last before.
func (a ages) soonest() (seen int64, ok bool) {
	if len(a) == 0 {
		return 0, false
	}
	return a[0].seen, true
}

// oldest is the key whose last arrival is longest ago; nil when none is noted.
func (a ages) oldest() *cell {
	for len(a) > 0 {
		first := &a[0]
		if first.arrival == first.k.arrival {
			return first.k
		}
		first.seen, first.arrival = first.k.seen, first.k.arrival
		a.down()
	}
	return nil
}

// drop takes out the key that oldest has answered.
func (a *ages) drop() {
	h := *a
	h[0].k.listed = false
	last := len(h) - 1
	h[0], h[last] = h[last], age{}
	*a = h[:last]
	a.down()
}

func (a ages) less(i, j int) bool {
	if a[i].arrival != a[j].arrival {
		return a[i].arrival < a[j].arrival
	}
	return cmp.Less(a[i].k.key, a[j].k.key) // those made by a command, between two arrivals
}

// down puts the first in its place.
func (a ages) down() {
	for i := 0; ; {
		least := 2*i + 1
		if least >= len(a) {
			return
		}
		if right := least + 1; right < len(a) && a.less(right, least) {
			least = right
		}
		if !a.less(least, i) {
			return
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}
