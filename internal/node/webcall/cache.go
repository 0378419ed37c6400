package webcall

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/kind"
)

// cache remembers answers for a while of engine time, the least recently used the shortest. What several ask for at
// once is asked once. Safe for concurrent use.
type cache struct {
	cfg Cache

	mu      sync.Mutex
	entries map[string]*list.Element // of *cached
	order   *list.List               // the most recently used first
}

type cached struct {
	key    string
	at     time.Time
	done   chan struct{} // closed when there is an answer, or none will come
	answer kind.Answer
	ok     bool
}

func newCache(cfg Cache) *cache {
	return &cache{cfg: cfg, entries: map[string]*list.Element{}, order: list.New()}
}

// get is the answer that is remembered, or what ask comes to; keep says that it is worth remembering. Where another
// asks for the same it is waited for.
func (c *cache) get(ctx context.Context, r *kind.Request, ask func() (a kind.Answer, keep bool, err error)) (
	a kind.Answer, remembered bool, err error) {
	for {
		mine, theirs := c.claim(r)
		if mine != nil {
			a, err = c.fill(mine, ask)
			return a, false, err
		}
		select {
		case <-theirs.done:
		case <-ctx.Done():
			return a, false, ctx.Err()
		}
		if theirs.ok {
			return theirs.answer, true, nil
		}
	}
}

// fill asks, and lets those go on that wait for it, whatever it comes to.
func (c *cache) fill(e *cached, ask func() (kind.Answer, bool, error)) (a kind.Answer, err error) {
	defer func() {
		if !e.ok {
			c.drop(e)
		}
		close(e.done)
	}()
	e.answer, e.ok, err = ask()
	return e.answer, err
}

// claim is the entry for a request: mine when it is to be filled, theirs when it is or will be.
func (c *cache) claim(r *kind.Request) (mine, theirs *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, there := c.entries[r.CacheKey]; there {
		e := at.Value.(*cached)
		if r.At.Sub(e.at) < c.cfg.TTL {
			c.order.MoveToFront(at)
			return nil, e
		}
		c.remove(at)
	}
	mine = &cached{key: r.CacheKey, at: r.At, done: make(chan struct{})}
	c.entries[r.CacheKey] = c.order.PushFront(mine)
	for c.order.Len() > c.cfg.Max {
		c.remove(c.order.Back())
	}
	return mine, nil
}

func (c *cache) drop(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, there := c.entries[e.key]; there && at.Value == e {
		c.remove(at)
	}
}

func (c *cache) remove(at *list.Element) {
	delete(c.entries, at.Value.(*cached).key)
	c.order.Remove(at)
}
