// Package wsclient is the source websocket_client: it connects to another server's
// WebSocket, subscribes, and takes each message as an event.
//
// A lost connection is made again by itself, with growing pauses; after each connect the
// subscribe messages are sent again. What the server sent in between is lost, for a
// WebSocket has no positions to go back to. The position of an event is its number.
//
// A receiver that is held back makes the source stop reading, and the network's own
// backpressure reaches the server. A ping that is not answered meanwhile means nothing, for
// the answer lies behind what is not read.
//
// No word of this package holds the URL, a header or a message: there may be secrets in them.
//
// # Concurrency
//
// Run has one goroutine beside its own, which pings; it is joined before Run returns.
package wsclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
)

// Config says where to connect.
type Config struct {
	URL string // ws or wss
	// Subscribe are sent as text messages after each connect, in order.
	Subscribe []string
	// Ping is the pause between two pings; an unanswered one ends the connection. 0 means 20s.
	Ping    time.Duration
	Headers []outbound.Header
	// MaxBytes bounds one message; 0 means 8 MiB. A larger one ends the connection.
	MaxBytes int
	// Guard dials. It is required.
	Guard *outbound.Guard
}

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		errs = append(errs, errors.New("url is not a ws or wss URL with a host"))
	}
	if c.Ping < 0 || c.MaxBytes < 0 {
		errs = append(errs, errors.New("ping and size are not negative"))
	}
	if c.Guard == nil {
		errs = append(errs, errors.New("there is no guard to dial with"))
	}
	return errors.Join(errs...)
}

// Source reads from a WebSocket. It is an [accumulator.Source].
type Source struct {
	cfg  Config
	host string // for messages
}

var _ accumulator.Source = (*Source)(nil)

// New makes a Source.
func New(cfg Config) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("websocket_client source: %w", err)
	}
	if cfg.Ping == 0 {
		cfg.Ping = 20 * time.Second
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 8 << 20
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("websocket_client source: url cannot be read")
	}
	return &Source{cfg: cfg, host: u.Host}, nil
}

const (
	// stream names the positions, which are the numbers of the messages.
	stream = "websocket"
	// connectTimeout bounds a connect with its handshake and the subscribe messages.
	connectTimeout = 15 * time.Second
	// Pauses between connects double from the least to the most.
	minPause = time.Second
	maxPause = time.Minute
	// settled is how long a connection must have lasted for the pauses to begin anew: one
	// that the server ends at once is a failed connect.
	settled = 30 * time.Second
)

// Run implements [accumulator.Source].
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	r := &reader{Source: s, out: out, client: s.cfg.Guard.Client(s.cfg.Headers)}
	defer r.client.CloseIdleConnections()
	for _, p := range from {
		if p.Stream == stream {
			r.number = p.Offset
		}
	}
	for failed := 0; ; {
		began := time.Now()
		err := r.connection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) >= settled {
			failed = 0
		}
		out.Health(accumulator.Disconnected, err.Error())
		if !sleep(ctx, pause(failed, rand.Float64())) {
			return nil
		}
		failed++
	}
}

// pause is how long to wait after so many failures in a row, for a random number in [0, 1):
// between half and all of the backoff.
func pause(failed int, random float64) time.Duration {
	p := maxPause
	if failed < 16 {
		p = min(minPause<<failed, maxPause)
	}
	return p/2 + time.Duration(random*float64(p/2))
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// reader is one run of a Source.
type reader struct {
	*Source
	out    accumulator.Out
	client *http.Client
	number int64 // of the last message

	// What the pings look at: how many hand-overs of messages began and ended, so that it is odd during one.
	handed atomic.Int64
}

// connection is one connection from its handshake to its end, which is always an error.
func (r *reader) connection(ctx context.Context) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow() // the error that ended it says more
	r.out.Health(accumulator.Live, "")

	reading, stop := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	var unanswered error
	pinging.Go(func() {
		if unanswered = r.ping(reading, conn); unanswered != nil {
			stop()
		}
	})
	err = r.read(reading, conn)
	stop()
	pinging.Wait()
	if unanswered != nil && ctx.Err() == nil {
		err = unanswered // a ping that cannot be written in time has ended the connection before it says so
	}
	return err
}

