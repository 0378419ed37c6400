// Package tracetest is a collector of OpenTelemetry for tests: it takes traces over OTLP/HTTP, and reads them by the
// types of the protocol.
package tracetest

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one that was received.
type Span struct {
	*otlp.Span
	// Trace, ID and Parent are those of the span as a traceparent has them.
	Trace, ID, Parent string
	// Links are trace and span of each link, as TRACE-SPAN.
	Links []string
	// Attrs are the attributes; a number is one of int64.
	Attrs map[string]any
}

// Collector is one that listens on this machine.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	headers http.Header
	more    chan struct{} // closed and made anew when something comes
	answer  func() int
}

// Start starts a Collector, which ends with the test. answer says with which status it answers; nil takes all.
func Start(t testing.TB, answer func() int) *Collector {
	t.Helper()
	c := &Collector{more: make(chan struct{}), answer: answer}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			t.Errorf("what is no request of OTLP: %v", err)
		}
		if c.answer != nil {
			w.WriteHeader(c.answer())
		}
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

func (c *Collector) take(r *http.Request) error {
	if c.answer != nil && r.URL.Path != "/v1/traces" {
		return io.ErrUnexpectedEOF
	}
	zipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		return err
	}
	var req collector.ExportTraceServiceRequest
	if err := (proto.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(text, &req); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	for _, res := range req.ResourceSpans {
		for _, scope := range res.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, read(s))
			}
		}
	}
	close(c.more)
	c.more = make(chan struct{})
	return nil
}

func read(s *otlp.Span) Span {
	r := Span{Span: s, Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
		Parent: hex.EncodeToString(s.ParentSpanId), Attrs: map[string]any{}}
	for _, l := range s.Links {
		r.Links = append(r.Links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
	}
	for _, a := range s.Attributes {
		if text := a.Value.GetStringValue(); text != "" {
			r.Attrs[a.Key] = text
		} else {
			r.Attrs[a.Key] = a.Value.GetIntValue()
		}
	}
	return r
}

// Headers are those of the last request.
func (c *Collector) Headers() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers
}

// Spans are all that were received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}

// Await waits for a span of a name that fits, and fails the test when ctx ends before.
func (c *Collector) Await(ctx context.Context, t testing.TB, name string, fits func(*Span) bool) *Span {
	t.Helper()
	for {
		c.mu.Lock()
		all, more := c.spans, c.more
		c.mu.Unlock()
		for i := range all {
			if s := &all[i]; s.Name == name && (fits == nil || fits(s)) {
				return s
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			for i := range all {
				s := &all[i]
				t.Logf("%s %s below %s, links %v, %v", s.Name, s.ID, s.Parent, s.Links, s.Attrs)
			}
			t.Fatalf("no span %q that fits came", name)
		}
	}
}
