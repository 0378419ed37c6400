// Package pushkey is what a shard of a journaled graph knows of pushes with an Idempotency-Key: a push that is sent
// again is taken as far as it was not, and answered as if it had been taken at once.
//
// A [Key] goes with a push to the shards that take it. Each has a [Book] for each of its inputs, and there a [Claim] on
// the key while a push with it is under way. What the shard takes is told by the claim as a [checkpoint.PushKey], which
// goes into the store with the entry of the journal that has the events: of what is not under way the store knows, and
// the book only what the journal does not have yet.
//
// A body is pushed in batches, and each batch is known by itself, by the place of its first event. The batches of a
// body are always the same, and so are the events of a batch that a shard hears of, as long as the graph has as many
// shards.
package pushkey

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Ticket waits until a handoff is durable. An error says that it is not known to be: ctx's
// when that took too long, another when the graph stopped before.
type Ticket func(ctx context.Context) error

// Rejection is one pushed event that was refused (M5).
type Rejection struct {
	Index  int    `json:"i"` // in the push
	Code   string `json:"c"`
	Detail string `json:"d,omitempty"`
}

// MaxRejections bounds the list of refused events in one answer; RejectedCount goes on.
const MaxRejections = 1000

// Outcome answers a push.
type Outcome struct {
	// Taken is how many leading events were dealt with: Accepted + RejectedCount. When Full
	// is set, nothing after them was taken: they count as received and rejected.
	Taken int
	// Accepted is how many of them were folded or filtered; Filtered is how many filtered.
	Accepted, Filtered int
	// Rejected lists the first 1,000 refused ones, RejectedCount counts all.
	Rejected      []Rejection
	RejectedCount int
	// Tickets, in a journaled graph, are for the handoffs that took the events.
	Tickets []Ticket
	// Full says that the accumulator was held back until the caller's context was done.
	Full bool
	// Known says that all of it had been taken before, under the same key.
	Known bool
}

// Key is an Idempotency-Key on its way with a batch of a push.
type Key struct {
	Text string
	Hash []byte // of the whole body
	// First is the place in the body of the batch's first event.
	First int64
	// Look asks the store for what all shards of the graph have of the batch. Without it nobody keeps the key.
	Look func(ctx context.Context) ([]checkpoint.PushKey, error)
}

type inContext struct{}

// With is a context for a push with a key.
func With(ctx context.Context, k Key) context.Context { return context.WithValue(ctx, inContext{}, k) }

// Batch is a context for the batch that begins at an event's place in the body.
func Batch(ctx context.Context, first int) context.Context {
	if k, ok := From(ctx); ok {
		k.First = int64(first)
		return With(ctx, k)
	}
	return ctx
}

// From is the key that a push came with.
func From(ctx context.Context) (k Key, ok bool) {
	k, ok = ctx.Value(inContext{}).(Key)
	return k, ok
}

// Lacks says that less was taken than another outcome says, or that something was turned away with this code.
func (o *Outcome) Lacks(other *Outcome, code string) bool {
	return o.Taken < other.Taken || slices.ContainsFunc(o.Rejected, func(r Rejection) bool { return r.Code == code })
}

// record is an outcome as the store keeps it.
type record struct {
	Accepted int         `json:"a,omitempty"`
	Filtered int         `json:"f,omitempty"`
	Count    int         `json:"n,omitempty"`
	Rejected []Rejection `json:"r,omitempty"`
}

// outcomeOf is what a record says of a batch of which so many events are done.
func outcomeOf(k *checkpoint.PushKey) (out Outcome, err error) {
	var r record
	if err := json.Unmarshal(k.Outcome, &r); err != nil {
		return out, fmt.Errorf("%w: what Idempotency-Key %q came to cannot be read: %w", checkpoint.ErrCorrupt,
			k.Key, err)
	}
	return Outcome{Taken: k.Done, Accepted: r.Accepted, Filtered: r.Filtered, Rejected: r.Rejected,
		RejectedCount: r.Count}, nil
}

// and is what has come of two parts of a batch, one after the other.
func (o *Outcome) and(next *Outcome) Outcome {
	all := *next
	all.Taken += o.Taken
	all.Accepted += o.Accepted
	all.Filtered += o.Filtered
	all.RejectedCount += o.RejectedCount
	all.Tickets = append(append([]Ticket(nil), o.Tickets...), next.Tickets...)
	all.Rejected = append([]Rejection(nil), o.Rejected...)
	for _, r := range next.Rejected {
		if r.Index += o.Taken; len(all.Rejected) < MaxRejections {
			all.Rejected = append(all.Rejected, r)
		}
	}
	return all
}
