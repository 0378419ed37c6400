package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
)

const (
	firstWait = 250 * time.Millisecond
	maxWait   = 10 * time.Second
)

// TailOptions say what to follow.
type TailOptions struct {
	Topics []string // "outputs", "firings", "health", "state"; at least one
	Since  string   // the place of the last frame that was seen, see [Frame.Place]; "" is from now on
	// Where is an expression over outputs and firings, of which those come for which it is true; "" is all of them.
	Where string
	// Sample is of how many epochs a second outputs and firings come, of those of one graph, and at most how often its
	// state does; 0 is all of them. [Frame.LeftOut] counts the others. Where and Sample exclude each other.
	Sample int
	// Lost, when it is not nil, hears of a lost connection and how long it is until the next attempt.
	Lost func(err error, wait time.Duration)
	// Back, when it is not nil, hears that a lost connection was made again.
	Back func()
}

// Tail follows one graph, or with graph "" all of the tenant's, and hands every frame to
// each. A lost connection is made again, with growing pauses, and goes on behind the last
// frame; what the daemon no longer has comes as one frame of the type "gap". With all
// graphs, and where the graph was made anew in between, it goes on from now, behind a gap without
// numbers.
//
// It ends with ctx (nil), with each's error, with the first connection's when that fails,
// and with a *[api.Problem] when the daemon will not have it: graph_not_found, once the graph was removed.
func (c *Client) Tail(ctx context.Context, name string, o TailOptions, each func(*api.Frame) error) error {
	at, known := api.ParsePlaces(o.Since)
	if !known {
		at = api.Places{}
	}
	since, wait := o.Since, firstWait
	for connected, lost := false, false; ; {
		w, err := c.watch(ctx, name, &subscription{Topics: o.Topics, Since: since, Where: o.Where, Sample: o.Sample})
		missed := lost && err == nil && name == ""
		if lost && Code(err) == api.CodeBadSince { // another graph of that name, or one that has kept nothing
			at, missed = api.Places{}, true
			w, err = c.watch(ctx, name, &subscription{Topics: o.Topics, Where: o.Where, Sample: o.Sample})
		}
		if err == nil {
			if connected = true; lost && o.Back != nil {
				o.Back()
			}
			if missed {
				if err := each(&api.Frame{Type: "gap", Graph: name}); err != nil {
					return errors.Join(err, w.Close())
				}
			}
			for shard, place := range w.at {
				if _, seen := at[shard]; !seen {
					at[shard] = place
				}
			}
			var seen int
			seen, err = w.follow(ctx, each, name, at)
			since = at.String()
			if stop, ok := errors.AsType[*stopped](err); ok {
				return stop.err
			}
			if seen > 0 {
				wait = firstWait
			}
		}
		refused, isProblem := errors.AsType[*api.Problem](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case !connected || isProblem && refused.Status < http.StatusInternalServerError &&
			refused.Status != http.StatusTooManyRequests:
			return err
		}
		lost = connected
		pause := spread(wait)
		if o.Lost != nil {
			o.Lost(err, pause)
		}
		if !sleep(ctx, pause) {
			return nil
		}
		wait = min(2*wait, maxWait)
	}
}

// stopped is each's own error.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// follow hands on frames until the connection ends; at is kept at the last of them.
func (w *Watch) follow(ctx context.Context, each func(*api.Frame) error, name string, at api.Places) (
	seen int, err error) {
	defer func() {
		if closed := w.Close(); err == nil {
			err = closed
		}
	}()
	for {
		f, err := w.Next(ctx)
		if err != nil {
			return seen, err
		}
		seen++
		if name != "" && f.Incarnation > 0 { // sequence numbers are a graph's own; one that has not started has none
			at[f.Shard] = f.At()
		}
		if err := each(f); err != nil {
			return seen, &stopped{err}
		}
	}
}
