// Package once remembers the answers of pushes with an Idempotency-Key, so that a push that is
// sent again is answered as it was, and not made twice. It starts no goroutine.
package once

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
	// MaxPerAccumulator keeps one eager client from pushing out everybody else's keys.
	MaxPerAccumulator = 10_000
	// MaxBytes bounds what all keys and their answers take in memory.
	MaxBytes = 32 << 20
	// keyOverhead is about what an entry takes beside its key and answer.
	keyOverhead = 400
)

// Keys remembers the answers of pushes with an Idempotency-Key: at least for as
// long as it has room, at most for 24 hours. It lives in memory: a restart forgets it.
type Keys struct {
	mu      sync.Mutex
	entries map[ID]*Claim
	scopes  map[scope]*list.List // of *Claim, least recently used first
	all     *list.List           // of *Claim, least recently used first
	bytes   int
}

// scope is where a key counts: one accumulator.
type scope struct{ tenant, graph, accumulator string }

// ID is a key and where it counts.
type ID struct{ Tenant, Graph, Accumulator, Key string }

func (id *ID) scope() scope { return scope{id.Tenant, id.Graph, id.Accumulator} }

// Claim is one key: in progress, parked between two attempts, or answered.
type Claim struct {
	// Pushed is how far attempts have come so far.
	Pushed wire.Pushed
	// Reply is nil until the key is answered.
	Reply *Reply

	id    ID
	hash  [sha256.Size]byte
	since time.Time
	busy  bool
	size  int
	// Where the claim hangs in all and in its scope's list; nil while busy, so that it is never evicted.
	inAll, inScope *list.Element
}

// Reply is an answer as it went out.
type Reply struct {
	Status      int
	ContentType string
	Body        []byte
	After       time.Duration // of one to try again: when
}

// New remembers nothing yet.
func New() *Keys {
	return &Keys{entries: map[ID]*Claim{}, scopes: map[scope]*list.List{}, all: list.New()}
}

// Claim claims a key for a body. The claim is the caller's until Finish, Park or Drop,
// unless it has a Reply already. The same key with another body, or while
// another request holds it, is refused.
func (d *Keys) Claim(id ID, hash [sha256.Size]byte, now time.Time) (*Claim, error) {
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
		c = &Claim{id: id, hash: hash, since: now}
		d.entries[id] = c
	case c.hash != hash:
		return nil, wire.Refuse(http.StatusUnprocessableEntity, api.CodeIdempotencyMismatch,
			"this Idempotency-Key was used with another body: use a new key for new events")
	case c.busy:
		return nil, wire.Refuse(http.StatusConflict, api.CodeIdempotencyBusy,
			"a request with this Idempotency-Key is still being answered; try again")
	case c.Reply != nil:
		d.all.MoveToBack(c.inAll)
		d.scopes[id.scope()].MoveToBack(c.inScope)
		return c, nil
	default: // parked
		d.unlink(c)
	}
	c.busy = true
	return c, nil
}

// Finish keeps the answer for whoever asks again.
func (d *Keys) Finish(c *Claim, r *Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Reply, c.Pushed = r, wire.Pushed{}
	d.link(c, len(r.Body))
}

// Park keeps how far the push came: the same request again goes on from there.
func (d *Keys) Park(c *Claim, p wire.Pushed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Pushed = p
	d.link(c, len(p.Rejected)*keyOverhead)
}

// Drop forgets a claim of which nothing was taken.
func (d *Keys) Drop(c *Claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entries, c.id)
}

// Forget drops all keys of a graph that was deleted.
func (d *Keys) Forget(g api.Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.all.Front(); e != nil; {
		c := e.Value.(*Claim)
		e = e.Next()
		if c.id.Tenant == g.Tenant && c.id.Graph == g.Name {
			d.remove(c)
		}
	}
}

func (d *Keys) link(c *Claim, extra int) {
	c.busy = false
	c.size = keyOverhead + len(c.id.Key) + extra
	of := d.scopes[c.id.scope()]
	if of == nil {
		of = list.New()
		d.scopes[c.id.scope()] = of
	}
	c.inAll, c.inScope = d.all.PushBack(c), of.PushBack(c)
	d.bytes += c.size
	if of.Len() > MaxPerAccumulator {
		d.remove(of.Front().Value.(*Claim))
	}
	for d.bytes > MaxBytes && d.all.Len() > 1 {
		d.remove(d.all.Front().Value.(*Claim))
	}
}

func (d *Keys) unlink(c *Claim) {
	d.all.Remove(c.inAll)
	of := d.scopes[c.id.scope()]
	if of.Remove(c.inScope); of.Len() == 0 {
		delete(d.scopes, c.id.scope())
	}
	c.inAll, c.inScope = nil, nil
	d.bytes -= c.size
}

func (d *Keys) remove(c *Claim) {
	d.unlink(c)
	delete(d.entries, c.id)
}

// expire removes what is too old from the least recently used end. What was used since
// is further back, so claim looks at the age of what it finds, too.
func (d *Keys) expire(now time.Time) {
	for e := d.all.Front(); e != nil && now.Sub(e.Value.(*Claim).since) > keepKeys; e = d.all.Front() {
		d.remove(e.Value.(*Claim))
	}
}

// Used is about how many bytes all keys take.
func (d *Keys) Used() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes
}
