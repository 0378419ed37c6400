package trace

import (
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/graphd/graphd/internal/boundary/traced"
)

// What is sent is opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest, written by hand: a few fields of
// it are used, and types of it would bring more code than there is here. The tests read it by the types.

// The kinds of spans, as the protocol numbers them.
const (
	kindInternal = 1
	kindClient   = 3
	kindProducer = 4
	kindConsumer = 5
)

// statusError is the code of a span that failed.
const statusError = 2

// attr is an attribute of a span: a text, or a number where text is "".
type attr struct {
	name, text string
	number     int64
}

// span is one that has ended.
type span struct {
	traced.Context        // of the span itself
	parent         uint64 // 0 for none
	verb, name     string // together the span's name
	kind           uint64
	start, end     time.Time
	same           []byte // attributes that are encoded already
	attrs          []attr
	links          []*traced.Links
	// failed says that it did, code why; no text of an error leaves in a trace, for it may hold what an event held.
	failed bool
	code   string
}

// scratches are where spans are written first, to learn how long they are.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// encode writes the span into a scratch, to be given back.
func (s *span) encode() *[]byte {
	scratch := scratches.Get().(*[]byte)
	body := appendBytes((*scratch)[:0], 1, s.Trace[:])
	body = appendBytes(body, 2, s.Span[:])
	if s.parent != 0 {
		id := spanID(s.parent)
		body = appendBytes(body, 4, id[:])
	}
	body = protowire.AppendTag(body, 5, protowire.BytesType)
	body = protowire.AppendVarint(body, uint64(len(s.verb)+len(s.name)))
	body = append(append(body, s.verb...), s.name...)
	body = appendVarint(body, 6, s.kind)
	body = appendFixed(body, 7, uint64(s.start.UnixNano()))
	body = appendFixed(body, 8, uint64(s.end.UnixNano()))
	body = append(body, s.same...)
	for i := range s.attrs {
		body = s.attrs[i].append(body, 9)
	}
	for _, from := range s.links {
		for l := range from.All() {
			body = protowire.AppendTag(body, 13, protowire.BytesType)
			body = protowire.AppendVarint(body, linkSize)
			body = appendBytes(appendBytes(body, 1, l.Trace[:]), 2, l.Span[:])
		}
	}
	if s.failed {
		status := appendVarint(appendText(nil, 2, s.code), 3, statusError)
		body = appendBytes(body, 15, status)
	}
	*scratch = body
	return scratch
}

// linkSize is how many bytes a link has: two fields of a byte for the tag, one for the length, and the id.
const linkSize = 2 + 16 + 2 + 8

// append appends the attribute as a member of a field.
func (a *attr) append(dst []byte, field protowire.Number) []byte {
	value := 1 + protowire.SizeVarint(uint64(a.number))
	if a.text != "" {
		value = 1 + protowire.SizeBytes(len(a.text))
	}
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(1+protowire.SizeBytes(len(a.name))+1+protowire.SizeBytes(value)))
	dst = appendText(dst, 1, a.name)
	dst = protowire.AppendTag(dst, 2, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(value))
	if a.text != "" {
		return appendText(dst, 1, a.text)
	}
	return appendVarint(dst, 3, uint64(a.number))
}

// chunk is spans as members of a ScopeSpans.
type chunk struct {
	text []byte
	n    int
}

// add appends a span.
func (c *chunk) add(span []byte) {
	c.text = appendBytes(c.text, 2, span)
	c.n++
}

// head is what stands before the spans of a request: the resource, and the scope in its ScopeSpans.
type head struct{ resource, scope []byte }

func newHead(resource []attr, version string) (h head) {
	var res []byte
	for i := range resource {
		res = resource[i].append(res, 1)
	}
	h.resource = appendBytes(nil, 1, res)
	h.scope = appendBytes(nil, 1, appendText(appendText(nil, 1, "graphd"), 2, version))
	return h
}

// begin is the beginning of a request that a chunk makes whole.
func (h *head) begin(c *chunk) []byte {
	scope := len(h.scope) + len(c.text)
	dst := protowire.AppendTag(nil, 1, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(h.resource)+1+protowire.SizeBytes(scope)))
	dst = append(dst, h.resource...)
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 2, protowire.BytesType), uint64(scope))
	return append(dst, h.scope...)
}

func appendBytes(dst []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), b)
}

func appendText(dst []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), s)
}

func appendVarint(dst []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

func appendFixed(dst []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), n)
}
