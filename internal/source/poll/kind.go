package poll

import (
	_ "embed"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Kind describes the source; guard dials, and an answer has at most maxBytes bytes.
func Kind(guard *outbound.Guard, maxBytes int) kind.Source[accumulator.Source] {
	open := func(c Declared, _ kind.Input) (accumulator.Source, error) {
		return New(Config{
			URL: c.HTTP, Every: c.Every, Timeout: c.Timeout, Headers: outbound.Headers(c.Headers),
			MaxBytes: maxBytes, Guard: guard,
		})
	}
	declared := decode.NewKind("poll", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it: a URL, asked again and again.
type Declared struct {
	HTTP    string          // an http or https URL; may hold a secret
	Every   time.Duration   // from one request to the next
	Timeout time.Duration   // of one request, default 10s
	Headers []decode.Header // in the document's order
}

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("http", c.HTTP)
	t.Span("every", c.Every)
	t.Span("timeout", c.Timeout)
	decode.AddHeaders(t, c.Headers)
}

// Identity implements [spec.SourceConfig]. A position is the digest of what the URL answered.
func (c Declared) Identity() string { return c.HTTP }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() spec.Origin { return spec.Outside(spec.Anew) }

const (
	defaultTimeout = 10 * time.Second
	minEvery       = 10 * time.Millisecond // more often is a slip of the unit, and an attack
)

var (
	fields = []decode.Field[Declared]{
		{Name: "http", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.HTTP = d.URL(v, "http", "https")
		}},
		{Name: "sql"},
		{Name: "every", Need: true, Read: readEvery},
		{Name: "timeout", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.Timeout) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Headers = d.Headers(v) }},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("A URL, asked again and again.",
		decode.Define(definitions, decode.MappingOf("source_poll", fields, nil)))
}

func defaults() Declared { return Declared{Timeout: defaultTimeout} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "source poll", fields, c)
}

func readEvery(d *decode.Decoder, v decode.Value, c *Declared) {
	if d.Duration(v, 1, &c.Every); c.Every > 0 && c.Every < minEvery {
		d.Report(v.Here(), decode.CodeOutOfRange, "",
			"%s is too short; give a duration of %s or more", v.Subject(), minEvery)
	}
}
