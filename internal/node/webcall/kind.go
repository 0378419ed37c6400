// Package webcall is the node http: it calls a URL, and its value is the answer.
//
// What it asks for is made of the values that it reads and of nothing else: a path and a query behind the declared
// URL, and a body. The host is the declared one, whatever the values are. The node itself calls nobody (see
// [kind.Caller]); the calls are made by a [client], through the guard of outgoing connections.
//
// An answer of 2xx, or of a status that `accept` lists, is the node's value: JSON decoded, other text as a string,
// nothing as null; with `answer: full` an object of status and body. Any other answer is the node's error. 408, 425,
// 429, 5xx, no answer within `timeout` and a lost connection are tried again as `retry` says, no sooner than
// Retry-After asks for.
//
// No error of this package holds the URL, a header or a body: there may be secrets in them. One about an answer that
// is not what its schema says may hold what is wrong in it.
//
// # Concurrency
//
// A client is safe for concurrent use, and starts no goroutine but those of net/http, which Close ends.
package webcall

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/eventschema"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

const (
	defaultTimeout     = 5 * time.Second
	defaultConcurrency = 16
	defaultMaxAnswer   = 1 << 20
	mostAnswer         = 16 << 20
	mostConcurrency    = outbound.DefaultMaxCalls
	mostCached         = 1_000_000
)

// Kind describes the node; guard dials, and strictly where a declaration came over the network.
func Kind(guard *outbound.Guard, network bool) kind.Node {
	about := decode.NewSchema("A call of a URL; the value is the answer.", decode.Define(definitions,
		decode.MappingOf("node_http", fields, decode.Choices{"answer": answers}),
		decode.MappingOf("node_http_cache", cacheFields, nil),
		decode.MappingOf("node_http_breaker", breakerFields, nil)))
	declared := decode.NewKind("http", about, defaults, readDeclared)
	compile := func(c Declared, parts kind.Parts) kind.Evaluator {
		return newCall(c, parts, guard.For(network && parts.File == ""))
	}
	return kind.NewNode(declared, check, remarks, result, compile)
}

// check says what is wrong with the schema of the answers.
func check(c Declared, at kind.Place) spec.Diagnostics {
	if _, err := c.schema(); err != nil {
		return at.Mistake("schema_invalid", err.Error())
	}
	return nil
}

// schema is that of the answers, nil for none.
func (c Declared) schema() (*eventschema.Schema, error) {
	if c.Schema == nil {
		return nil, nil
	}
	return eventschema.Compile(c.Schema, "the answer")
}

// result is the type of the node's value.
func result(c Declared, _ []*expression.Program) expression.Type {
	body := expression.Any()
	if c.Schema != nil {
		body = expression.FromSchema(c.Schema)
	}
	if c.Answer == "body" {
		return body
	}
	fields := map[string]expression.Type{"status": expression.Of(boundary.KindInt), "body": body}
	return expression.ObjectOf(fields, false)
}

// Declared is the node as a declaration describes it.
type Declared struct {
	URL     string // http or https; may hold a secret
	Method  string // "" is POST with a body, and GET without
	Headers []decode.Header
	// Path is a segment behind the URL's path, or a list of them; Query are parameters; Body is sent as JSON.
	Path  spec.Expr
	Query []spec.Field
	Body  spec.Expr
	// Timeout bounds one try, Concurrency how many calls may be on their way, MaxAnswer an answer's body.
	Timeout     time.Duration
	Concurrency int
	MaxAnswer   int64
	Accept      []int  // statuses beside 2xx that are answers
	Answer      string // "body" (default) or "full"
	Schema      any    // JSON Schema of an answer's body; nil for none
	Safe        *bool  // being asked changes nothing there; nil: it does not with GET
	Cache       Cache
	Breaker     Breaker
}

// Cache says which answers are remembered. None are without a Key.
type Cache struct {
	Key spec.Expr
	TTL time.Duration // of engine time
	Max int           // answers
}

// Breaker says when no calls are made for a while. 0 failures is never.
type Breaker struct {
	Failures int // in a row
	Open     time.Duration
}

func defaults() Declared {
	return Declared{
		Timeout: defaultTimeout, Concurrency: defaultConcurrency, MaxAnswer: defaultMaxAnswer,
		Answer: answers.Default(),
	}
}

