// Package webhook is the sink http: it sends each value as the body of one request, in the
// order of the epochs, one at a time, or several at once, those of one key in their order.
//
// The request says which firing it belongs to:
//
//	Graphd-Firing-Id      the id of this value
//	Graphd-Firing-Stable  whether a value that is sent again has the same id and content;
//	                      false on the direct path, where a crash may lie between
//	Idempotency-Key       the id, only when it is stable
//	Graphd-Output, Graphd-Epoch, Graphd-Incarnation, Graphd-Key
//	Graphd-Degraded       what was not healthy, where something was not
//	Traceparent           the span of the delivery, where epochs are traced
//
// An answer of 2xx is a delivery. 408, 425, 429, 5xx and a lost connection are tried again,
// no sooner than Retry-After asks for; anything else refuses the value for good. Of
// redirects, those that keep the method (307, 308) are followed, within bounds.
//
// No error of this package holds the URL, a header of the request or the answer's body:
// there may be secrets in them.
//
// The package starts no goroutine but those of net/http, which Close ends.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
)

// Config says where values go.
type Config struct {
	URL     string // http or https
	Method  string // "POST" when empty
	Headers []outbound.Header
	// Timeout bounds one request with its answer; 0 means 10s.
	Timeout time.Duration
	// Concurrency is how many requests may be out at once; 0 means 1. Key makes what then has its order; nil
	// means the graph's key.
	Concurrency int
	Key         *sink.Option
	// Guard dials. It is required.
	Guard *outbound.Guard
	// Agent is the User-Agent; "graphd" when empty.
	Agent string
}

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("url is not an http or https URL with a host"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %v is negative", c.Timeout))
	}
	if c.Guard == nil {
		errs = append(errs, errors.New("there is no guard to dial with"))
	}
	return errors.Join(errs...)
}

// Sink sends values. Deliver may be called by several goroutines, the rest by one.
type Sink struct {
	cfg    Config
	host   string // for messages
	client *http.Client
	keys   sync.Mutex // who makes a key
}

var (
	_ sink.Carrier    = (*Sink)(nil)
	_ sink.Concurrent = (*Sink)(nil)
)

// maxAnswer is how much of an answer is read to use its connection again; a longer one costs
// a new connection.
const maxAnswer = 64 << 10

// New makes a Sink. It connects when there is something to send.
func New(cfg Config) (*Sink, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("http sink: %w", err)
	}
	if cfg.Method == "" {
		cfg.Method = http.MethodPost
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Agent == "" {
		cfg.Agent = "graphd"
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("http sink: url cannot be read")
	}
	cfg.Concurrency = max(cfg.Concurrency, 1)
	return &Sink{cfg: cfg, host: u.Host, client: cfg.Guard.ClientOf(cfg.Concurrency, cfg.Headers)}, nil
}

// Deliver sends the batch, value by value.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range batch {
		if _, err := s.lane(&batch[i]); err != nil {
			return &sink.PermanentError{Index: i, Code: "key_failed", Err: fmt.Errorf("make the key: %w", err)}
		}
		status, after, err := s.send(ctx, &batch[i])
		switch {
		case err != nil && ctx.Err() != nil:
			return &sink.RetryError{Index: i, Err: fmt.Errorf("send to %s: %w", s.host, ctx.Err())}
		case err != nil:
			return &sink.RetryError{Index: i, Err: fmt.Errorf("send to %s: %w", s.host, outbound.Cause(err))}
		case status/100 == 2:
		case outbound.Temporary(status):
			return &sink.RetryError{
				Index: i, After: after, Err: fmt.Errorf("%s answered %s", s.host, statusText(status)),
			}
		default:
			return &sink.PermanentError{Index: i, Code: "http_" + strconv.Itoa(status),
				Err: fmt.Errorf("%s answered %s", s.host, statusText(status))}
		}
	}
	return nil
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// send sends one value and reads what became of it.
func (s *Sink) send(ctx context.Context, m *sink.Message) (status int, after time.Duration, err error) {
	release, err := s.cfg.Guard.Acquire(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer release()
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	// A body of its own: the transport may go on reading it after an early answer.
	body := m.Value.AppendJSON(nil)
	req, err := http.NewRequestWithContext(ctx, s.cfg.Method, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	s.describe(req.Header, m)
	resp, err := s.client.Do(req)
	if err != nil && ctx.Err() != nil && parent.Err() == nil {
		return 0, 0, fmt.Errorf("no answer within %v", s.cfg.Timeout)
	}
	if err != nil {
		return 0, 0, err
	}
	// The status is the answer. The rest is read only so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	_ = resp.Body.Close()
	return resp.StatusCode, outbound.RetryAfter(resp.Header, time.Now()), nil
}

// describe says which firing the request belongs to.
func (s *Sink) describe(h http.Header, m *sink.Message) {
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.cfg.Agent)
	id := m.FiringID()
	if m.Stable {
		h.Set("Idempotency-Key", id)
	}
	outbound.Set(h, s.cfg.Headers)
	h.Set("Graphd-Firing-Id", id)
	h.Set("Graphd-Firing-Stable", strconv.FormatBool(m.Stable))
	h.Set("Graphd-Epoch", strconv.FormatInt(m.Epoch, 10))
	h.Set("Graphd-Incarnation", strconv.FormatInt(m.Incarnation, 10))
	h.Set("Graphd-Output", m.Output)
	if m.Key != "" {
		h.Set("Graphd-Key", asciiJSON(string(m.Key)))
	}
	if m.Trace != nil {
		h.Set("Traceparent", m.Trace.String())
	}
	if len(m.Degraded) > 0 {
		h.Set("Graphd-Degraded", strings.Join(m.Degraded, ","))
	}
}

// asciiJSON is a JSON text with all that is not ASCII escaped, as a header can hold it.
func asciiJSON(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// CarriesTrace implements [sink.Carrier].
func (*Sink) CarriesTrace() {}

// DeliversSingly implements [sink.Singly]: each value is a request, and waits for its answer.
func (*Sink) DeliversSingly() {}

// Concurrency implements [sink.Concurrent].
func (s *Sink) Concurrency() int { return s.cfg.Concurrency }

// AtOnce implements [sink.Concurrent].
func (s *Sink) AtOnce() int { return s.cfg.Concurrency }

// Lane implements [sink.Concurrent]: a message's lane is its key.
func (s *Sink) Lane(m *sink.Message) string {
	lane, err := s.lane(m)
	if err != nil {
		return ""
	}
	return lane
}

func (s *Sink) lane(m *sink.Message) (string, error) {
	if s.cfg.Key == nil {
		return string(m.Key), nil
	}
	s.keys.Lock()
	defer s.keys.Unlock()
	v, err := s.cfg.Key.Of(m)
	if err != nil || v.IsAbsent() {
		return "", err
	}
	return string(v.AppendJSON(nil)), nil
}

// Close drops idle connections. Nothing is buffered.
func (s *Sink) Close(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}
