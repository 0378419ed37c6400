package window

import "math"

// theEnd is after every time there is.
const theEnd = math.MaxInt64

// endings are slots in the order in which the time of their sessions comes: a heap. A session that waits has an entry
// no later than its time; it may have more, and there may be entries of what is not there any more.
type endings []ending

type ending struct {
	at   int64
	slot int32
}

func (q *endings) push(e ending) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0 && h[i].at < h[(i-1)/2].at; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// pop takes the first off.
func (q *endings) pop() {
	h := *q
	h[0] = h[len(h)-1]
	*q = h[:len(h)-1]
	q.sink(0)
}

// sink puts entry i where it belongs, which has become later.
func (q *endings) sink(i int) {
	h := *q
	for {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(h); k++ {
			if h[k].at < h[least].at {
				least = k
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
