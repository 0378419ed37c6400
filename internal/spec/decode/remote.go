package decode

import (
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// What names something outside of the declaration: other graphs, URLs, header fields.

// Header is a header field of outgoing requests. Its value may be a secret: it appears in
// no diagnostic, hash or difference.
type Header struct{ Name, Value string }

// maxHeaders bounds the header fields of one request.
const maxHeaders = 64

// AddHeaders adds header fields to what a configuration means, and no value of theirs.
func AddHeaders(t *meaning.Tree, headers []Header) {
	if len(headers) == 0 {
		return
	}
	b := t.Branch("headers")
	byName := func(a, b Header) int { return strings.Compare(a.Name, b.Name) }
	for _, h := range slices.SortedFunc(slices.Values(headers), byName) {
		b.Secret(h.Name, h.Value)
	}
}

// NameOf reads the name of something in another declaration.
func (d *Decoder) NameOf(v Value, what string) string {
	s, ok := d.Text(v, "the name of "+Article(what))
	if ok && !ValidName(s) {
		d.Report(v.Here(), CodeBadName, "",
			"%s cannot be the name of %s: a name has lower-case letters, digits and _, starting with a letter",
			document.Quote(v.node.Value), Article(what))
		return ""
	}
	return s
}

// PartOfGraph are the two fields that name a part of another graph, an output or an accumulator:
// of says where the name of the graph and that of the part go.
func PartOfGraph[T any](part string, of func(to *T) (graph, part *string)) []Field[T] {
	return []Field[T]{
		{Name: "name", Alone: true, Also: []string{"graph"}, Need: true, Read: func(d *Decoder, v Value, to *T) {
			graph, _ := of(to)
			*graph = d.NameOf(v, "graph")
		}},
		{Name: part, Need: true, Read: func(d *Decoder, v Value, to *T) {
			_, name := of(to)
			*name = d.NameOf(v, part)
		}},
	}
}

// URL reads a URL with one of two schemes. Its text may be a secret and is never shown.
func (d *Decoder) URL(v Value, schemes ...string) string {
	want := "a URL such as " + schemes[0] + "://host/path"
	s, ok := d.Text(v, want)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		d.Report(v.Here(), CodeBadValue, "",
			"expected %s or %s://…, found %s", want, schemes[1], document.Describe(v.node))
		return ""
	}
	return s
}

// setByTransport are the header fields that belong to the connection.
var setByTransport = []string{
	"Connection", "Content-Length", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// setByDaemon reports whether a header field, in its canonical form, is not the user's to set.
func setByDaemon(name string) bool {
	return slices.Contains(setByTransport, name) ||
		strings.HasPrefix(name, "Sec-Websocket-") || strings.HasPrefix(name, "Graphd-")
}

// Headers reads header fields of requests by name. Values may be secrets and are never shown.
func (d *Decoder) Headers(v Value) []Header { return d.headers(v, Value.Secret) }

// RecordHeaders reads header fields of what is written for others to read: no secrets.
func (d *Decoder) RecordHeaders(v Value) []Header {
	return d.headers(v, func(v Value) Value { return v })
}

func (d *Decoder) headers(v Value, as func(Value) Value) []Header {
	if !d.Mapping(v, "a mapping from header names to texts") {
		return nil
	}
	pairs := d.Pairs(v, true)
	if len(pairs) > maxHeaders {
		d.Report(v.Whole(), CodeTooMany, "",
			"a request may have %d header fields, this one has %d; remove some", maxHeaders, len(pairs))
		return nil
	}
	list := make([]Header, 0, len(pairs))
	for _, p := range pairs {
		name := p.key.Value
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		same := func(h Header) bool { return textproto.CanonicalMIMEHeaderKey(h.Name) == canonical }
		switch {
		case !isToken(name) || len(name) > 64:
			d.Report(p.Name(), CodeBadName, "",
				"%s cannot be the name of a header field: letters, digits and - up to 64", document.Quote(name))
		case setByDaemon(canonical):
			d.Report(p.Name(), CodeBadValue, "",
				"the header field %s is set by the daemon; remove it", document.Quote(name))
		case slices.ContainsFunc(list, same):
			d.Report(p.Name(), CodeDuplicateEntry, "",
				"the header field %s is given twice, whatever its capitals; remove one", document.Quote(name))
		default:
			text, ok := d.Text(as(p.Value), "the value of a header field")
			if ok && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				d.Report(p.Here(), CodeBadValue, "",
					"the value of a header field is one line of text; "+
						"this one holds a line end or another control character")
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

// OneOrMore is the items of a list, or the one value itself.
func (d *Decoder) OneOrMore(v Value, most int, what string) []Value {
	if v.node.Kind != yaml.SequenceNode || d.doc.Unreadable(v.node) != "" {
		return []Value{v}
	}
	n := len(v.node.Content)
	if n == 0 {
		d.Report(v.Here(), CodeEmptyValue, "",
			"expected %s, found an empty list; name at least one, or remove it", what)
		return nil
	}
	if n > most {
		d.Report(v.Here(), CodeTooMany, "", "the list has %d entries, more than the %d allowed; shorten it", n, most)
		return nil
	}
	return v.Items()
}
