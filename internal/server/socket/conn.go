package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

const (
	// maxBadFrames in a row end a connection: a client that is wrong so often does not listen.
	maxBadFrames = 16
	// soon is how long the last words to one who may not stay have, and half of how long the goodbye behind them has.
	soon = 200 * time.Millisecond
	// askEvery frames, or askBytes in them, the token's rate is asked for.
	askEvery, askBytes = 64, 64 << 10
	// keptBuffer is the largest read buffer a connection keeps between frames.
	keptBuffer = 64 << 10
)

// closing is the cause of a connection's end that its client is told.
type closing struct {
	code   websocket.StatusCode
	reason string // at most 123 bytes
	soon   bool   // the client's own goodbye is not waited for
}

// moved is the end of a connection whose graph another daemon runs, or is about to.
var moved = &closing{websocket.StatusServiceRestart, api.CodeOwnerMoved + ": another daemon runs the graph now; " +
	"connect again", true}

func (c *closing) Error() string { return fmt.Sprintf("closed with %d: %s", c.code, c.reason) }

// errGone is the cause of an end that the client itself made: nobody is left to tell.
var errGone = errors.New("the client has gone")

// endpoint is what a connection is for.
type endpoint interface {
	// frame handles one frame that was read; raw is only lent. It is called by the reader, and
	// what it waits for holds the reading back. An error ends the connection.
	frame(ctx context.Context, raw []byte) error
	// write is the writer: it returns when ctx is done or the connection is to end, with the cause.
	write(ctx context.Context) error
}

// conn is one WebSocket connection.
type conn struct {
	h      *Hub
	g      api.Ref // of all graphs without a name
	who    *access.Principal
	log    *slog.Logger
	ws     *websocket.Conn
	cork   *cork
	end    context.CancelCauseFunc // ends the connection; the first cause counts
	turned bool                    // admitted only to be turned away
	// forwarded says that another member has taken it, and stays when this daemon stops.
	forwarded bool
	// written is closed when the writer has returned.
	written chan struct{}
	// frames counts what was read; waiting says that the reader reads, so that pongs are heard,
	// and is not held back.
	frames  atomic.Int64
	waiting atomic.Bool
	bad     int // bad frames in a row; the reader's
}

// serve runs the connection's reader here, and its writer and keeper beside it; it joins both.
func (c *conn) serve(ctx context.Context, ep endpoint) {
	c.ws.SetReadLimit(c.h.cfg.MaxFrame)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { c.keep(ctx) })
	if err := c.send(ctx, c.h.appendHello(nil, time.Now())); err != nil {
		close(c.written)
		c.end(err)
		return
	}
	wg.Go(func() {
		defer close(c.written)
		c.guard(ctx, "writer", ep.write)
	})
	c.guard(ctx, "reader", func(ctx context.Context) error { return c.read(ctx, ep) })
}

// guard runs a part of the connection and ends the connection when the part ends, also by a panic.
func (c *conn) guard(ctx context.Context, part string, run func(context.Context) error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("websocket panicked", slog.String("part", part), slog.Any("panic", v),
				slog.String("stack", string(debug.Stack())))
			c.end(&closing{code: websocket.StatusInternalError, reason: "the daemon failed on this connection"})
		}
	}()
	c.end(run(ctx))
}

// read hands every frame to the endpoint until the connection ends.
func (c *conn) read(ctx context.Context, ep endpoint) error {
	var buf []byte
	pace := newPace(c.h.cfg.FramesPerSecond)
	frames, bytes := 0, 0 // that the token's rate has not been asked for yet
	for ctx.Err() == nil {
		if err := pace.Wait(ctx); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if frames >= askEvery || bytes >= askBytes {
			if err := c.h.cfg.Frames(ctx, c.who, frames, bytes); err != nil {
				return context.Cause(ctx)
			}
			frames, bytes = 0, 0
		}
		if cap(buf) > keptBuffer {
			buf = nil
		}
		raw, err := c.next(ctx, buf[:0])
		if err != nil {
			return err
		}
		c.frames.Add(1)
		frames, bytes = frames+1, bytes+len(raw)
		if err := ep.frame(ctx, raw); err != nil {
			return err
		}
		buf = raw
	}
	return context.Cause(ctx)
}

// next reads one frame into buf, which grows as it must.
func (c *conn) next(ctx context.Context, buf []byte) ([]byte, error) {
	// Without a Done channel the library sets up no watch per frame; a connection that
	// is to end is closed by the keeper, which ends the read.
	ctx = context.WithoutCancel(ctx)
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	kind, r, err := c.ws.Reader(ctx)
	if err != nil {
		return nil, readEnd(err)
	}
	if cap(buf) == 0 {
		buf = make([]byte, 0, 4<<10)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, readEnd(err)
		}
	}
	if kind != websocket.MessageText {
		return nil, &closing{code: websocket.StatusPolicyViolation, reason: "frames are text"}
	}
	return buf, nil
}

