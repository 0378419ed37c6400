package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// cut is a call whose connection has ended before the whole answer was there: what has become of it is not known.
type cut struct{ error }

func (e *cut) Unwrap() error { return e.error }

// send sends a request, and again while that is safe and there is patience left.
func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	end := time.Now().Add(c.patience)
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		data, err := c.sendOnce(ctx, r)
		if err == nil || !r.again(err) || ctx.Err() != nil {
			return data, err
		}
		pause := spread(wait)
		if p, ok := errors.AsType[*api.Problem](err); ok {
			pause = max(pause, p.RetryAfter)
		}
		if !r.endless && time.Now().Add(pause).After(end) {
			return data, err
		}
		if !sleep(ctx, pause) {
			return data, errors.Join(context.Cause(ctx), err)
		}
	}
}

// again says whether a call that has come to nothing can be made once more without doing anything twice.
func (r *request) again(err error) bool {
	if r.once {
		return false
	}
	if _, nobody := errors.AsType[*Unreachable](err); nobody {
		return true // nothing was sent
	}
	return (r.method == http.MethodGet || r.key != "") && MayRepeat(err)
}

// MayRepeat says of the error of what only reads, or of a push with a key, that the same call may be answered better
// later: no daemon was there, the connection was lost, or the daemon had no room.
func MayRepeat(err error) bool {
	if _, nobody := errors.AsType[*Unreachable](err); nobody {
		return true
	}
	if _, stranger := errors.AsType[*tls.CertificateVerificationError](err); stranger {
		return false
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		switch p.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
			return true
		}
		return p.Code == api.CodeIdempotencyBusy // the attempt before, whose connection was lost
	}
	_, lost := errors.AsType[*cut](err)
	return lost
}

// spread is a pause about as long as wait, some of it at random, so that all who lost a daemon do not come back at one
// moment.
func spread(wait time.Duration) time.Duration {
	return wait/2 + rand.N(wait/2)
}

// sleep waits, and says whether ctx has lasted so long.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