var (
	methods = decode.Choice{Words: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}}
	answers = decode.Words("body", "full")

	fields = []decode.Field[Declared]{
		{Name: "url", Alone: true, Also: []string{"endpoint", "address"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				if c.URL = d.URL(v, "http", "https"); strings.ContainsAny(c.URL, "{}") {
					d.Report(v.Here(), decode.CodeBadValue, "", "braces in a url stand for nothing, for it is "+
						"the same in every call; give what differs as path or query, as in path: '[\"users\", a.id]'")
				}
			}},
		{Name: "method", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, methods, &c.Method) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Headers = d.Headers(v) }},
		{Name: "path", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Path = d.Expr(v) }},
		{Name: "query", Also: []string{"params"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if d.Mapping(v, "a mapping from names of parameters to expressions") {
				c.Query = d.Expressions(v, "")
			}
		}},
		{Name: "body", Also: []string{"json", "data"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Body = d.Expr(v) }},
		{Name: "timeout", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.Timeout) }},
		{Name: "concurrency", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostConcurrency, &c.Concurrency)
		}},
		{Name: "max_answer", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Bytes(v, 1, mostAnswer, &c.MaxAnswer)
		}},
		{Name: "accept", Read: readAccept},
		{Name: "answer", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, answers, &c.Answer) }},
		{Name: "schema", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if d.Mapping(v, "a JSON Schema, as a mapping") {
				c.Schema, _ = d.Free(v)
			}
		}},
		{Name: "safe", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Safe = new(bool)
			d.Bool(v, c.Safe)
		}},
		{Name: "cache", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Cache.Max = 10_000
			decode.Object(d, v, "cache", cacheFields, &c.Cache)
		}},
		{Name: "breaker", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Breaker = Breaker{Failures: 5, Open: 10 * time.Second}
			decode.Object(d, v, "breaker", breakerFields, &c.Breaker)
		}},
		{Name: "retry", Beside: true, Also: []string{"retries"}},
	}
	cacheFields = []decode.Field[Cache]{
		{Name: "key", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Cache) { c.Key = d.Expr(v) }},
		{Name: "ttl", Alone: true, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Cache) { d.Duration(v, 1, &c.TTL) }},
		{Name: "max", Read: func(d *decode.Decoder, v decode.Value, c *Cache) { d.Count(v, 1, mostCached, &c.Max) }},
	}
	breakerFields = []decode.Field[Breaker]{
		{Name: "failures", Alone: true, Read: func(d *decode.Decoder, v decode.Value, b *Breaker) {
			d.Count(v, 1, 1_000_000, &b.Failures)
		}},
		{Name: "open", Read: func(d *decode.Decoder, v decode.Value, b *Breaker) { d.Duration(v, 1, &b.Open) }},
	}

	//go:embed schema.json
	definitions string
)

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "node http", fields, c)
}

func readAccept(d *decode.Decoder, v decode.Value, c *Declared) {
	for _, item := range d.OneOrMore(v, 32, "a status such as 404") {
		n, ok := d.Integer(item, 100, 599)
		switch {
		case !ok:
		case slices.Contains(c.Accept, int(n)):
			d.Report(item.Here(), decode.CodeDuplicateEntry, "", "%d is listed twice; remove one", n)
		default:
			c.Accept = append(c.Accept, int(n))
		}
	}
}

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return outbound.HostsOf(c.URL) }

// CallsOut implements [spec.CallingNode].
func (c Declared) CallsOut() {}

// Canonical implements [spec.NodeConfig].
func (c Declared) Canonical(t *meaning.Tree, name string) {
	t = t.Branch(name)
	t.Address("url", c.URL)
	if c.Method != "" {
		t.Text("method", c.Method)
	}
	decode.AddHeaders(t, c.Headers)
	t.Expr("path", c.Path.Text)
	if len(c.Query) > 0 {
		b := t.List("query")
		for _, q := range c.Query {
			b.Leaf(q.Name, q.Expr.Text)
		}
	}
	t.Expr("body", c.Body.Text)
	t.Span("timeout", c.Timeout)
	t.Number("concurrency", int64(c.Concurrency))
	t.Number("max_answer", c.MaxAnswer)
	for i, status := range c.Accept {
		t.Number("accept["+strconv.Itoa(i)+"]", int64(status))
	}
	t.Text("answer", c.Answer)
	if c.Schema != nil {
		t.Free("schema", c.Schema)
	}
	if c.Safe != nil {
		t.Flag("safe", *c.Safe)
	}
	if c.Cache != (Cache{}) {
		b := t.Branch("cache")
		b.Expr("key", c.Cache.Key.Text)
		b.Span("ttl", c.Cache.TTL)
		b.Number("max", int64(c.Cache.Max))
	}
	if c.Breaker != (Breaker{}) {
		b := t.Branch("breaker")
		b.Number("failures", int64(c.Breaker.Failures))
		b.Span("open", c.Breaker.Open)
	}
}

// Identity implements [spec.NodeConfig]: what makes another value of the same answers.
func (c Declared) Identity() string {
	schema := ""
	if c.Schema != nil {
		text, err := json.Marshal(c.Schema)
		if err != nil {
			return "" // it is no JSON, and refused by the check
		}
		schema = " " + string(text)
	}
	return fmt.Sprintf("%s %s %v%s", c.URL, c.Answer, c.Accept, schema)
}

// The terms of a node, behind which its query has one for each parameter.
const (
	termPath  = "path"
	termBody  = "body"
	termCache = "cache.key"
)

// Reads implements [spec.NodeConfig].
func (c Declared) Reads() spec.Reads {
	var terms []spec.Term
	for _, t := range []spec.Term{{Name: termPath, Expr: c.Path}, {Name: termBody, Expr: c.Body},
		{Name: termCache, Expr: c.Cache.Key}} {
		if !t.Expr.IsZero() {
			terms = append(terms, t)
		}
	}
	for _, q := range c.Query {
		terms = append(terms, spec.Term{Name: "query." + q.Name, Expr: q.Expr})
	}
	return spec.ByTerms(terms...)
}

// Routes implements [spec.NodeConfig].
func (c Declared) Routes() []string { return nil }

// CodeConstantCall is a node that asks for the same whatever it reads.
const CodeConstantCall = "constant_call"

// remarks finds calls that are hardly meant.
func remarks(c Declared, at kind.Place) spec.Diagnostics {
	if len(c.Reads().Terms()) > 0 {
		return nil
	}
	return at.Mistake(CodeConstantCall, "the call reads nothing, so it is made once and never again: say by path, "+
		"query or body what it asks for, or have the source poll bring in what changes with time")
}
