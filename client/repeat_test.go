package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a daemon that gives one answer after the other: a status, "lost" for a connection that is cut, "nobody"
// where none listens, and 200 in the end.
type answers struct {
	left []string
	sent int
	keys map[string]bool
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent++
	a.keys[r.Header.Get("Idempotency-Key")] = true
	if len(a.left) == 0 {
		return answer(http.StatusOK, `{"accepted":2,"rejected":[]}`, ""), nil
	}
	what := a.left[0]
	a.left = a.left[1:]
	switch what {
	case "nobody":
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	case "lost":
		return nil, errors.New("connection reset by peer")
	case "409":
		return answer(http.StatusConflict, `{"code":"idempotency_in_progress"}`, ""), nil
	case "422":
		return answer(http.StatusUnprocessableEntity, `{"code":"all_rejected"}`, ""), nil
	case "429":
		return answer(http.StatusTooManyRequests, `{"code":"queue_full"}`, "7"), nil
	}
	return answer(http.StatusServiceUnavailable, `{"code":"busy"}`, ""), nil
}

func answer(status int, body, retryAfter string) *http.Response {
	h := http.Header{}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// TestRepeat: what is safe to repeat is repeated while there is patience, and nothing else ever is.
func TestRepeat(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, c *Client) error { _, err := c.Graphs(ctx); return err }
	ready := func(ctx context.Context, c *Client) error { _, err := c.Ready(ctx); return err }
	push := func(ctx context.Context, c *Client) error {
		_, err := c.Push(ctx, "g", "a", []byte("1\n2"))
		return err
	}
	once := func(ctx context.Context, c *Client) error {
		_, err := c.PushOnce(ctx, "g", "a", []byte("1\n2"), "k")
		return err
	}
	all := func(ctx context.Context, c *Client) error {
		_, err := c.PushAll(ctx, "g", "a", []byte("1\n2"))
		return err
	}
	tests := map[string]struct {
		call     func(context.Context, *Client) error
		patience time.Duration
		left     string // of the daemon's answers
		sent     int
		code     string // "" where it goes well
		took     time.Duration
	}{
		"once without patience":       {read, 0, "503", 1, "busy", 0},
		"what reads":                  {read, time.Minute, "503 lost nobody 429", 5, "", 7 * time.Second},
		"as long as it asks for":      {read, 6 * time.Second, "429", 1, "queue_full", 0},
		"a refusal":                   {read, time.Minute, "422", 1, "all_rejected", 0},
		"is it ready":                 {ready, time.Minute, "503", 1, "busy", 0},
		"a push that may have got in": {push, time.Minute, "lost", 1, "?", 0},
		"a push that was refused":     {push, time.Minute, "429", 1, "queue_full", 0},
		"a push that nobody got":      {push, time.Minute, "nobody nobody", 3, "", 0},
		"a push with a key":           {once, time.Minute, "lost 409 429 503", 5, "", 7 * time.Second},
		"without end":                 {all, 0, "nobody lost 409 429 429 503", 7, "", 14 * time.Second},
		"but for a refusal":           {all, 0, "503 422", 2, "all_rejected", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Config{BaseURL: "http://daemon", Patience: tt.patience})
				if err != nil {
					t.Fatal(err)
				}
				a := &answers{left: strings.Fields(tt.left), keys: map[string]bool{}}
				c.http.Transport = a
				began := time.Now()
				err = tt.call(t.Context(), c)
				if (err == nil) != (tt.code == "") || tt.code != "?" && Code(err) != tt.code || a.sent != tt.sent ||
					time.Since(began) < tt.took || len(a.keys) != 1 {
					t.Errorf("%d requests with %d keys in %v: %v", a.sent, len(a.keys), time.Since(began), err)
				}
			})
		})
	}
}

// TestRepeatEnds: a call ends with its context, and says what it was waiting for.
func TestRepeatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{BaseURL: "http://daemon"})
		if err != nil {
			t.Fatal(err)
		}
		c.http.Transport = &answers{left: strings.Fields(strings.Repeat("503 ", 100)), keys: map[string]bool{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err = c.PushAll(ctx, "g", "a", []byte("1"))
		if !errors.Is(err, context.DeadlineExceeded) || Code(err) != "busy" || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