// connect makes the connection and subscribes.
func (r *reader) connect(ctx context.Context) (*websocket.Conn, error) {
	release, err := r.cfg.Guard.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	header := http.Header{"User-Agent": {"graphd"}}
	outbound.Set(header, r.cfg.Headers)
	conn, resp, err := websocket.Dial(connecting, r.cfg.URL, &websocket.DialOptions{
		HTTPClient: r.client, HTTPHeader: header,
	})
	switch {
	case err != nil && connecting.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%s did not answer within %v", r.host, connectTimeout)
	case err != nil && resp != nil:
		return nil, fmt.Errorf("%s answered %s, not a WebSocket", r.host,
			strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", r.host, outbound.Cause(err))
	}
	conn.SetReadLimit(int64(r.cfg.MaxBytes))
	for i, text := range r.cfg.Subscribe {
		if err := conn.Write(connecting, websocket.MessageText, []byte(text)); err != nil {
			_ = conn.CloseNow() // the error that ended it says more
			return nil, fmt.Errorf("%s was lost while subscribe message %d was sent: %w", r.host, i+1, plain(err))
		}
	}
	return conn, nil
}

// read hands over messages until the connection ends.
func (r *reader) read(ctx context.Context, conn *websocket.Conn) error {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if errors.Is(err, websocket.ErrMessageTooBig) {
				return r.refuse(ctx)
			}
			return fmt.Errorf("the connection to %s was lost: %w", r.host, plain(err))
		}
		r.number++
		ev := boundary.Event{Raw: data, At: time.Now(), Pos: boundary.Position{Stream: stream, Offset: r.number}}
		r.handed.Add(1)
		err = r.out.Emit(ctx, append(accumulator.NewBatch(r.out, 1), ev))
		r.handed.Add(1)
		if err != nil {
			return err
		}
	}
}

// refuse makes a dead letter of a message over the limit, whose bytes were not kept.
func (r *reader) refuse(ctx context.Context) error {
	r.number++
	bad := &accumulator.BadEvent{
		Stage: "size", Code: "too_large", Text: fmt.Sprintf("the message has more than %d bytes, the limit",
			r.cfg.MaxBytes),
	}
	ev := boundary.Event{At: time.Now(), Pos: boundary.Position{Stream: stream, Offset: r.number}}
	if err := r.out.Refuse(ctx, ev, bad); err != nil {
		return err
	}
	return fmt.Errorf("%s sent a message of more than %d bytes; the connection was ended", r.host, r.cfg.MaxBytes)
}

// plain is a connection's error without what the other side wrote into it.
func plain(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return fmt.Errorf("it was closed with %d (%s)", int(closed.Code), closed.Code)
	}
	return err
}

// ping keeps the connection alive until ctx is done or the connection is closed. The error is that the other end does
// not answer.
func (r *reader) ping(ctx context.Context, conn *websocket.Conn) error {
	ticker := time.NewTicker(r.cfg.Ping)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		before := r.handed.Load()
		waiting, cancel := context.WithTimeout(ctx, r.cfg.Ping)
		err := conn.Ping(waiting)
		late := errors.Is(waiting.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err == nil || late && r.excused(before):
		case late || ctx.Err() == nil && !errors.Is(err, net.ErrClosed):
			return fmt.Errorf("%s did not answer a ping within %v", r.host, r.cfg.Ping)
		default:
			return nil // the read, which ends, knows why
		}
	}
}

// excused tells whether an answer may be late: since handed was before, a message was handed over, for a time or still,
// during which nothing was read, or was read instead of the answer.
func (r *reader) excused(before int64) bool {
	now := r.handed.Load()
	return now != before || now%2 == 1
}
