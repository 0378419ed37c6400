package pump

import (
	"context"
	"errors"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/pushkey"
)

// ErrAnew says that the graph was taken anew while a push with an Idempotency-Key waited: what was taken of it and was
// not durable is not there any more. Sent again, it is taken as far as it is missing.
var ErrAnew = errors.New("the graph was taken anew from its last durable state")

// Begin says that a run begins to read, for the accumulator of this name; End, that it has ended. Pushes with a key
// that wait from before have ErrAnew.
func (m *Mailbox) Begin(name string) {
	m.keys.Begin(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turnAway(ErrAnew, func(p *Push) bool { return !p.claim.Stale() })
}

// End is described at Begin.
func (m *Mailbox) End() { m.keys.End() }

// notes are the keys of what was folded of a group.
func notes(group []span) (keys []checkpoint.PushKey) {
	for i := range group {
		s := &group[i]
		p := s.push
		if p.claim == nil || p.claim.Stale() {
			continue
		}
		so := PushOutcome{Taken: s.hi, Accepted: p.out.Accepted + s.accepted, Filtered: p.out.Filtered + s.filtered,
			RejectedCount: p.out.RejectedCount + s.rejectedCount, Rejected: slices.Concat(p.out.Rejected, s.rejected)}
		keys = append(keys, p.claim.Note(&so))
	}
	return keys
}

// claim claims the key of a push at the shards here that are concerned.
func (d *Deal) claim(ctx context.Context, parts []part) error {
	k, ok := pushkey.From(ctx)
	if !ok || k.Look == nil {
		return nil
	}
	var places []pushkey.Place
	var of []*part
	for i := range parts {
		if p := &parts[i]; p.away == nil && len(p.events) > 0 {
			places, of = append(places, pushkey.Place{Shard: p.shard, Book: &d.boxes[p.shard].keys}), append(of, p)
		}
	}
	claims, err := pushkey.Claims(ctx, &k, places, len(d.boxes))
	for i := range claims {
		of[i].claim = claims[i]
	}
	return err
}
