package watch

import (
	"slices"
	"sync"
)

// Everyone are the watchers of all graphs of their tenant. The zero value is ready for use, by
// any goroutine.
type Everyone struct {
	mu     sync.Mutex
	queues map[string][]*Queue // by tenant
}

// Subscription is a watcher among them.
type subscription struct {
	*Queue
	of     *Everyone
	tenant string
}

// Add has q attached to the graphs of a tenant that come; those that are there the caller
// attaches. What it returns is q, which leaves them when it is closed.
func (e *Everyone) Add(tenant string, q *Queue) *subscription {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queues == nil {
		e.queues = make(map[string][]*Queue)
	}
	e.queues[tenant] = append(e.queues[tenant], q)
	return &subscription{q, e, tenant}
}

// Close ends the subscription.
func (s *subscription) Close() {
	s.Queue.Close()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.queues[s.tenant] = slices.DeleteFunc(s.of.queues[s.tenant], func(q *Queue) bool { return q == s.Queue })
	if len(s.of.queues[s.tenant]) == 0 {
		delete(s.of.queues, s.tenant)
	}
}

// Attach attaches them to a graph that has come.
func (e *Everyone) Attach(tenant string, h *Hub) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.queues[tenant] {
		h.Attach(q)
	}
}
