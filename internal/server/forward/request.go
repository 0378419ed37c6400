package forward

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// header says whom a request acts as that one member forwards to another. It counts on the members' own listener,
// and nowhere else.
const header = "Graphd-Caller"

// own are headers that are for the member which was called, and go no further.
var own = []string{"Authorization", "Cookie", "Graphd-Tenant", "Origin", header, "X-Forwarded-For", "Forwarded"}

// Forward answers a request about a graph that another member runs as that one does; forwarded is false where none
// is known to, and nothing was done then. An error is a refusal that is to be answered.
func (m *Members) Forward(w http.ResponseWriter, r *http.Request, g api.Ref, who *access.Principal, from string) (
	forwarded bool, err error) {
	o, elsewhere := m.owner(g)
	if !elsewhere {
		return false, nil
	}
	p := m.to(&o)
	leave, entered := m.enter(p.room)
	if !entered {
		return true, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeMemberBusy, Extra: extra(&o),
			Detail: fmt.Sprintf("%d requests are under way to daemon %s already, which runs the graph; try again",
				maxStreams, called(&o))}
	}
	defer leave()
	return true, m.send(w, r, p.via, &o, callerOf(who, from))
}

// owner is the other member that runs a graph and can be reached; false where there is none.
func (m *Members) owner(g api.Ref) (o checkpoint.Member, elsewhere bool) {
	if m == nil || m.daemon == nil {
		return o, false
	}
	return m.daemon.Elsewhere(g)
}

// enter takes a place at a member, until leave gives it back; false where there is none.
func (m *Members) enter(places chan struct{}) (leave func(), entered bool) {
	select {
	case places <- struct{}{}:
	default:
		return nil, false
	}
	m.out.Add(1)
	m.open.Add(1)
	return func() { m.open.Add(-1); <-places }, true
}

func (m *Members) send(w http.ResponseWriter, r *http.Request, via *http.Transport, o *checkpoint.Member,
	c caller) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode whom a request acts as: %w", err)
	}
	var failed error
	begun := false // there was a connection, on which something may have been sent
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { begun = true },
	}))
	proxy := httputil.ReverseProxy{
		Transport: via,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme, out.Out.URL.Host, out.Out.Host = "https", o.Peer, memberName
			out.Out.URL.RawQuery = out.In.URL.RawQuery
			for _, name := range own {
				out.Out.Header.Del(name)
			}
			out.Out.Header.Set(header, base64.StdEncoding.EncodeToString(text))
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r)
	if failed == nil || r.Context().Err() != nil {
		return failed
	}
	m.log.Warn("a request could not be forwarded to the daemon that runs its graph", "owner", called(o), "address",
		o.Peer, "err", failed)
	refused := &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerUnreachable, Extra: extra(o),
		Detail: fmt.Sprintf("daemon %s, which runs the graph, did not answer: what was sent may have been done, or "+
			"not; try again, a push with the same Idempotency-Key", called(o))}
	if !begun {
		refused.Detail = fmt.Sprintf("daemon %s, which runs the graph, cannot be reached: nothing was sent to it; try "+
			"again, and see the log of the one that was asked if it lasts", called(o))
	}
	return refused
}

func extra(o *checkpoint.Member) map[string]any { return map[string]any{"owner": called(o)} }

type hop struct{}

// errCaller is the answer to what another member cannot have sent.
var errCaller = errors.New("the request does not say whom it acts as")

// Taken is a request of another member as the server takes it: it acts as whom that one has let in, from where that
// one has.
func Taken(r *http.Request) (*http.Request, error) {
	given := r.Header[header]
	if len(given) != 1 {
		return nil, errCaller
	}
	text, err := base64.StdEncoding.DecodeString(given[0])
	if err != nil {
		return nil, errCaller
	}
	var c caller
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, errCaller
	}
	r = r.WithContext(context.WithValue(r.Context(), hop{}, c.principal()))
	r.Header.Del(header)
	r.RemoteAddr = "[" + c.From + "]:0"
	return r, nil
}

// Caller is whom a request of another member acts as; false of any other request.
func Caller(ctx context.Context) (who access.Principal, taken bool) {
	who, taken = ctx.Value(hop{}).(access.Principal)
	return who, taken
}

// Moved refuses what another member has forwarded here, where the graph does not run any more: it goes no further.
func Moved(g api.Ref) error {
	return &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerMoved,
		Detail: fmt.Sprintf("graph %s has just moved to another daemon; try again", g.Name)}
}
