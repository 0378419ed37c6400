package pushkey

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Book is what an input of a shard knows of keys: of those that pushes under way have, and of those whose events the
// journal does not have yet. It outlives runs of the shard, what it knows does not. The zero value waits for a run.
// Safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	name    string // the accumulator's
	run     int64  // counts the runs
	runs    bool   // one is on
	away    error  // why nobody need wait for one; nil while one may come
	changed chan struct{}
	entries map[name]*entry
	waits   []*entry // released, and not durable when looked at last, in that order
}

type name struct {
	key   string
	first int64
}

// entry is a batch of a push.
type entry struct {
	name   name
	hash   []byte
	busy   bool
	known  bool    // so has what the store had
	so     Outcome // of all attempts that are over
	ticket Ticket  // for the last of it; nil where all is durable
}

// Claim is a push's hold on a batch in one shard, from before its events are queued until it is known what has become
// of them. The nil Claim is that of a push without a key.
type Claim struct {
	book *Book
	run  int64
	e    *entry
	of   int
}

// Begin says that a run begins: what earlier ones have not made durable is void, and so are claims on it. name is the
// accumulator's.
func (b *Book) Begin(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name, b.runs, b.entries, b.waits = name, true, nil, nil
	b.run++
	b.tell()
}

// End says that the run is over. Claims wait for the next one.
func (b *Book) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = false
}

// Away says why no run is waited for, or, with nil, that one is.
func (b *Book) Away(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = why
	b.tell()
}

func (b *Book) tell() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// Place is a shard, and its book of the input.
type Place struct {
	Shard int
	Book  *Book
}

// Idle says that a key cannot be claimed before a shard runs; it is worth another try when Changed is closed.
type Idle struct{ Changed <-chan struct{} }

func (*Idle) Error() string { return "a shard does not run yet" }

// Claims claims a key at shards of a graph, which has so many. Each claim is to be released. What nobody has a claim on
// is looked for in the store, behind the claims, so that nothing of it becomes durable in between. Refused are, with
// nothing claimed, a key that another push has under way, one that came with another body, and one of which a part was
// taken while the graph had another number of shards. Another error is an [*Idle], or says that ctx is done, or that it
// is not known.
func Claims(ctx context.Context, k *Key, places []Place, of int) (claims []*Claim, err error) {
	defer func() {
		if err != nil {
			for _, c := range claims {
				c.Release(&Outcome{})
			}
			claims = nil
		}
	}()
	unknown := false
	for _, p := range places {
		c, err := p.Book.claim(k, of)
		if err != nil {
			return claims, err
		}
		claims = append(claims, c)
		unknown = unknown || !c.e.known
		if c.e.known && !bytes.Equal(c.e.hash, k.Hash) {
			return claims, otherBody()
		}
	}
	if !unknown {
		return claims, nil
	}
	stored, err := k.Look(ctx)
	if err != nil {
		return claims, notKnown(ctx, err)
	}
	for i := range stored {
		s := &stored[i]
		if !bytes.Equal(s.Hash, k.Hash) {
			return claims, otherBody()
		}
		if s.Shards != of {
			return claims, &api.Error{Status: http.StatusConflict, Code: api.CodeIdempotencyShards,
				Detail: fmt.Sprintf("a part of the push with this Idempotency-Key was taken when the graph had %d "+
					"shards, and cannot be told from the rest now that it has %d: look what has come of it, and send "+
					"what is missing with a new key", s.Shards, of)}
		}
		for n, p := range places {
			if p.Shard != s.Shard || claims[n].e.known {
				continue
			}
			so, err := outcomeOf(s)
			if err != nil {
				return claims, err
			}
			so.Tickets = []Ticket{func(context.Context) error { return nil }}
			claims[n].e.so = so
		}
	}
	for _, c := range claims {
		c.e.known = true
	}
	return claims, nil
}

func otherBody() error {
	return &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeIdempotencyMismatch,
		Detail: "this Idempotency-Key was used with another body: use a new key for new events"}
}

func notKnown(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return err
	}
	return &api.Error{Status: http.StatusServiceUnavailable, Code: cmp.Or(checkpoint.Ailment(err), api.CodeInternal),
		Detail: "whether the Idempotency-Key was used before is not known, so nothing was taken: " + err.Error()}
}

// claim claims a key while there is a run. It waits for none: who would wait may hold up what is to begin it.
func (b *Book) claim(k *Key, of int) (*Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.runs:
	case b.away != nil:
		return nil, b.away
	default:
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		return nil, &Idle{b.changed}
	}
	b.clean()
	n := name{k.Text, k.First}
	e := b.entries[n]
	switch {
	case e == nil:
		e = &entry{name: n, hash: k.Hash}
		if b.entries == nil {
			b.entries = map[name]*entry{}
		}
		b.entries[n] = e
	case e.busy:
		return nil, &api.Error{Status: http.StatusConflict, Code: api.CodeIdempotencyBusy,
			Detail: "a request with this Idempotency-Key is still being answered; try again"}
	}
	e.busy = true
	return &Claim{book: b, run: b.run, e: e, of: of}, nil
}

// clean forgets what is in the journal by now.
func (b *Book) clean() {
	over, cancel := context.WithCancel(context.Background())
	cancel() // a ticket that has to be waited for says so at once
	for len(b.waits) > 0 {
		e := b.waits[0]
		if e.ticket != nil && !e.busy && e.ticket(over) != nil {
			return
		}
		b.waits = b.waits[1:]
		if !e.busy && b.entries[e.name] == e {
			delete(b.entries, e.name)
		}
	}
}

// Stale says that the run is over in which the key was claimed.
func (c *Claim) Stale() bool {
	if c == nil {
		return false
	}
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	return c.run != c.book.run
}

// Done is how many leading events of the batch are taken already.
func (c *Claim) Done() int {
	if c == nil {
		return 0
	}
	return c.e.so.Taken
}

// Note is what is to be kept of the key with what has become of the events behind those, so far.
func (c *Claim) Note(so *Outcome) checkpoint.PushKey {
	all := c.e.so.and(so)
	text, err := json.Marshal(record{all.Accepted, all.Filtered, all.RejectedCount, all.Rejected})
	if err != nil {
		panic(fmt.Sprintf("pushkey: an outcome cannot be encoded: %v", err)) // numbers and texts
	}
	return checkpoint.PushKey{Accumulator: c.book.name, Key: c.e.name.key, First: c.e.name.first, Hash: c.e.hash,
		Shards: c.of, Done: all.Taken, Outcome: text}
}

// Release ends the claim: out is what has become of the events that were not taken before, and becomes what has become
// of all.
func (c *Claim) Release(out *Outcome) {
	if c == nil {
		return
	}
	b := c.book
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := out.Taken > 0
	*out = c.e.so.and(out)
	out.Known = !fresh && !out.Full && out.Taken > 0
	if c.run != b.run {
		return
	}
	c.e.busy = false
	if c.e.so = *out; fresh && len(out.Tickets) > 0 {
		c.e.ticket = out.Tickets[len(out.Tickets)-1]
		c.e.so.Tickets = []Ticket{c.e.ticket} // they become durable in their order
	}
	c.e.so.Full, c.e.so.Known = false, false
	if c.e.ticket == nil {
		delete(b.entries, c.e.name) // the store knows it, or there is nothing to know
		return
	}
	b.waits = append(b.waits, c.e)
	b.clean()
}
