package server

import (
	"container/list"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

const (
	// keepKeys is how long a key is remembered.
	keepKeys = 24 * time.Hour
	// maxKeysPerAccumulator keeps one eager client from pushing out everybody else's keys.
	maxKeysPerAccumulator = 10_000
	// maxKeyBytes bounds what all keys and their answers take in memory.
	maxKeyBytes = 32 << 20
	// keyOverhead is about what an entry takes beside its key and answer.
	keyOverhead = 400
)

// idempotency remembers the answers of pushes with an Idempotency-Key: at least for as
// long as it has room, at most for 24 hours. It lives in memory: a restart forgets it.
type idempotency struct {
	mu      sync.Mutex
	entries map[claimID]*claim
	scopes  map[scope]*list.List // of *claim, least recently used first
	all     *list.List           // of *claim, least recently used first
	bytes   int
}

// scope is where a key counts: one accumulator.
type scope struct{ tenant, graph, accumulator string }

type claimID struct {
	scope
	key string
}

// claim is one key: in progress, parked between two attempts, or answered.
type claim struct {
	id    claimID
	hash  [sha256.Size]byte
	since time.Time
	busy  bool
	push  wire.Pushed // how far attempts have come so far
	reply *reply      // nil until answered
	size  int
	// Where the claim hangs in all and in its scope's list; nil while busy, so that it is never evicted.
	inAll, inScope *list.Element
}

// reply is an answer as it went out.
type reply struct {
	status      int
	contentType string
	body        []byte
}

func newIdempotency() *idempotency {
	return &idempotency{entries: map[claimID]*claim{}, scopes: map[scope]*list.List{}, all: list.New()}
}

// claim claims a key for a body. The claim is the caller's until finish, park or drop,
// unless it has a reply already. The same key with another body, or while
// another request holds it, is refused.
func (d *idempotency) claim(id claimID, hash [sha256.Size]byte, now time.Time) (*claim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(now)
	c := d.entries[id]
	if c != nil && !c.busy && now.Sub(c.since) > keepKeys {
		d.remove(c)
		c = nil
	}
	switch {
	case c == nil:
		c = &claim{id: id, hash: hash, since: now}
		d.entries[id] = c
	case c.hash != hash:
		return nil, wire.Refuse(http.StatusUnprocessableEntity, api.CodeIdempotencyMismatch,
			"this Idempotency-Key was used with another body: use a new key for new events")
	case c.busy:
		return nil, wire.Refuse(http.StatusConflict, api.CodeIdempotencyBusy,
			"a request with this Idempotency-Key is still being answered; try again")
	case c.reply != nil:
		d.all.MoveToBack(c.inAll)
		d.scopes[id.scope].MoveToBack(c.inScope)
		return c, nil
	default: // parked
		d.unlink(c)
	}
	c.busy = true
	return c, nil
}

// finish keeps the answer for whoever asks again.
func (d *idempotency) finish(c *claim, r *reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.reply, c.push = r, wire.Pushed{}
	d.link(c, len(r.body))
}

// park keeps how far the push came: the same request again goes on from there.
func (d *idempotency) park(c *claim, p wire.Pushed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.push = p
	d.link(c, len(p.Rejected)*keyOverhead)
}

// drop forgets a claim of which nothing was taken.
func (d *idempotency) drop(c *claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entries, c.id)
}

// forget drops all keys of a graph that was deleted.
func (d *idempotency) forget(g api.Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.all.Front(); e != nil; {
		c := e.Value.(*claim)
		e = e.Next()
		if c.id.tenant == g.Tenant && c.id.graph == g.Name {
			d.remove(c)
		}
	}
}

func (d *idempotency) link(c *claim, extra int) {
	c.busy = false
	c.size = keyOverhead + len(c.id.key) + extra
	of := d.scopes[c.id.scope]
	if of == nil {
		of = list.New()
		d.scopes[c.id.scope] = of
	}
	c.inAll, c.inScope = d.all.PushBack(c), of.PushBack(c)
	d.bytes += c.size
	if of.Len() > maxKeysPerAccumulator {
		d.remove(of.Front().Value.(*claim))
	}
	for d.bytes > maxKeyBytes && d.all.Len() > 1 {
		d.remove(d.all.Front().Value.(*claim))
	}
}

func (d *idempotency) unlink(c *claim) {
	d.all.Remove(c.inAll)
	of := d.scopes[c.id.scope]
	if of.Remove(c.inScope); of.Len() == 0 {
		delete(d.scopes, c.id.scope)
	}
	c.inAll, c.inScope = nil, nil
	d.bytes -= c.size
}

func (d *idempotency) remove(c *claim) {
	d.unlink(c)
	delete(d.entries, c.id)
}

// expire removes what is too old from the least recently used end. What was used since
// is further back, so claim looks at the age of what it finds, too.
func (d *idempotency) expire(now time.Time) {
	for e := d.all.Front(); e != nil && now.Sub(e.Value.(*claim).since) > keepKeys; e = d.all.Front() {
		d.remove(e.Value.(*claim))
	}
}

// used is about how many bytes all keys take.
func (d *idempotency) used() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes
}