// readEnd is the cause of the end that a failed read makes.
func readEnd(err error) error {
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return &closing{code: websocket.StatusMessageTooBig, reason: "the frame is over the limit that hello tells"}
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// badFrame tells the client what is wrong with a frame; the connection goes on, unless there are too many.
func (c *conn) badFrame(reply func([]byte) error, id []byte, code, detail string) error {
	if c.bad++; c.bad >= maxBadFrames {
		why := "too many bad frames in a row, the last: " + code
		return &closing{code: websocket.StatusPolicyViolation, reason: why}
	}
	return reply(appendError(nil, id, code, detail))
}

// send writes one frame. It may be called by any of the connection's goroutines.
func (c *conn) send(ctx context.Context, frame []byte) error {
	if ctx.Done() != nil { // as in next: the cork's deadline bounds the write
		ctx = context.WithoutCancel(ctx)
	}
	if err := c.ws.Write(ctx, websocket.MessageText, frame); err != nil {
		return c.writeEnd(err)
	}
	return nil
}

// uncork writes what the cork holds.
func (c *conn) uncork() error {
	if err := c.cork.uncork(); err != nil {
		return c.writeEnd(err)
	}
	return nil
}

// writeEnd is the cause of the end that a failed write makes.
func (c *conn) writeEnd(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.h.slow.Add(1)
		return fmt.Errorf("the client took nothing for %v: %w", c.h.cfg.WriteTimeout, err)
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// keep pings the client, and asks whether it may stay, until the connection is to end; then it says goodbye.
func (c *conn) keep(ctx context.Context) {
	tick := time.NewTicker(c.h.cfg.PingInterval)
	defer tick.Stop()
	ask := time.NewTicker(c.h.cfg.AskAgain)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			c.goodbye(ctx)
			return
		case <-ask.C:
			if err := c.h.cfg.Still(ctx, c.who); err != nil {
				c.end(expelled(err))
			} else if c.h.cfg.Moved != nil && c.g.Name != "" && c.h.cfg.Moved(c.g) {
				c.end(moved)
			}
		case <-tick.C:
			c.ping(ctx)
		}
	}
}

// expelled is the end of a connection whose client may not stay, or of which that is not known.
func expelled(err error) error {
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status < http.StatusInternalServerError {
		return &closing{websocket.StatusPolicyViolation, refused.Code + ": the token is good no longer", true}
	}
	return &closing{websocket.StatusTryAgainLater, "the token cannot be checked now; try again later", true}
}

// ping ends the connection of a client that has gone, or that could answer and does not,
// before half the time to the next ping is over.
//
// A client that is held back is not pinged: its writes may be blocked, and its answer with
// them. It is only looked after whether it is still there.
func (c *conn) ping(ctx context.Context) {
	if !c.waiting.Load() {
		if c.cork.hungUp() {
			c.end(fmt.Errorf("%w while it was held back", errGone))
		}
		return
	}
	before := c.frames.Load()
	waitCtx, cancel := context.WithTimeout(ctx, c.h.cfg.PingInterval/2)
	defer cancel()
	err := c.ws.Ping(waitCtx)
	switch {
	case err == nil || ctx.Err() != nil:
	case waitCtx.Err() == nil:
		c.end(c.writeEnd(err))
	case c.waiting.Load() && before == c.frames.Load():
		c.end(&closing{code: websocket.StatusGoingAway, reason: "no answer to a ping"})
	}
}

// goodbye lets the writer get its last words out, sends the close frame when there is somebody
// to read it, and closes the connection.
func (c *conn) goodbye(ctx context.Context) {
	last, told := errors.AsType[*closing](context.Cause(ctx))
	wait := c.h.cfg.WriteTimeout
	if told && last.soon {
		wait = soon
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-c.written:
	case <-patience.C:
	}
	if told {
		if last.soon { // from now on: the last words take nothing from the goodbye
			cut := time.AfterFunc(2*soon, c.cork.cut)
			defer cut.Stop()
		}
		_ = c.ws.Close(last.code, last.reason) // it closes whatever comes of the handshake
	}
	_ = c.ws.CloseNow() // a connection closed twice is closed
}

// cut ends the connection at once.
func (c *conn) cut() {
	c.end(errGone)
	c.cork.cut()
}
