// Package trace tells a collector of OpenTelemetry what epochs have done: a span for each that is recorded, with links
// to the spans of the events that went in, and below it one for each node that ran, for each value on its way to its
// sink, and for each try to deliver it.
//
// A [Tracer] sends what there is, in the background and within bounds: what it has no room for is dropped and
// counted. A [Graph] decides which epochs are recorded. No key, value or text of an error is in a span.
//
// # Concurrency
//
// A Tracer has one goroutine, which [Tracer.Start] starts and its stop joins. Spans may be added from any.
package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
)

const (
	// maxSpans and maxBytes bound what waits to be sent.
	maxSpans, maxBytes = 16_384, 8 << 20
	// batchSpans is how many are sent at once, sendEvery how long few of them wait for more.
	batchSpans, sendEvery = 1024, time.Second
	// tries is how often a batch is sent, firstPause how long is waited before the second time; it doubles.
	tries, firstPause = 5, time.Second
	// sendWithin bounds one request, stopWithin what is sent at the end.
	sendWithin, stopWithin = 10 * time.Second, 2 * time.Second
)

// The defaults of Config.
const (
	DefaultRatio = 0.01
	DefaultSlow  = time.Second
)

// Config says whom to tell what.
type Config struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP; "/v1/traces" is put behind it.
	Endpoint string
	// Headers are sent with each request, as NAME=VALUE or NAME=file:PATH.
	Headers []string
	// Ratio is how many epochs of one are recorded, beside those that are for their cause; 0 is DefaultRatio, -1
	// none.
	Ratio float64
	// Slow is how long an epoch takes that is recorded for it; 0 is DefaultSlow.
	Slow time.Duration
	// Version is the daemon's; Instance names it among others.
	Version, Instance string
	// Log is told when nothing can be sent, and when it can again.
	Log *slog.Logger
}

// Tracer collects spans and sends them. Nil collects nothing.
type Tracer struct {
	cfg     Config
	url     string
	headers []outbound.Header
	client  *http.Client
	head    head
	below   uint64 // of the lower half of a trace, without its last bit
	full    chan struct{}
	zipper  *gzip.Writer // for the goroutine that sends

	exemplars exemplars

	mu     sync.Mutex
	chunks []*chunk // what waits to be sent, in batches; the last one is filled
	spare  *chunk   // one that was sent, to be filled again
	spans  int
	bytes  int
	stats  Stats
}

// Stats are what has become of spans.
type Stats struct{ Sent, Dropped, Failed int64 }

// Mistake is what is wrong with a Config.
type Mistake struct {
	// Setting is what graphd serve calls it.
	Setting string
	Err     error
}

func (m *Mistake) Error() string { return m.Setting + ": " + m.Err.Error() }

// Unwrap is the error itself.
func (m *Mistake) Unwrap() error { return m.Err }

func mistake(setting, format string, args ...any) (*Tracer, error) {
	return nil, &Mistake{setting, fmt.Errorf(format, args...)}
}

// New makes a Tracer; nil where no endpoint is configured. An error is a [*Mistake].
func New(cfg Config) (*Tracer, error) {
	if math.IsNaN(cfg.Ratio) || cfg.Ratio > 1 || cfg.Ratio < 0 && cfg.Ratio != -1 {
		return mistake("trace-ratio", "it is %v, and must be from 0 to 1", cfg.Ratio)
	}
	if cfg.Slow < 0 {
		return mistake("trace-slow", "an epoch cannot be slow after %v", cfg.Slow)
	}
	headers, err := readHeaders(cfg.Headers)
	if err != nil {
		return mistake("otlp-headers", "%w", err)
	}
	if cfg.Endpoint == "" {
		if len(headers) > 0 {
			return mistake("otlp-headers", "they are for an endpoint: name it with --otlp-endpoint")
		}
		return nil, nil
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return mistake("otlp-endpoint", "it must be a URL such as https://collector.example:4318; what opens it is a "+
			"header")
	}
	switch {
	case cfg.Ratio == 0:
		cfg.Ratio = DefaultRatio
	case cfg.Ratio < 0:
		cfg.Ratio = 0
	}
	if cfg.Slow == 0 {
		cfg.Slow = DefaultSlow
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tracer{cfg: cfg, headers: headers, full: make(chan struct{}, 1), url: endpoint(u),
		below: uint64(cfg.Ratio * (1 << 63)),
		head: newHead([]attr{{"service.name", "graphd", 0}, {"service.version", cfg.Version, 0},
			{"service.instance.id", cfg.Instance, 0}}, cfg.Version)}
	if t.zipper, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
		return nil, err
	}
	// The operator names the endpoint, and nothing else is called: whatever declarations may call.
	guard, err := outbound.New(outbound.Config{Allow: []string{u.Hostname()}, MaxCalls: 1, Log: cfg.Log})
	if err != nil {
		return mistake("otlp-endpoint", "%w", err)
	}
	t.client = guard.Client(t.headers)
	return t, nil
}

