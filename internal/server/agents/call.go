package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// maxAnswer bounds what a tool answers, in bytes: what a model can read at one time.
const maxAnswer = 64 << 10

// answer is what has been answered to a request of our own.
type answer struct {
	status int
	head   http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header {
	if a.head == nil {
		a.head = http.Header{}
	}
	return a.head
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) code() int { return cmp.Or(a.status, http.StatusOK) }

// passed are the headers that a call's request takes from that of its message: who asks, for which tenant, from where.
var passed = [...]string{"Authorization", "Cookie", "Graphd-Tenant", "Origin", "Sec-Fetch-Mode", "Sec-Fetch-Site",
	"Traceparent", "User-Agent"}

// call carries a tool out. What goes wrong is told to the agent in the answer.
func (s *Service) call(ctx context.Context, t *tool, raw json.RawMessage) (result *mcp.CallToolResult) {
	defer func() {
		if v := recover(); v != nil { // it would end the daemon: no other goroutine catches it
			s.cfg.Log.Error("a tool of an agent panicked", slog.String("tool", t.name), slog.Any("panic", v),
				slog.String("stack", string(debug.Stack())))
			result = refusal(wire.Refuse(http.StatusInternalServerError, api.CodeInternal,
				"the daemon failed on this call; its log says why"))
		}
	}()
	by, known := ctx.Value(callerKey{}).(*caller)
	if !known {
		return refusal(wire.Refuse(http.StatusUnauthorized, api.CodeUnauthenticated, "nobody is known to call"))
	}
	if t.changes && s.cfg.Mode != Write {
		return refusal(wire.Refuse(http.StatusForbidden, api.CodeForbidden,
			t.name+" changes something, and this daemon's tools only read: start it with --mcp write"))
	}
	args, err := t.read(raw)
	if err != nil {
		return refusal(err)
	}
	for {
		got, err := s.ask(by, t, args)
		if err != nil {
			return refusal(err)
		}
		text := got.body.Bytes()
		if got.code() >= http.StatusBadRequest {
			return told(true, cut(text)...)
		}
		if t.shape != nil {
			text = t.shape(text, args)
		}
		if !t.changes && len(text) > maxAnswer && args.fewer() {
			continue // a list is cut between two items, where its cursor leads on
		}
		if len(text) == 0 {
			text = []byte(`{"done":true}`)
		}
		return told(false, cut(text)...)
	}
}

// ask sends a call's request through the router.
func (s *Service) ask(by *caller, t *tool, args arguments) (*answer, *api.Error) {
	path, query, head, body, err := t.request(args)
	if err != nil {
		return nil, err
	}
	u, wrong := url.Parse(path)
	if wrong != nil {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, "an argument can be no part of a path")
	}
	u.RawQuery = query.Encode()
	// The router knows the message's request by its context, and would take this one for a part of it.
	ctx := context.WithValue(by.request.Context(), chi.RouteCtxKey, (*chi.Context)(nil))
	r, wrong := http.NewRequestWithContext(ctx, t.method, u.String(), bytes.NewReader(body))
	if wrong != nil {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, "the call makes no request")
	}
	r.Host, r.RemoteAddr, r.TLS, r.RequestURI = by.request.Host, by.request.RemoteAddr, by.request.TLS, u.RequestURI()
	for _, name := range passed {
		if v := by.request.Header[name]; v != nil {
			r.Header[name] = slices.Clone(v)
		}
	}
	for name, v := range head {
		r.Header[name] = v
	}
	if t.accepts != "" {
		r.Header.Set("Accept", t.accepts)
	}
	got := &answer{}
	s.cfg.REST.ServeHTTP(got, r)
	return got, nil
}

// arguments are those of a call, by name.
type arguments map[string]json.RawMessage

// read finds the arguments of a call, and the first that is none of the tool's or not of its type.
func (t *tool) read(raw json.RawMessage) (arguments, *api.Error) {
	args := arguments{}
	if len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, "the arguments must be a JSON object")
	}
	for name, v := range args {
		i := slices.IndexFunc(t.args, func(a arg) bool { return a.name == name })
		switch {
		case i < 0:
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeUnknownParameter,
				fmt.Sprintf("unknown argument %q: %s knows %s", wire.Clip(name), t.name, t.knows()))
		case string(v) == "null": // as if it were left out
			delete(args, name)
		case !t.args[i].kind.fits(v):
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("%s must be %s", name, t.args[i].kind.words()))
		}
	}
	for _, a := range t.args {
		if a.needed && args[a.name] == nil {
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, a.name+" is missing: "+a.about)
		}
	}
	if t.most > 0 && args["limit"] == nil {
		args["limit"] = strconv.AppendInt(nil, int64(t.usual), 10)
	}
	return args, nil
}

// text is an argument as a path, a query or a header has it.
func (args arguments) text(name string) string {
	var s string
	if json.Unmarshal(args[name], &s) == nil {
		return s
	}
	return string(args[name])
}

// fewer halves how many items a list is asked for, and says whether that leaves any.
func (args arguments) fewer() bool {
	n, err := strconv.Atoi(args.text("limit"))
	if err != nil || n < 2 {
		return false
	}
	args["limit"] = strconv.AppendInt(nil, int64(n/2), 10)
	return true
}

// request is what a call asks of the API.
func (t *tool) request(args arguments) (path string, query url.Values, head http.Header, body []byte,
	err *api.Error) {
	path, query, head = t.path, url.Values{}, http.Header{}
	for name, v := range t.fixed {
		query.Set(name, v)
	}
	members := map[string]json.RawMessage{}
	for _, a := range t.args {
		raw, given := args[a.name]
		if !given {
			continue
		}
		text := args.text(a.name)
		switch a.in {
		case inPath:
			if text == "" || text == "." || text == ".." {
				return "", nil, nil, nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
					a.name+" names nothing")
			}
			path = strings.Replace(path, "{"+a.name+"}", url.PathEscape(text), 1)
		case inQuery:
			query.Set(a.name, text)
		case inMember:
			members[a.name] = raw
		case inBody:
			body = raw
			head.Set("Content-Type", "application/json")
			if a.kind == aText {
				body = []byte(text)
				head.Set("Content-Type", "application/yaml")
			}
		case ifMatch:
			head.Set("If-Match", `"`+text+`"`)
		case onceKey:
			head.Set("Idempotency-Key", text)
		case ofShown: // what is left out of the answer
		}
	}
	if len(members) > 0 {
		head.Set("Content-Type", "application/json")
		body, _ = json.Marshal(members) // what was JSON is JSON
	}
	return path, query, head, body, nil
}

// cut is as much of a text as an agent is given, with a word about the rest.
func cut(text []byte) []string {
	if len(text) <= maxAnswer {
		return []string{string(text)}
	}
	n := maxAnswer
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return []string{string(text[:n]), fmt.Sprintf("This is cut: the answer has %d bytes, and these are the first %d. "+
		"Ask for less: one key, one shard, one firing, one accumulator, or fewer items.", len(text), n)}
}

func told(wrong bool, texts ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{IsError: wrong}
	for _, text := range texts {
		r.Content = append(r.Content, &mcp.TextContent{Text: text})
	}
	return r
}

// refusal tells an agent what was refused, in the form that REST has for it.
func refusal(e *api.Error) *mcp.CallToolResult {
	return told(true, string(wire.AppendProblem(nil, e, "")))
}
