package spec

import (
	"encoding/json"
	"math"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Sources and sinks at the other end of a connection: HTTP, WebSocket, and other graphs.

// Header is a header field of outgoing requests. Its value may be a secret: it appears in
// no diagnostic, hash or difference.
type Header struct{ Name, Value string }

// PollSource asks a URL again and again.
type PollSource struct {
	HTTP    string        // an http or https URL; may hold a secret
	Every   time.Duration // from one request to the next
	Timeout time.Duration // of one request, default 10s
	Headers []Header      // in the document's order
}

// WebSocketSource connects to another server's WebSocket.
type WebSocketSource struct {
	URL string // a ws or wss URL; may hold a secret
	// Subscribe are the text messages sent after each connect: a text as it stands,
	// anything else as its JSON.
	Subscribe []string
	Ping      time.Duration // the pause between two pings, default 20s
	Headers   []Header
}

// GraphSource takes an output of another graph of the daemon.
type GraphSource struct{ Name, Output string }

// HTTPSink sends each value as one request.
type HTTPSink struct {
	URL     string // an http or https URL; may hold a secret
	Method  string // "POST" (default), "PUT" or "PATCH"
	Headers []Header
}

// GraphSink hands each value to an accumulator of another graph of the daemon.
type GraphSink struct{ Name, Accumulator string }

// Retry says how a delivery that failed is tried again: after Base, doubling up to Max, with
// full jitter, so that each pause is a random part of that.
type Retry struct {
	Attempts int           // tries of one message after the first; 0: without end
	Base     time.Duration // default 50ms
	Max      time.Duration // default 10s
}

// defaultRetry is what an output does that says nothing of it.
func defaultRetry() Retry { return Retry{Base: 50 * time.Millisecond, Max: 10 * time.Second} }

// Bounds and defaults of what calls out.
const (
	defaultCallTimeout = 10 * time.Second
	defaultPing        = 20 * time.Second
	minPoll            = 10 * time.Millisecond // more often is a slip of the unit, and an attack
	maxHeaders         = 64
	maxSubscribe       = 256
)

var (
	pollFields = []field[PollSource]{
		{name: "http", need: true, read: func(d *decoder, v value, p *PollSource) { p.HTTP = d.url(v, "http", "https") }},
		{name: "sql"},
		{name: "every", need: true, read: func(d *decoder, v value, p *PollSource) {
			if d.duration(v, 1, &p.Every); p.Every > 0 && p.Every < minPoll {
				d.report(v.node, v.at, CodeOutOfRange, "", "%s is too short; give a duration of %s or more", document.Subject(v.node), minPoll)
			}
		}},
		{name: "timeout", read: func(d *decoder, v value, p *PollSource) { d.duration(v, 1, &p.Timeout) }},
		{name: "headers", read: func(d *decoder, v value, p *PollSource) { p.Headers = d.headers(v) }},
	}
	webSocketFields = []field[WebSocketSource]{
		{name: "url", need: true, read: func(d *decoder, v value, w *WebSocketSource) { w.URL = d.url(v, "ws", "wss") }},
		{name: "subscribe", read: readSubscribe},
		{name: "ping", read: func(d *decoder, v value, w *WebSocketSource) { d.duration(v, 1, &w.Ping) }},
		{name: "headers", read: func(d *decoder, v value, w *WebSocketSource) { w.Headers = d.headers(v) }},
	}
	graphSourceFields = []field[GraphSource]{
		{name: "name", need: true, read: func(d *decoder, v value, s *GraphSource) { s.Name = d.nameText(v, "graph") }},
		{name: "output", need: true, read: func(d *decoder, v value, s *GraphSource) { s.Output = d.nameText(v, "output") }},
	}
	httpMethods    = choice{built: []string{"POST", "PUT", "PATCH"}}
	httpSinkFields = []field[HTTPSink]{
		{name: "url", need: true, read: func(d *decoder, v value, h *HTTPSink) { h.URL = d.url(v, "http", "https") }},
		{name: "method", read: func(d *decoder, v value, h *HTTPSink) { d.pick(v, httpMethods, &h.Method) }},
		{name: "headers", read: func(d *decoder, v value, h *HTTPSink) { h.Headers = d.headers(v) }},
	}
	graphSinkFields = []field[GraphSink]{
		{name: "name", need: true, read: func(d *decoder, v value, s *GraphSink) { s.Name = d.nameText(v, "graph") }},
		{name: "accumulator", need: true, read: func(d *decoder, v value, s *GraphSink) { s.Accumulator = d.nameText(v, "accumulator") }},
	}
	retryFields = []field[Retry]{
		{name: "attempts", read: func(d *decoder, v value, r *Retry) { d.count(v, 1, math.MaxInt32, &r.Attempts) }},
		{name: "base", read: func(d *decoder, v value, r *Retry) { d.duration(v, 1, &r.Base) }},
		{name: "max", read: func(d *decoder, v value, r *Retry) { d.duration(v, 1, &r.Max) }},
	}
)

func readPoll(d *decoder, v value, s *Source) {
	s.Poll.Timeout = defaultCallTimeout
	readObject(d, v, "source poll", pollFields, &s.Poll)
}

func readWebSocketSource(d *decoder, v value, s *Source) {
	s.WebSocket.Ping = defaultPing
	readObject(d, v, "source websocket_client", webSocketFields, &s.WebSocket)
}

func readGraphSource(d *decoder, v value, s *Source) {
	readObject(d, v, "source graph", graphSourceFields, &s.Graph)
}

func readHTTPSink(d *decoder, v value, s *Sink) {
	s.HTTP.Method = httpMethods.built[0]
	readObject(d, v, "sink http", httpSinkFields, &s.HTTP)
}

func readGraphSink(d *decoder, v value, s *Sink) {
	readObject(d, v, "sink graph", graphSinkFields, &s.Graph)
}

func readRetry(d *decoder, v value, o *Output) {
	got, ok := readObject(d, v, "retry", retryFields, &o.Retry)
	if base := got["base"]; ok && o.Retry.Max < o.Retry.Base {
		if base.node == nil {
			base = got["max"]
		}
		d.report(base.node, base.at, CodeConflict, "", "the first pause, %s, is longer than the longest, %s; correct base or max", o.Retry.Base, o.Retry.Max)
	}
}

// checkDelivery checks that what an output says of its delivery fits its sink.
func (d *decoder) checkDelivery(o *Output, got given) {
	calls := slices.Contains([]string{"http", "kafka", "postgres", "go"}, o.Sink.Kind)
	if v, ok := got["timeout"]; ok && o.Sink.Kind != "" && !calls {
		d.report(v.key, v.at, CodeConflict, "", "the sink %s calls nothing that could time out; remove timeout", o.Sink.Kind)
	}
	if v, ok := got["retry"]; ok && (o.Sink.Kind == "drop" || o.Sink.Kind == "websocket") {
		d.report(v.key, v.at, CodeConflict, "", "the sink %s delivers nothing that could be tried again; remove retry", o.Sink.Kind)
	}
	if v, ok := got["retry"]; ok && o.Retry.Attempts > 0 && o.OnError != "dead_letter" {
		d.report(v.key, v.at, CodeConflict, "", "after so many attempts the value has to go somewhere; add on_error: dead_letter, or remove attempts")
	}
}

// nameText reads the name of something in another declaration.
func (d *decoder) nameText(v value, what string) string {
	s, ok := d.text(v, "the name of "+article(what))
	if ok && !validName.MatchString(s) {
		d.report(v.node, v.at, CodeBadName, "", "%s cannot be the name of %s: a name has lower-case letters, digits and _, starting with a letter", document.Quote(v.node.Value), article(what))
		return ""
	}
	return s
}

// url reads a URL with one of two schemes. Its text may be a secret and is never shown.
func (d *decoder) url(v value, schemes ...string) string {
	want := "a URL such as " + schemes[0] + "://host/path"
	s, ok := d.text(v, want)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		d.report(v.node, v.at, CodeBadValue, "", "expected %s or %s://…, found %s", want, schemes[1], document.Describe(v.node))
		return ""
	}
	return s
}

