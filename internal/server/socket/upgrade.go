package socket

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/forward"
	"github.com/graphd/graphd/internal/server/wire"
)

// serve takes the connection over and serves it until it ends.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, g api.Ref, who *access.Principal,
	open func(*conn) endpoint) error {
	if err := h.check(w, r); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(r.Context())
	c := &conn{h: h, g: g, who: who, end: end, cork: &cork{timeout: h.cfg.WriteTimeout}, written: make(chan struct{})}
	_, c.forwarded = forward.Caller(r.Context())
	defer end(errGone)
	if h.cfg.Take != nil {
		free, err := h.cfg.Take(who.Tenant)
		if err != nil {
			return err
		}
		defer free()
	}
	if err := h.enter(c); err != nil {
		return err
	}
	defer h.leave(c)
	ws, err := websocket.Accept(&upgrade{w, c.cork}, r, &websocket.AcceptOptions{
		Subprotocols: []string{api.Subprotocol}, CompressionMode: websocket.CompressionDisabled,
		InsecureSkipVerify: true, // package page has looked at the origin
	})
	log := h.cfg.Log.With(slog.String("path", wire.Clip(r.URL.Path)), slog.String("remote", r.RemoteAddr))
	if err != nil { // answered by the library
		log.Debug("websocket refused", slog.Any("err", err))
		return nil
	}
	c.ws, c.log = ws, log
	if c.turned {
		_ = ws.Close(websocket.StatusTryAgainLater, "too many connections; try again later") // it goes either way
		return nil
	}
	c.serve(ctx, open(c))
	log.Debug("websocket ended", slog.Int64("frames", c.frames.Load()), slog.Any("cause", context.Cause(ctx)))
	return nil
}

// check refuses, before the connection is taken over, whoever will not do.
func (h *Hub) check(w http.ResponseWriter, r *http.Request) error {
	if !hasToken(r.Header, "Connection", "upgrade") || !hasToken(r.Header, "Upgrade", "websocket") {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		return wire.Refuse(http.StatusUpgradeRequired, api.CodeUpgradeRequired, "this route speaks WebSocket only")
	}
	if !hasToken(r.Header, "Sec-WebSocket-Protocol", api.Subprotocol) {
		return wire.Refuse(http.StatusBadRequest, api.CodeSubprotocol, "offer the subprotocol "+api.Subprotocol+
			" in Sec-WebSocket-Protocol")
	}
	return nil
}

func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// socketBuffer is the size of a connection's read and write buffers: a hundred frames of the usual size.
const socketBuffer = 16 << 10

// upgrade is the ResponseWriter that a connection is taken over from: it puts the cork
// between the WebSocket library and the network.
type upgrade struct {
	http.ResponseWriter
	cork *cork
}

// Hijack takes the connection over from net/http.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	netConn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.cork.attach(netConn)
	reader := rw.Reader
	if reader.Buffered() == 0 { // else a hasty client has sent something already
		reader = bufio.NewReaderSize(netConn, socketBuffer)
	}
	return u.cork, bufio.NewReadWriter(reader, bufio.NewWriterSize(u.cork, socketBuffer)), nil
}
