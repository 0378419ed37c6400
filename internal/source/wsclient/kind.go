package wsclient

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source; guard dials, and a message has at most maxBytes bytes.
func Kind(guard *outbound.Guard, maxBytes int) kind.Source[accumulator.Source] {
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		return New(Config{
			URL: c.URL, Subscribe: c.Subscribe, Ping: c.Ping, Headers: outbound.Headers(c.Headers),
			MaxBytes: maxBytes, Guard: guard.For(in.FromNetwork()),
		})
	}
	declared := decode.NewKind("websocket_client", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it: another server's WebSocket.
type Declared struct {
	URL string // a ws or wss URL; may hold a secret
	// Subscribe are the text messages sent after each connect: a text as it stands,
	// anything else as its JSON.
	Subscribe []string
	Ping      time.Duration // the pause between two pings, default 20s
	Headers   []decode.Header
}

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return outbound.HostsOf(c.URL) }

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Address("url", c.URL)
	if c.Subscribe != nil {
		messages := make([]any, len(c.Subscribe))
		for i, m := range c.Subscribe {
			messages[i] = m
		}
		t.Free("subscribe", messages)
	}
	t.Span("ping", c.Ping)
	decode.AddHeaders(t, c.Headers)
}

// Identity implements [spec.SourceConfig]. What a server sends has no positions; what was
// folded of it belongs to the server.
func (c Declared) Identity() string { return c.URL }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Outside(trait.Lost) }

const (
	defaultPing  = 20 * time.Second
	maxSubscribe = 256
)

var (
	fields = []decode.Field[Declared]{
		{Name: "url", Alone: true, Also: []string{"endpoint", "address"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.URL = d.URL(v, "ws", "wss")
			}},
		{Name: "subscribe", Read: readSubscribe},
		{Name: "ping", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.Ping) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Headers = d.Headers(v) }},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Messages of another server's WebSocket.",
		decode.Define(definitions, decode.MappingOf("source_websocket", fields, nil)))
}

func defaults() Declared { return Declared{Ping: defaultPing} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "source websocket_client", fields, c)
}

// readSubscribe reads one message, or a list of them.
func readSubscribe(d *decode.Decoder, v decode.Value, c *Declared) {
	x, ok := d.Free(v)
	if !ok {
		return
	}
	list, many := x.([]any)
	if !many {
		list = []any{x}
	}
	if len(list) > maxSubscribe {
		d.Report(v.Whole(), decode.CodeTooMany, "",
			"a source may send %d messages after it connects, this one has %d; remove some", maxSubscribe, len(list))
		return
	}
	places := []decode.Value{v}
	if many && v.IsList() {
		places = v.Items()
	}
	c.Subscribe = make([]string, 0, len(list))
	for i, item := range list {
		at := places[min(i, len(places)-1)]
		if item == nil || item == "" {
			d.Report(at.Here(), decode.CodeEmptyValue, "", "expected a message, found nothing")
			continue
		}
		text, isText := item.(string)
		if !isText {
			raw, err := json.Marshal(item)
			if err != nil {
				d.Report(at.Here(), decode.CodeWrongType, "", "this cannot be sent as JSON")
				continue
			}
			text = string(raw)
		}
		c.Subscribe = append(c.Subscribe, text)
	}
}