// setByTransport are the header fields that belong to the connection.
var setByTransport = []string{"Connection", "Content-Length", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// headers reads header fields by name. Values may be secrets and are never shown.
func (d *decoder) headers(v value) []Header {
	if !d.mapping(v, "a mapping from header names to texts") {
		return nil
	}
	pairs := d.pairs(v, func(string) bool { return true })
	if len(pairs) > maxHeaders {
		d.report(v.anchor(), v.at, CodeTooMany, "", "a request may have %d header fields, this one has %d; remove some", maxHeaders, len(pairs))
		return nil
	}
	list := make([]Header, 0, len(pairs))
	for _, p := range pairs {
		name := p.key.Value
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name) || len(name) > 64:
			d.report(p.key, p.at, CodeBadName, "", "%s cannot be the name of a header field: letters, digits and - up to 64", document.Quote(name))
		case slices.Contains(setByTransport, canonical) || strings.HasPrefix(canonical, "Sec-Websocket-") || strings.HasPrefix(canonical, "Graphd-"):
			d.report(p.key, p.at, CodeBadValue, "", "the header field %s is set by the daemon; remove it", document.Quote(name))
		case slices.ContainsFunc(list, func(h Header) bool { return textproto.CanonicalMIMEHeaderKey(h.Name) == canonical }):
			d.report(p.key, p.at, CodeDuplicateEntry, "", "the header field %s is given twice, whatever its capitals; remove one", document.Quote(name))
		default:
			text, ok := d.text(p.value, "the value of a header field")
			if ok && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				d.report(p.node, p.at, CodeBadValue, "", "the value of a header field is one line of text; this one holds a line end or another control character")
			} else if ok {
				list = append(list, Header{name, text})
			}
		}
	}
	return list
}

