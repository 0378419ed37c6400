package outbound

import (
	"sync"
	"time"
)

// queue are the calls that wait for a place now.
type queue struct {
	mu    sync.Mutex
	n     int
	since time.Time // when it began
	until time.Time // when nobody waited any more
}

// queueGap is for how long nobody must wait until it is another queue.
const queueGap = 2 * time.Second

func (q *queue) join() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); q.n == 0 && now.Sub(q.until) > queueGap {
		q.since = now
	}
	q.n++
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n--; q.n == 0 {
		q.until = time.Now()
	}
}

// Waiting says since when calls have waited for a place of a guard within another all the time; false while none does.
func (g *Guard) Waiting() (since time.Time, waiting bool) {
	q := g.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.since, q.n > 0 || !q.since.IsZero() && time.Since(q.until) <= queueGap
}
