package webcall

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec"
)

// client makes the calls of one node.
type client struct {
	*call
	guard   *outbound.Guard
	method  string
	headers []outbound.Header
	http    *http.Client
	breaker breaker

	mu   sync.Mutex
	told kind.Told
}

// Open implements [kind.Caller].
func (e *call) Open(guard *outbound.Guard) kind.Client {
	c := &client{call: e, guard: cmp.Or(guard, e.guard), headers: outbound.Headers(e.cfg.Headers),
		breaker: breaker{cfg: e.cfg.Breaker}}
	c.method = e.method()
	c.http = c.guard.ClientOf(e.cfg.Concurrency, c.headers)
	return c
}

// Call implements [kind.Client]. It tries until there is an answer, it is not worth trying again, or ctx has ended.
// Where a failure would cost the events of the epoch and there is retry, an open breaker is waited for: it spares the
// server, and not the events.
func (c *client) Call(ctx context.Context, r *kind.Request) (kind.Answer, error) {
	pause := pauses(c.retry)
	retrying := 0
	defer func() {
		c.mu.Lock()
		c.told.Retrying -= retrying
		c.mu.Unlock()
	}()
	waits := func() {
		c.mu.Lock()
		c.told.Retrying += 1 - retrying
		retrying = 1
		c.mu.Unlock()
	}
	for tries := 1; ; tries++ {
		trial, open := c.breaker.begin(time.Now())
		for open && c.patient {
			waits()
			if err := c.breaker.wait(ctx); err != nil {
				return kind.Answer{}, err
			}
			trial, open = c.breaker.begin(time.Now())
		}
		if open {
			a := kind.Answer{Code: CodeOpen, Text: fmt.Sprintf("%s was not called: its last calls failed, and it is "+
				"tried again in %s at most", c.base.Host, c.cfg.Breaker.Open)}
			c.tell(&a, 0, true, false)
			return a, nil
		}
		began := time.Now()
		a, after, again, err := c.try(ctx, r)
		took := time.Since(began)
		c.breaker.end(time.Now(), trial, err == nil && again, err != nil)
		if err != nil {
			return a, err
		}
		if !again || c.retry == (spec.Retry{}) || c.retry.Attempts > 0 && tries > c.retry.Attempts {
			c.tell(&a, took, !c.isAnswer(a.Status) || a.Code != "", again)
			return a, nil
		}
		waits()
		c.mu.Lock()
		c.told.Row++
		c.told.Retries++
		c.told.Seconds += took.Seconds()
		c.told.Trouble = troubleOf(c.base.Host, &a)
		c.mu.Unlock()
		timer := time.NewTimer(max(pause.NextBackOff(), after))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return a, ctx.Err()
		}
	}
}

// pauses are those between tries.
func pauses(p spec.Retry) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(max(p.Base/2, 1)), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(max(p.Max/2, 1)), backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0))
}

// try asks once. again says that the same may be answered later, and not before after.
func (c *client) try(ctx context.Context, r *kind.Request) (a kind.Answer, after time.Duration, again bool, err error) {
	release, err := c.guard.Acquire(ctx)
	if err != nil {
		return a, 0, false, err
	}
	defer release()
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	a, after, err = c.request(ctx, r)
	switch {
	case err == nil:
		return a, after, a.Code == "" && !c.isAnswer(a.Status) && outbound.Temporary(a.Status), nil
	case parent.Err() != nil:
		return a, 0, false, parent.Err()
	case ctx.Err() != nil:
		a = kind.Answer{Code: CodeTimeout, Text: fmt.Sprintf("%s did not answer within %s", c.base.Host, c.cfg.Timeout)}
		return a, 0, true, nil
	}
	a = kind.Answer{Code: CodeFailed, Text: fmt.Sprintf("ask %s: %v", c.base.Host, outbound.Cause(err))}
	if errors.As(err, new(*outbound.DeniedError)) || errors.Is(err, outbound.ErrRedirect) {
		a.Code = CodeDenied
		return a, 0, false, nil
	}
	return a, 0, true, nil
}

func (c *client) request(ctx context.Context, r *kind.Request) (a kind.Answer, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, c.method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return a, 0, errors.New("the request cannot be made")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "graphd")
	if c.body >= 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	outbound.Set(req.Header, c.headers)
	resp, err := c.http.Do(req)
	if err != nil {
		return a, 0, err
	}
	defer resp.Body.Close() // it is only read
	a.Status, after = resp.StatusCode, outbound.RetryAfter(resp.Header, time.Now())
	a.Body, err = io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxAnswer+1))
	if err == nil && int64(len(a.Body)) > c.cfg.MaxAnswer {
		a = kind.Answer{Code: CodeTooLarge, Text: fmt.Sprintf("the answer of %s is longer than %d bytes; raise "+
			"max_answer", c.base.Host, c.cfg.MaxAnswer)}
	}
	if a.Code == "" && !c.isAnswer(a.Status) {
		a.Body = nil // what says why may hold what is secret, and nobody reads it
	}
	return a, after, err
}

// tell notes a call that has ended; again is that its last try has come to nothing, as the breaker counts it.
func (c *client) tell(a *kind.Answer, took time.Duration, failed, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.Calls++
	c.told.Seconds += took.Seconds()
	if failed {
		c.told.Failed++
	}
	if a.Code == CodeOpen { // nothing was tried, and what the last tries have failed with is why
		return
	}
	if c.told.Row++; !again && a.Code != CodeDenied {
		c.told.Row = 0
	}
	if c.told.Trouble = ""; failed {
		c.told.Trouble = troubleOf(c.base.Host, a)
	}
}

func troubleOf(host string, a *kind.Answer) string {
	if a.Code != "" {
		return a.Text
	}
	return host + " answered " + statusText(a.Status)
}

// Told implements [kind.Client].
func (c *client) Told() kind.Told {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	told.Open = c.breaker.isOpen(time.Now())
	return told
}

// Close implements [kind.Client].
func (c *client) Close() { c.http.CloseIdleConnections() }
