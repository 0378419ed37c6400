// Package answers keeps what the nodes of epochs that have not run have asked for, and what they were answered (0285).
//
// What is known of a key's next epoch goes by the key; what is known of an epoch that was commanded is its own (0300).
// A [Book] is part of the pure core: it knows no goroutine and no clock.
package answers

import (
	"slices"
	"time"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
)

const (
	// mostHeld is about how many bytes of answers a book holds until nothing more is asked ahead: as much as the
	// values that wait for a commit may have.
	mostHeld = 64 << 20
	// mostKeys bounds the keys that are known of: those whose epochs do not come are among them.
	mostKeys = 10_000
)

// Ask is what a node asks for in an epoch of a key.
type Ask struct {
	Key     boundary.Key
	Node    int
	ID      kind.RequestID
	Request kind.Request

	behind bool // another asks for the same, whose epoch comes before
}

// Reply is the answer to what a node asked for.
type Reply struct {
	Node   int
	ID     kind.RequestID
	Answer *kind.Answer
}

// Kind is what an epoch that has been tried is of. The journal has it as it is here.
type Kind string

// The kinds of epochs of a graph without keys. Those of a key are all called for.
const (
	Called   Kind = ""
	Tick     Kind = "tick"  // of the cadence of the reactor
	LaneTick Kind = "lanes" // of lanes with cadences of their own
)

// Epoch is what is known of an epoch that has been tried and has not run. The zero Epoch has not been tried.
type Epoch struct {
	Kind    Kind
	At      time.Time // of the first try that missed an answer, which is the epoch's now(); zero before
	Asked   []Ask     // what the last try has missed
	Replies []Reply
	Known   bool // all that it asks for by what is known has been told
	Aside   bool // it is of an event that waits for its turn, and was tried aside

	key  boundary.Key
	held int64 // bytes of its replies
}

// Find is the answer to what a node asks for, nil where there is none.
func (e *Epoch) Find(node int, id kind.RequestID) *Reply {
	for i := range e.Replies {
		if r := &e.Replies[i]; r.Node == node && r.ID == id {
			return r
		}
	}
	return nil
}

// asks reports whether the last try has missed this.
func (e *Epoch) asks(node int, id kind.RequestID) bool {
	return slices.ContainsFunc(e.Asked, func(a Ask) bool { return a.Node == node && a.ID == id })
}

// Foretold reports whether what an epoch misses in its turn was asked for.
func (e *Epoch) Foretold(w *graph.Want) bool { return e.asks(w.Node, w.Request.ID()) }

// InVain reports whether an epoch was asked something for which a try in its turn has no use: it was given used, and
// has missed wants.
func (e *Epoch) InVain(used []Reply, wants []graph.Want) bool {
	return slices.ContainsFunc(e.Replies, func(r Reply) bool {
		return !slices.ContainsFunc(used, func(u Reply) bool { return u.Answer == r.Answer })
	}) || slices.ContainsFunc(e.Asked, func(a Ask) bool {
		return e.Find(a.Node, a.ID) == nil && !slices.ContainsFunc(wants, func(w graph.Want) bool {
			return w.Node == a.Node && w.Request.ID() == a.ID
		})
	})
}

// Book is what is known of all epochs of a graph. The zero Book is empty.
type Book struct {
	next      map[boundary.Key]*Epoch // of keys; "" in a graph without keys
	commanded []*Epoch
	held      int64 // bytes of all replies
}

// Next is what is known of the next epoch of a key, nil for nothing.
func (b *Book) Next(key boundary.Key) *Epoch { return b.next[key] }

// Open is Next that begins to know of it. When there is no room for another key, all are forgotten but keep: they
// are asked again.
func (b *Book) Open(key boundary.Key, keep *Epoch) *Epoch {
	if e := b.next[key]; e != nil {
		return e
	}
	if len(b.next) >= mostKeys {
		b.Keep(func(e *Epoch) bool { return e == keep })
	}
	if b.next == nil {
		b.next = map[boundary.Key]*Epoch{}
	}
	e := &Epoch{key: key}
	b.next[key] = e
	return e
}

// Forget ends what is known of the next epoch of a key: it has run, or will not come.
func (b *Book) Forget(key boundary.Key) {
	if e := b.next[key]; e != nil {
		b.held -= e.held
		delete(b.next, key)
	}
}

// Keep forgets all next epochs but some.
func (b *Book) Keep(keep func(e *Epoch) bool) {
	for key, e := range b.next { // each by itself: the order does not matter
		if !keep(e) {
			b.Forget(key)
		}
	}
}

// Keys is of how many keys something is known.
func (b *Book) Keys() int { return len(b.next) }

// Key is the key of an epoch that a book has.
func (e *Epoch) Key() boundary.Key { return e.key }

// Command begins to know of a commanded epoch of a key.
func (b *Book) Command(e *Epoch, key boundary.Key) {
	if e.key = key; !slices.Contains(b.commanded, e) {
		b.commanded = append(b.commanded, e)
	}
}

// End forgets a commanded epoch: it has run, or nobody waits for it any more.
func (b *Book) End(e *Epoch) {
	if i := slices.Index(b.commanded, e); i >= 0 {
		b.held -= e.held
		b.commanded = slices.Delete(b.commanded, i, i+1)
	}
}

// Answer brings an answer to those who ask for it. It is false, and the answer is dropped, where nobody does.
func (b *Book) Answer(key boundary.Key, node int, id kind.RequestID, answer *kind.Answer) bool {
	wanted := false
	b.each(key, func(e *Epoch) {
		if e.asks(node, id) && e.Find(node, id) == nil {
			b.Add(e, Reply{node, id, answer})
			wanted = true
		}
	})
	return wanted
}

// Add gives an epoch of the book an answer, whether it has asked for it or not.
func (b *Book) Add(e *Epoch, r Reply) {
	n := int64(unsafe.Sizeof(r)) + weigh(r.Answer)
	e.Replies, e.Known = append(e.Replies, r), false
	e.held, b.held = e.held+n, b.held+n
}

func weigh(a *kind.Answer) int64 {
	return boundary.OnHeap(int(unsafe.Sizeof(*a))) + boundary.OnHeap(len(a.Body)) + boundary.OnHeap(len(a.Text))
}

// Wanted reports whether some epoch still asks for this, and has no answer.
func (b *Book) Wanted(key boundary.Key, node int, id kind.RequestID) (wanted bool) {
	b.each(key, func(e *Epoch) { wanted = wanted || e.asks(node, id) && e.Find(node, id) == nil })
	return wanted
}

// each calls f with what is known of the epochs of a key.
func (b *Book) each(key boundary.Key, f func(e *Epoch)) {
	if e := b.next[key]; e != nil {
		f(e)
	}
	for _, e := range b.commanded {
		if e.key == key {
			f(e)
		}
	}
}

// Full reports whether nothing more is to be asked ahead: there are as many bytes of answers as there may be.
func (b *Book) Full() bool { return b.held >= mostHeld }

// Weigh is about how many bytes the book holds.
func (b *Book) Weigh() int64 {
	return b.held + int64(len(b.next)+len(b.commanded))*int64(unsafe.Sizeof(Epoch{}))
}