// isToken reports whether a text can be the name of a header field.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// readSubscribe reads one message, or a list of them.
func readSubscribe(d *decoder, v value, w *WebSocketSource) {
	x, ok := d.free(v)
	if !ok {
		return
	}
	list, many := x.([]any)
	if !many {
		list = []any{x}
	}
	if len(list) > maxSubscribe {
		d.report(v.anchor(), v.at, CodeTooMany, "", "a source may send %d messages after it connects, this one has %d; remove some", maxSubscribe, len(list))
		return
	}
	w.Subscribe = make([]string, 0, len(list))
	for i, item := range list {
		at := v
		if many && v.node.Kind == yaml.SequenceNode {
			at = v.item(i)
		}
		if item == nil || item == "" {
			d.report(at.node, at.at, CodeEmptyValue, "", "expected a message, found nothing")
			continue
		}
		text, isText := item.(string)
		if !isText {
			raw, err := json.Marshal(item)
			if err != nil {
				d.report(at.node, at.at, CodeWrongType, "", "this cannot be sent as JSON")
				continue
			}
			text = string(raw)
		}
		w.Subscribe = append(w.Subscribe, text)
	}
}

// checkFeeds checks that a graph does not feed itself. What other graphs do is the
// engine's to see.
func (d *decoder) checkFeeds(g *Graph) {
	const text = "the graph %s feeds itself; graphs that feed each other form no cycle"
	for i := range g.Accumulators {
		if a := &g.Accumulators[i]; a.Source.Kind == "graph" && a.Source.Graph.Name == g.Name && g.Name != "" {
			d.reportAt(a.Source.Pos, CodeGraphCycle, "", text, document.Quote(g.Name))
		}
	}
	for i := range g.Outputs {
		if o := &g.Outputs[i]; o.Sink.Kind == "graph" && o.Sink.Graph.Name == g.Name && g.Name != "" {
			d.reportAt(o.Sink.Pos, CodeGraphCycle, "", text, document.Quote(g.Name))
		}
	}
}