// endpoint is where traces are sent to.
func endpoint(u *url.URL) string {
	const traces = "/v1/traces"
	if path := strings.TrimSuffix(u.Path, "/"); !strings.HasSuffix(path, traces) {
		u = u.JoinPath(traces)
	}
	return u.String()
}

// maxHeader bounds the file of a header's value.
const maxHeader = 64 << 10

func readHeaders(given []string) (headers []outbound.Header, err error) {
	for _, h := range given {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n:") {
			return nil, errors.New("a header must be NAME=VALUE, or NAME=file:PATH")
		}
		if path, inFile := strings.CutPrefix(value, "file:"); inFile {
			text, err := (*policy.Policy)(nil).Read(path, maxHeader)
			if err != nil {
				return nil, fmt.Errorf("the value of the header %s: %w", name, err)
			}
			value = strings.TrimSpace(string(text))
		}
		if strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("the value of the header %s has several lines", name)
		}
		headers = append(headers, outbound.Header{Name: name, Value: value})
	}
	return headers, nil
}

// Stats are what has become of spans so far.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// add takes a span, or drops it where too many wait.
func (t *Tracer) add(s *span) {
	scratch := s.encode()
	defer scratches.Put(scratch)
	t.mu.Lock()
	defer t.mu.Unlock()
	size := len(*scratch)
	if t.spans >= maxSpans || t.bytes+size > maxBytes {
		t.stats.Dropped++
		return
	}
	last := len(t.chunks) - 1
	if last < 0 || t.chunks[last].n >= batchSpans {
		next := t.spare
		if t.spare = nil; next == nil {
			next = &chunk{}
		}
		t.chunks, last = append(t.chunks, next), last+1
	}
	t.chunks[last].add(*scratch)
	t.spans++
	if t.bytes += size; t.chunks[last].n >= batchSpans {
		select {
		case t.full <- struct{}{}:
		default:
		}
	}
}

// take takes a batch of so many spans at least; nil when there is none.
func (t *Tracer) take(least int) *chunk {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.chunks) == 0 || t.chunks[0].n < least {
		return nil
	}
	c := t.chunks[0]
	t.chunks = slices.Delete(t.chunks, 0, 1)
	if t.spans -= c.n; t.spans == 0 {
		t.bytes = 0
	}
	t.bytes -= min(t.bytes, len(c.text))
	return c
}

// sent counts a batch, and keeps its memory for another.
func (t *Tracer) sent(c *chunk, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.stats.Sent += int64(c.n)
	} else {
		t.stats.Failed += int64(c.n)
	}
	if cap(c.text) <= maxBytes/maxSpans*batchSpans {
		t.spare = &chunk{text: c.text[:0]}
	}
}

// Start begins to send. stop sends what is left, as far as there is time for it, and returns when nothing runs.
func (t *Tracer) Start() (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (t *Tracer) run(ctx context.Context) {
	ticker := time.NewTicker(sendEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			t.flush(ctx, 1, tries)
		case <-t.full:
			t.flush(ctx, batchSpans, tries)
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	t.flush(end, 1, 1)
	t.flush(end, 1, 1) // the last batch, where it is not full
	t.client.CloseIdleConnections()
}

// flush sends a batch of so many spans at least, and those behind it that are full: what comes meanwhile waits for
// more.
func (t *Tracer) flush(ctx context.Context, least, tries int) {
	for ; ; least = batchSpans {
		batch := t.take(least)
		if batch == nil {
			return
		}
		n := batch.n
		err := t.send(ctx, batch, tries)
		t.sent(batch, err)
		if err != nil {
			t.cfg.Log.Warn("spans cannot be sent to the collector and are lost; look at it, and at --otlp-endpoint",
				slog.Int("spans", n), slog.Any("err", outbound.Cause(err)))
			return
		}
	}
}

// send sends a batch, and again where that may help.
func (t *Tracer) send(ctx context.Context, batch *chunk, tries int) error {
	body := t.zip(batch)
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		again, after, err := t.post(ctx, body)
		if err == nil || !again || n >= tries {
			return err
		}
		timer := time.NewTimer(max(pause, min(after, maxAfter)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// zip is the request of a batch.
func (t *Tracer) zip(batch *chunk) []byte {
	var body bytes.Buffer
	t.zipper.Reset(&body)
	_, _ = t.zipper.Write(t.head.begin(batch)) // into memory, as all of it
	_, _ = t.zipper.Write(batch.text)
	_ = t.zipper.Close()
	return body.Bytes()
}

// maxAfter is how long a collector may ask to be left alone.
const maxAfter = 30 * time.Second

// errAnswer says that the collector did not take a batch.
var errAnswer = errors.New("the collector answered")

// post sends a request once; again says whether another time may help, and after how long.
func (t *Tracer) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "graphd")
	outbound.Set(req.Header, t.headers)
	res, err := t.client.Do(req)
	if err != nil {
		return true, 0, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // the status is the answer; so the connection can be used again
	if res.StatusCode/100 == 2 {
		return false, 0, nil
	}
	return outbound.Temporary(res.StatusCode), outbound.RetryAfter(res.Header, time.Now()),
		fmt.Errorf("%w %d", errAnswer, res.StatusCode)
}
