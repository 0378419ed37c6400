// Package poll is the source that asks a URL again and again.
//
// An answer is one event: the JSON document as it stands, a list too, for what is polled is
// the state of something and not a log of what happened to it. An answer that holds the same
// bytes as the one before is no event. Where the server gives an ETag or Last-Modified, the
// next request is conditional, so that an unchanged document is not even sent.
//
// A position is the number of the request and the digest of its answer, so that a document
// that was read before a restart is not an event again after it.
//
// The source is live once a request has succeeded and disconnected as soon as one fails. It
// then tries again with growing pauses, no sooner than Retry-After asks for.
//
// # Concurrency
//
// The package starts no goroutine but those of net/http, which Run ends.
package poll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
)

// Config says what to poll.
type Config struct {
	URL     string        // http or https
	Every   time.Duration // from the start of one request to that of the next
	Timeout time.Duration // of one request with its answer; 0 means 10s
	Headers []outbound.Header
	// MaxBytes bounds an answer, decompressed; 0 means 8 MiB.
	MaxBytes int
	// Guard dials. It is required.
	Guard *outbound.Guard
}

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("the URL is not an http or https URL with a host"))
	}
	if c.Every <= 0 {
		errs = append(errs, errors.New("every is missing: say how often to ask"))
	}
	if c.Timeout < 0 || c.MaxBytes < 0 {
		errs = append(errs, errors.New("timeout and size are not negative"))
	}
	if c.Guard == nil {
		errs = append(errs, errors.New("there is no guard to dial with"))
	}
	return errors.Join(errs...)
}

// Source polls. It is an [accumulator.Source].
type Source struct {
	cfg  Config
	host string // for messages
}

var (
	_ accumulator.Source   = (*Source)(nil)
	_ accumulator.Follower = (*Source)(nil)
)

// New makes a Source.
func New(cfg Config) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("poll source: %w", err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 8 << 20
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("poll source: the URL cannot be read")
	}
	return &Source{cfg: cfg, host: u.Host}, nil
}

// streamPrefix begins the name of the stream; what follows is the digest of the answer.
const streamPrefix = "poll#"

// Follows implements [accumulator.Follower]: an answer is all there is.
func (s *Source) Follows() bool { return true }

// Run implements [accumulator.Source].
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	p := &poller{Source: s, client: s.cfg.Guard.Client(s.cfg.Headers)}
	defer p.client.CloseIdleConnections()
	for _, pos := range from {
		if digest, ok := strings.CutPrefix(pos.Stream, streamPrefix); ok {
			p.number, p.digest = pos.Offset, digest
		}
	}
	err := p.run(ctx, out)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// poller is one run of a Source.
type poller struct {
	*Source
	client *http.Client

	number int64  // of the last request that was answered
	digest string // of the last answer that held a document; "" before the first

	// What the last such answer came with, for conditional requests.
	etag, modified string

	failed int // requests in a row that failed
	health accumulator.Health
}

