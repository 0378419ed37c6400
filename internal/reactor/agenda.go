package reactor

// heapID says which heap of an agenda a key is in.
type heapID uint8

const (
	offAgenda heapID = iota
	isReady          // its criteria hold, and it may start
	isDelayed        // its criteria hold, and a timer has not run out
)

// agenda is the keys whose criteria hold. Those that may start come in the admission order
// of the boundary that completed them; those that a rate limit delays come by when it ends.
// A change costs a number of steps that grows with the logarithm of the keys on it, and
// none with the keys that are not.
type agenda struct {
	ready   heap
	delayed heap
}

// entry is a key in a heap, by rank and then by tie.
type entry struct {
	rank int64
	tie  uint64
	k    *cell
}

// put places k: it may start at due, which has come when it is not after now.
func (a *agenda) put(k *cell, completed uint64, due, now int64) {
	if due > now {
		a.delayed.put(a, entry{due, completed, k}, isDelayed)
		return
	}
	a.ready.put(a, entry{int64(completed), completed, k}, isReady)
}

// promote moves what was delayed until now to what may start.
func (a *agenda) promote(now int64) {
	for len(a.delayed) > 0 && a.delayed[0].rank <= now {
		e := a.delayed[0]
		a.ready.put(a, entry{int64(e.tie), e.tie, e.k}, isReady)
	}
}

// remove takes k off.
func (a *agenda) remove(k *cell) {
	switch k.on {
	case isReady:
		a.ready.remove(int(k.at))
	case isDelayed:
		a.delayed.remove(int(k.at))
	}
	k.on = offAgenda
}

func (a *agenda) empty() bool { return len(a.ready) == 0 && len(a.delayed) == 0 }

// heap is a binary heap whose keys know their places.
type heap []entry

func (h *heap) put(a *agenda, e entry, id heapID) {
	if e.k.on != id {
		a.remove(e.k)
		e.k.on, e.k.at = id, int32(len(*h))
		*h = append(*h, e)
		h.up(len(*h) - 1)
		return
	}
	i := int(e.k.at)
	(*h)[i] = e
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap) remove(i int) {
	last := len(*h) - 1
	moved := (*h)[last]
	(*h)[last] = entry{}
	*h = (*h)[:last]
	if i == last {
		return
	}
	(*h)[i] = moved
	moved.k.at = int32(i)
	if !h.down(i) {
		h.up(i)
	}
}

func (h heap) less(i, j int) bool {
	if h[i].rank != h[j].rank {
		return h[i].rank < h[j].rank
	}
	return h[i].tie < h[j].tie
}

func (h heap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].k.at, h[j].k.at = int32(i), int32(j)
}

func (h heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h heap) down(i int) (moved bool) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return moved
		}
		if right := least + 1; right < len(h) && h.less(right, least) {
			least = right
		}
		if !h.less(least, i) {
			return moved
		}
		h.swap(i, least)
		i, moved = least, true
	}
}
