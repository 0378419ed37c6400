package webcall

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/eventschema"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec"
)

// The codes of what a node fails with. What was answered that is no answer is "http_" and its status.
const (
	CodeTimeout   = "call_timeout"
	CodeFailed    = "call_failed"
	CodeDenied    = "call_denied"
	CodeOpen      = "circuit_open"
	CodeTooLarge  = "answer_too_large"
	CodeNotText   = "answer_unreadable"
	CodeInvalid   = "answer_invalid" // it is not what its schema says
	CodeBadTarget = "bad_request_target"
	CodeNoCalls   = "no_calls"  // in a run that calls nobody
	CodeNoAnswer  = "no_answer" // in a test that does not say what is answered
)

// Failures are the codes of what can become of a call, as a test gives them.
var Failures = []string{
	CodeTimeout, CodeFailed, CodeDenied, CodeOpen, CodeTooLarge, CodeNotText, CodeInvalid, CodeBadTarget,
}

// call evaluates a node.
type call struct {
	cfg      Declared
	retry    spec.Retry
	patient  bool // it waits for its breaker
	guard    *outbound.Guard
	base     *url.URL
	schema   *eventschema.Schema // of an answer's body; nil for none
	programs []*expression.Program
	ends     []int // by program, where its part of the node's memories ends; nil when none remembers anything
	// The places of the terms in programs; -1 for none.
	path, body, cache, query int
}

var _ kind.Caller = (*call)(nil)

func newCall(c Declared, parts kind.Parts, guard *outbound.Guard) *call {
	e := &call{cfg: c, retry: parts.Retry, guard: guard, programs: parts.Programs, path: -1, body: -1,
		cache: -1}
	e.patient = parts.Retry != (spec.Retry{}) && !parts.GoesOn
	e.base, _ = url.Parse(c.URL) // the decoder has looked at it, and the check at the schema
	e.schema, _ = c.schema()
	next := 0
	for _, at := range []struct {
		term  *int
		there bool
	}{{&e.path, !c.Path.IsZero()}, {&e.body, !c.Body.IsZero()}, {&e.cache, !c.Cache.Key.IsZero()}} {
		if at.there {
			*at.term = next
			next++
		}
	}
	e.query = next
	remembers := 0
	for _, p := range parts.Programs {
		remembers += p.Memories()
		e.ends = append(e.ends, remembers)
	}
	if remembers == 0 {
		e.ends = nil
	}
	return e
}

// Eval implements [kind.Evaluator]; nobody uses it.
func (e *call) Eval(*expression.Env) (boundary.Value, error) {
	return boundary.Value{}, &expression.EvalError{Code: CodeFailed, Text: "the node is computed from an answer"}
}

// Concurrency implements [kind.Caller].
func (e *call) Concurrency() int { return e.cfg.Concurrency }

// Safe implements [kind.Caller].
func (e *call) Safe() bool {
	if e.cfg.Safe != nil {
		return *e.cfg.Safe
	}
	return e.method() == http.MethodGet
}

func (e *call) method() string {
	if e.cfg.Method == "" && e.body >= 0 {
		return http.MethodPost
	}
	return cmp.Or(e.cfg.Method, http.MethodGet)
}

// Request implements [kind.Caller].
func (e *call) Request(env *expression.Env) (r kind.Request, err error) {
	values := make([]boundary.Value, len(e.programs))
	all, first := env.Memories, 0
	for i, p := range e.programs {
		if e.ends != nil {
			env.Memories, first = all[first:e.ends[i]:e.ends[i]], e.ends[i]
		}
		if values[i], err = p.Eval(env); err != nil {
			return r, err
		}
	}
	if r.URL, err = e.target(values); err != nil {
		return r, err
	}
	r.At = env.Now
	if e.body >= 0 {
		r.Body = values[e.body].AppendJSON(nil)
	}
	if e.cache >= 0 {
		c := e.cfg.Cache
		r.Keep = kind.Keep{Key: string(values[e.cache].AppendJSON(nil)), TTL: c.TTL, Max: c.Max}
	}
	return r, nil
}

// target is the URL of a request.
func (e *call) target(values []boundary.Value) (string, error) {
	u := *e.base
	if e.path >= 0 {
		segments := []boundary.Value{values[e.path]}
		if v := values[e.path]; v.Kind() == boundary.KindList {
			segments = slices.Collect(v.Items())
		}
		path := strings.TrimSuffix(u.EscapedPath(), "/")
		for _, s := range segments {
			text := textOf(s)
			if text == "" || text == "." || text == ".." {
				return "", &expression.EvalError{Code: CodeBadTarget, Text: "a segment of the path is " +
					strconv.Quote(text) + ": it must be a text, and neither empty nor a folder's . or .."}
			}
			path += "/" + url.PathEscape(text)
		}
		u.Path, u.RawPath = unescape(path), path
	}
	if len(e.cfg.Query) > 0 {
		var b strings.Builder
		b.WriteString(u.RawQuery)
		for i, q := range e.cfg.Query {
			v := values[e.query+i]
			if v.IsNull() || v.IsAbsent() {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			b.WriteString(url.QueryEscape(q.Name) + "=" + url.QueryEscape(textOf(v)))
		}
		u.RawQuery = b.String()
	}
	return u.String(), nil
}

func unescape(path string) string {
	text, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return text
}

// textOf is a text as it is, anything else as JSON; "" for null.
func textOf(v boundary.Value) string {
	if v.IsNull() || v.IsAbsent() {
		return ""
	}
	if text, ok := v.AsString(); ok {
		return text
	}
	return strings.Trim(string(v.AppendJSON(nil)), `"`) // of a time
}

// answerShape is that of a full answer.
var answerShape = boundary.NewShape("status", "body")

// Answered implements [kind.Caller].
func (e *call) Answered(a *kind.Answer) (boundary.Value, error) {
	if a.Code == "" && !e.isAnswer(a.Status) {
		return boundary.Value{}, &expression.EvalError{Code: "http_" + strconv.Itoa(a.Status),
			Text: e.base.Host + " answered " + statusText(a.Status)}
	}
	if a.Code != "" {
		return boundary.Value{}, &expression.EvalError{Code: a.Code, Text: a.Text}
	}
	body, err := e.bodyOf(a.Body)
	if err == nil && e.schema != nil {
		if fault := e.schema.Check(body); fault != "" {
			return boundary.Value{}, &expression.EvalError{Code: CodeInvalid, Text: "what " + e.base.Host +
				" answered is not what schema says: " + fault}
		}
	}
	if err != nil || e.cfg.Answer == "body" {
		return body, err
	}
	return boundary.Object(answerShape, []boundary.Value{boundary.Int(int64(a.Status)), body}), nil
}

// isAnswer says of a status that it is no error.
func (e *call) isAnswer(status int) bool {
	return status/100 == 2 || slices.Contains(e.cfg.Accept, status)
}

// bodyOf is what an answer says.
func (e *call) bodyOf(body []byte) (boundary.Value, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return boundary.Null(), nil
	}
	v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: int(e.cfg.MaxAnswer) + 1}).Decode(body)
	if err == nil {
		return v, nil
	}
	if !utf8.Valid(body) {
		return boundary.Value{}, &expression.EvalError{Code: CodeNotText, Text: "the answer is neither JSON nor text"}
	}
	return boundary.String(string(body)), nil
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
