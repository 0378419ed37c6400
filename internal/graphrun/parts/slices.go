package parts

import (
	"context"
	"errors"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/pushkey"
)

// InSlices takes the events of a push most at once, until all are taken or some of a slice were not: what they take is
// seen before there is more, and others have their turn in between. most is 0 for any number, and asked before each;
// reject counts events behind a slice that found no room, and seen waits until what was taken is. A journaled push with
// a key is taken as a whole: the store knows its batches by their beginnings, and a repeat may be sliced otherwise.
func InSlices[E ~[]byte](ctx context.Context, events []E, most func() int, journaled bool,
	push func(ctx context.Context, events []E) (api.PushResult, error), reject func(n int),
	seen func(ctx context.Context)) (api.PushResult, error) {
	key, keyed := pushkey.From(ctx)
	n := most()
	if n <= 0 || n >= len(events) || keyed && journaled {
		return push(ctx, events)
	}
	var all api.PushResult
	for done := 0; done < len(events); {
		slice := events[done:]
		if n = most(); n > 0 {
			slice = slice[:min(n, len(slice))]
		}
		r, err := push(pushkey.Batch(ctx, int(key.First)+done), slice)
		if err != nil && done == 0 {
			return r, err
		}
		if err != nil {
			refused, ok := errors.AsType[*api.Error](err)
			if !ok {
				return all, err
			}
			r = api.PushResult{Full: true, Refused: refused, After: refused.After}
		}
		all = joined(all, r, done)
		if done += len(slice); r.Full {
			if r.Refused == nil && !r.Why.Moved() {
				reject(len(events) - done)
			}
			return all, nil
		}
		seen(ctx)
	}
	return all, nil
}

// joined is both results together, the second of which is of the events from the n-th on.
func joined(all, r api.PushResult, n int) api.PushResult {
	switch { // it is said of what was taken
	case all.Accepted == 0:
		r.Durable = r.Durable && r.Accepted > 0
	case r.Accepted > 0:
		r.Durable = r.Durable && all.Durable
	default:
		r.Durable = all.Durable
	}
	r.Accepted += all.Accepted
	r.Filtered += all.Filtered
	for i := range r.Rejected {
		r.Rejected[i].Index += n
	}
	r.Rejected = append(all.Rejected, r.Rejected...)
	if r.Rejected == nil {
		r.Rejected = []api.Rejection{}
	}
	return r
}
