package webhook

import (
	_ "embed"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink; guard dials.
func Kind(guard *outbound.Guard) kind.Sink[sink.Sink] {
	open := func(c Declared, out kind.Output) (sink.Sink, error) {
		key, err := sink.CompileOption(c.Key, out.Vars)
		if err != nil {
			return nil, err
		}
		return New(Config{
			URL: c.URL, Method: c.Method, Headers: outbound.Headers(c.Headers), Timeout: out.Timeout,
			Concurrency: c.Concurrency, Key: key, Guard: guard.For(out.FromNetwork()),
		})
	}
	declared := decode.NewKind("http", schema(), defaults, readDeclared)
	return kind.NewSink(declared, Declared.check, kind.NothingOutside, open)
}

// Declared is the sink as a declaration describes it: each value is one request.
type Declared struct {
	URL     string // an http or https URL; may hold a secret
	Method  string // "POST" (default), "PUT" or "PATCH"
	Headers []decode.Header
	// Concurrency is how many requests may be out at once; Key, over sink.Scope, is what then has its order.
	Concurrency int
	Key         spec.Expr
}

// check compiles the key.
func (c Declared) check(out kind.Output) spec.Diagnostics { return sink.CheckOption(c.Key, out) }

// Lanes implements [kind.Lanes].
func (c Declared) Lanes() (most int, keyed bool) { return c.Concurrency, !c.Key.IsZero() }

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return outbound.HostsOf(c.URL) }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Address("url", c.URL)
	t.Text("method", c.Method)
	decode.AddHeaders(t, c.Headers)
	if c.Concurrency > 1 {
		t.Number("concurrency", int64(c.Concurrency))
	}
	t.Expr("key", c.Key.Text)
}

// Target implements [spec.SinkConfig].
func (c Declared) Target() trait.Target { return trait.Called(trait.MayOutbox, "") }

// mostConcurrency is as many calls as a daemon has on the way at once where nothing else is said.
const mostConcurrency = outbound.DefaultMaxCalls

var (
	methods = decode.Words("POST", "PUT", "PATCH")

	fields = []decode.Field[Declared]{
		{Name: "url", Alone: true, Also: []string{"endpoint", "address"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.URL = d.URL(v, "http", "https")
			}},
		{Name: "method", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, methods, &c.Method) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Headers = d.Headers(v) }},
		{Name: "concurrency", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostConcurrency, &c.Concurrency)
		}},
		{Name: "key", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Expr(v) }},
		{Name: "retry", Beside: true, Also: []string{"retries"}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	own := decode.MappingOf("sink_http", fields, decode.Choices{"method": methods})
	return decode.NewSchema("A request to a URL for each value.", decode.Define(definitions, own))
}

func defaults() Declared { return Declared{Method: methods.Default(), Concurrency: 1} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, _ := decode.Object(d, v, "sink http", fields, c)
	_, several := got["concurrency"]
	if key, keyed := got["key"]; keyed && !several {
		d.Report(key.Name(), decode.CodeConflict, "",
			"the requests go one at a time and are in order anyway; add concurrency, or remove key")
	}
}
