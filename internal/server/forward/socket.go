package forward

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
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
	o, elsewhere := m.owner(g)
	if !elsewhere {
		return false, nil
	}
	p := m.to(&o)
	leave, entered := m.enter(p.sockets)
	if !entered {
		return true, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeMemberBusy, Extra: extra(&o),
			Detail: fmt.Sprintf("%d WebSocket connections are forwarded to daemon %s already, which runs the graph; "+
				"try again, or connect to it", maxSockets, called(&o))}
	}
	defer leave()
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	defer context.AfterFunc(m.life, cut)()
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cut()
		m.stays(ctx, g, &o, func() error { return still(ctx, who) })
	})
	defer watch.Wait()
	defer cut()
	return true, m.send(w, r.WithContext(ctx), p.upgraded, &o, callerOf(who, from))
}

// stays returns when a forwarded connection has to end: its caller may not stay, or another member runs the graph.
func (m *Members) stays(ctx context.Context, g api.Ref, o *checkpoint.Member, still func() error) {
	ask := time.NewTicker(askAgain)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ask.C:
		}
		if now, elsewhere := m.owner(g); !elsewhere || now.ID != o.ID || still() != nil {
			return
		}
	}
}

// Elsewhere says that another member runs the graph, and is reached.
func (m *Members) Elsewhere(g api.Ref) bool {
	_, elsewhere := m.owner(g)
	return elsewhere
}

// CloseSockets cuts the WebSocket connections that are forwarded, and those that come.
func (m *Members) CloseSockets() {
	if m != nil {
		m.end()
	}
}
