package poll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	return (&pacer{every: s.cfg.Every}).run(ctx, out, p.once)
}

// poller is one run of a Source.
type poller struct {
	*Source
	client *http.Client

	number int64  // of the last request that was answered
	digest string // of the last answer that held a document; "" before the first

	// What the last such answer came with, for conditional requests.
	etag, modified string
}

// once makes one request and hands over what it answered.
func (p *poller) once(ctx context.Context, out accumulator.Out) error {
	a, err := p.ask(ctx)
	if err != nil {
		return err
	}
	return p.take(ctx, a, out)
}

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