func (p *poller) run(ctx context.Context, out accumulator.Out) error {
	for {
		began := time.Now()
		a, err := p.ask(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = p.take(ctx, a, out)
		}
		var failed *failure
		switch {
		case err == nil:
			p.failed = 0
			p.say(out, accumulator.Live, "")
			accumulator.CaughtUp(out, "", true)
		case errors.As(err, &failed):
			p.failed++
			p.say(out, accumulator.Disconnected, failed.text)
		default:
			return err
		}
		wait := time.Until(began.Add(p.cfg.Every))
		if failed != nil {
			wait = max(p.pause(rand.Float64()), failed.after)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// say tells a change of health. A lost connection tells each new reason.
func (p *poller) say(out accumulator.Out, h accumulator.Health, detail string) {
	if p.health != h || detail != "" {
		p.health = h
		out.Health(h, detail)
	}
}

// Pauses after failures: from a second, or the cadence where that is shorter, doubling up to
// a minute, or the cadence where that is longer.
const (
	minPause = time.Second
	maxPause = time.Minute
)

// pause is how long to wait after so many failures in a row, for a random number in [0, 1):
// between half and all of the backoff, so that sources that failed together spread out and
// none hurries.
func (p *poller) pause(random float64) time.Duration {
	least, most := min(minPause, p.cfg.Every), max(maxPause, p.cfg.Every)
	pause := most
	if doublings := p.failed - 1; doublings < 32 {
		pause = min(least<<doublings, most)
	}
	return pause/2 + time.Duration(random*float64(pause/2))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is a request that failed. Its text holds no URL, header or body.
type failure struct {
	text  string
	after time.Duration // what the server asked for
}

func (f *failure) Error() string { return f.text }

// answer is a document, or nothing where there was none.
type answer struct {
	body           []byte // nil: not modified, or no content
	etag, modified string
	large          bool // body is the beginning of a document over the limit
}

// ask makes one request. An error is a *failure, but for ctx's.
func (p *poller) ask(ctx context.Context) (answer, error) {
	release, err := p.cfg.Guard.Acquire(ctx)
	if err != nil {
		return answer{}, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.cfg.URL, nil)
	if err != nil {
		return answer{}, &failure{text: "the request cannot be made"}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "graphd")
	outbound.Set(req.Header, p.cfg.Headers)
	if p.etag != "" {
		req.Header.Set("If-None-Match", p.etag)
	}
	if p.modified != "" {
		req.Header.Set("If-Modified-Since", p.modified)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, p.lost(ctx, err)
	}
	defer resp.Body.Close() // it is only read
	return p.read(ctx, resp)
}

// lost is a failure without an answer, or in the middle of one.
func (p *poller) lost(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &failure{text: fmt.Sprintf("%s did not answer within %v", p.host, p.cfg.Timeout)}
	}
	return &failure{text: fmt.Sprintf("ask %s: %v", p.host, outbound.Cause(err))}
}

func (p *poller) read(ctx context.Context, resp *http.Response) (answer, error) {
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return answer{}, nil
	case resp.StatusCode == http.StatusNoContent:
		return answer{}, nil
	case resp.StatusCode != http.StatusOK:
		text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s", p.host, resp.StatusCode,
			http.StatusText(resp.StatusCode)))
		return answer{}, &failure{text: text, after: outbound.RetryAfter(resp.Header, time.Now())}
	}
	if kind := resp.Header.Get("Content-Type"); !mayBeJSON(kind) {
		return answer{}, &failure{text: fmt.Sprintf("%s answered %.100q, not JSON", p.host, kind)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(p.cfg.MaxBytes)+1))
	if err != nil {
		return answer{}, p.lost(ctx, err)
	}
	a := answer{body: body, etag: short(resp.Header.Get("ETag")), modified: short(resp.Header.Get("Last-Modified"))}
	if len(body) > p.cfg.MaxBytes {
		a.body, a.large = body[:min(len(body), shownBytes)], true
	}
	return a, nil
}

// shownBytes is how much of a document over the limit its dead letter keeps.
const shownBytes = 4 << 10

// short is a validator that is worth sending back.
func short(s string) string {
	const most = 1024 // a validator is a few dozen bytes; a longer one is not kept
	if len(s) > most {
		return ""
	}
	return s
}

// mayBeJSON reports whether a media type can hold JSON. What says nothing, or says text or
// bytes, is tried: many servers do.
func mayBeJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch kind {
	case "application/json", "text/json", "text/plain", "application/octet-stream", "application/javascript",
		"text/javascript":
		return true
	}
	return strings.HasSuffix(kind, "+json")
}

// take hands over an answer, if it is another document than the last.
func (p *poller) take(ctx context.Context, a answer, out accumulator.Out) error {
	p.number++
	if a.body == nil || len(strings.TrimSpace(string(a.body[:min(len(a.body), 64)]))) == 0 {
		return nil // nothing has changed, or there is nothing
	}
	sum := sha256.Sum256(a.body)
	digest := hex.EncodeToString(sum[:8])
	p.etag, p.modified = a.etag, a.modified
	if digest == p.digest {
		return nil
	}
	p.digest = digest
	ev := boundary.Event{
		Raw: a.body, At: time.Now(), Pos: boundary.Position{Stream: streamPrefix + digest, Offset: p.number},
	}
	if a.large {
		return out.Refuse(ctx, ev, &accumulator.BadEvent{Stage: "size", Code: "too_large",
			Text: fmt.Sprintf("the document has more than %d bytes, the limit", p.cfg.MaxBytes)})
	}
	return out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev))
}
