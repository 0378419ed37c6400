package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// partsPath is where a member is asked for the shards that it has. It is there on the members' own listener alone.
const partsPath = "/parts"

// maxParts bounds a call of another member, and an answer: a push as large as a body may be, or the summaries of 1,024
// shards.
const maxParts = 64 << 20

// errBusy says that so much is under way to a member already that it is not asked.
var errBusy = errors.New("too many requests are under way to the member")

var _ parts.Members = (*Members)(nil)

// Asks is what asks the other members; nil where none is reached.
func (m *Members) Asks() parts.Members {
	if m == nil {
		return nil
	}
	return m
}

// Ask implements [parts.Members].
func (m *Members) Ask(ctx context.Context, o *checkpoint.Member, call *parts.Call) (
	a *parts.Answer, begun bool, err error) {
	defer func() { m.unasked(ctx, o, call, err) }()
	p := m.to(o)
	leave, entered := m.enter(p.room)
	if !entered {
		return nil, false, errBusy
	}
	defer leave()
	body, begun, err := p.call(ctx, partsPath, call)
	if err != nil {
		return nil, begun, err
	}
	defer body.Close()
	a = new(parts.Answer)
	if err := json.NewDecoder(io.LimitReader(body, maxParts)).Decode(a); err != nil {
		return nil, true, fmt.Errorf("read the answer: %w", err)
	}
	return a, true, nil
}

// unasked tells the operator that a member has not answered.
func (m *Members) unasked(ctx context.Context, o *checkpoint.Member, call *parts.Call, err error) {
	if err != nil && ctx.Err() == nil {
		m.log.Warn("another daemon could not be asked for the shards that it runs", "owner", called(o), "address",
			o.Peer, "graph", call.Graph, "tenant", call.Tenant, "verb", call.Verb, "err", err)
	}
}

// call sends a call, and answers with the body of the answer. begun says that it may have been heard.
func (p *peer) call(ctx context.Context, path string, call *parts.Call) (body io.ReadCloser, begun bool, err error) {
	text, err := json.Marshal(call)
	if err != nil {
		return nil, false, fmt.Errorf("encode what is asked: %w", err)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { begun = true },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+p.address+path, bytes.NewReader(text))
	if err != nil {
		return nil, false, fmt.Errorf("make the request: %w", err)
	}
	r.Host = memberName
	answer, err := p.via.RoundTrip(r)
	switch {
	case err != nil:
		return nil, begun, err
	case answer.StatusCode == http.StatusBadRequest: // to what it knows nothing of
		return nil, true, errors.Join(fmt.Errorf("it answers %s: %w", answer.Status, parts.ErrOtherRelease),
			answer.Body.Close())
	case answer.StatusCode != http.StatusOK:
		return nil, true, errors.Join(fmt.Errorf("it answers %s", answer.Status), answer.Body.Close())
	}
	return answer.Body, true, nil
}

// heard reads a call of another member, and refuses what is none.
func heard(w http.ResponseWriter, r *http.Request) *parts.Call {
	call := new(parts.Call)
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxParts)).Decode(call)
	if err != nil || r.Method != http.MethodPost {
		http.Error(w, "this is no call of another member", http.StatusBadRequest)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	return call
}

// answerParts does what another member asks of the shards that run here.
func (m *Members) answerParts(w http.ResponseWriter, r *http.Request) {
	call := heard(w, r)
	if call == nil {
		return
	}
	text, err := json.Marshal(m.daemon.AskPart(r.Context(), call))
	if err != nil {
		m.log.Error("the answer to another daemon cannot be encoded", "graph", call.Graph, "tenant", call.Tenant,
			"verb", call.Verb, "err", err)
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text) // a member that went away has been told so by its connection
}
