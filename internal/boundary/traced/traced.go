// Package traced says which spans of distributed traces an event comes from: a [Context] is one of them, as the header
// traceparent of the W3C names it, and [Links] are those of the events that were folded into a boundary.
package traced

import (
	"context"
	"encoding/hex"
	"iter"
)

// Context names a span. The zero Context names none.
type Context struct {
	Trace [16]byte
	Span  [8]byte
	// Sampled says that whoever made the span has it recorded.
	Sampled bool
}

// headerLen is how long a traceparent of version 00 is: 00-TRACE-SPAN-FLAGS.
const headerLen = 2 + 1 + 32 + 1 + 16 + 1 + 2

// Parse reads a traceparent. One of a later version is read as far as this one goes.
func Parse(header string) (c Context, ok bool) {
	if len(header) < headerLen || header[2] != '-' || header[35] != '-' || header[52] != '-' {
		return Context{}, false
	}
	var version, flags [1]byte
	for _, field := range []struct {
		dst  []byte
		text string
	}{{version[:], header[:2]}, {c.Trace[:], header[3:35]}, {c.Span[:], header[36:52]}, {flags[:], header[53:55]}} {
		for i := range len(field.text) { // capitals are against the form
			if b := field.text[i]; b >= 'A' && b <= 'F' {
				return Context{}, false
			}
		}
		if _, err := hex.Decode(field.dst, []byte(field.text)); err != nil {
			return Context{}, false
		}
	}
	c.Sampled = flags[0]&1 != 0
	whole := len(header) == headerLen || version[0] != 0 && header[headerLen] == '-'
	if !whole || version[0] == 0xff || c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return Context{}, false
	}
	return c, true
}

// String is the traceparent.
func (c *Context) String() string {
	var b [headerLen]byte
	copy(b[:], "00-")
	hex.Encode(b[3:], c.Trace[:])
	b[35] = '-'
	hex.Encode(b[36:], c.Span[:])
	copy(b[52:], "-00")
	if c.Sampled {
		b[54] = '1'
	}
	return string(b[:])
}

// Max is how many links are kept together; what is more is left out.
const Max = 32

// Links are the spans that events come from, the newest first. They are immutable; nil are none.
type Links struct {
	Context
	// Own says that the span is of a graph of this daemon, whose decision to record holds on.
	Own  bool
	n    int
	next *Links
}

// From is the one link to c.
func From(c Context, own bool) *Links { return &Links{Context: c, Own: own, n: 1} }

// FromHeader is the link that a traceparent names; nil where it names none.
func FromHeader(header string) *Links {
	if c, ok := Parse(header); ok {
		return From(c, false)
	}
	return nil
}

// Taking says whether events are asked where they come from.
type Taking bool

// From is the link that headers with the names of the W3C name.
func (t Taking) From(headers map[string]string) *Links {
	if !t {
		return nil
	}
	return FromHeader(headers["traceparent"])
}

// Join are the links of both, as many as there may be.
func (l *Links) Join(more *Links) *Links {
	if more == nil { // as all are where nothing is traced
		return l
	}
	return l.join(more)
}

func (l *Links) join(more *Links) *Links {
	if l == nil {
		return more
	}
	for c := more; c != nil && l.n < Max; c = c.next {
		l = &Links{Context: c.Context, Own: c.Own, n: l.n + 1, next: l}
	}
	return l
}

// All are the links.
func (l *Links) All() iter.Seq[*Links] {
	return func(yield func(*Links) bool) {
		for c := l; c != nil && yield(c); c = c.next {
		}
	}
}

type key struct{}

// With is ctx, of a request that comes from a span.
func With(ctx context.Context, l *Links) context.Context {
	if l == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, l)
}

// Of is where the request of ctx comes from; nil where nobody has said so.
func Of(ctx context.Context) *Links {
	l, _ := ctx.Value(key{}).(*Links)
	return l
}
