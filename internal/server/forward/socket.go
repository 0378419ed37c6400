package forward

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

const (
	// maxSockets bounds the WebSocket connections that are forwarded to one member: each is a connection of its own.
	maxSockets = 1024
	// askAgain is how often it is looked at whether one may stay.
	askAgain = time.Second
)

// Socket forwards a WebSocket connection about a graph that another member runs, as [Members.Forward] does a request,
// until one of the ends closes it. It is cut when the caller may not stay, when the graph runs elsewhere, or at
// [Members.CloseSockets]: the client connects again, and gets to whoever runs the graph then. still refuses a caller
// who may not stay.
func (m *Members) Socket(w http.ResponseWriter, r *http.Request, g api.Ref, who *access.Principal, from string,
	still func(context.Context, *access.Principal) error) (forwarded bool, err error) {
	if m == nil || m.Owner == nil {
		return false, nil
	}
	o, elsewhere := m.Owner(g)
	if !elsewhere {
		return false, nil
	}
	p := m.to(&o)
	select {
	case p.sockets <- struct{}{}:
		defer func() { <-p.sockets }()
	default:
		return true, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeMemberBusy, Extra: extra(&o),
			Detail: fmt.Sprintf("%d WebSocket connections are forwarded to daemon %s already, which runs the graph; "+
				"try again, or connect to it", maxSockets, called(&o))}
	}
	m.out.Add(1)
	m.open.Add(1)
	defer m.open.Add(-1)
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	defer context.AfterFunc(m.life, cut)()
	watched := make(chan struct{})
	defer func() { cut(); <-watched }()
	go func() {
		defer close(watched)
		defer cut()
		ask := time.NewTicker(askAgain)
		defer ask.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ask.C:
			}
			if now, elsewhere := m.Owner(g); !elsewhere || now.ID != o.ID || still(ctx, who) != nil {
				return
			}
		}
	}()
	return true, m.send(w, r.WithContext(ctx), p.upgraded, &o, callerOf(who, from))
}

// Elsewhere says that another member runs the graph, and is reached.
func (m *Members) Elsewhere(g api.Ref) bool {
	if m == nil || m.Owner == nil {
		return false
	}
	_, elsewhere := m.Owner(g)
	return elsewhere
}

// CloseSockets cuts the WebSocket connections that are forwarded, and those that come.
func (m *Members) CloseSockets() {
	if m != nil {
		m.end()
	}
}
