package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"github.com/graphd/graphd/internal/api"
)

const (
	// maxFrame bounds one frame: a value may be as large as a request body of the daemon.
	maxFrame = 256 << 20
)

// Watch is a subscription to what happens in one graph, or in all of the tenant's. It
// belongs to one goroutine.
type Watch struct {
	conn *websocket.Conn
	at   api.Places // where it has begun in the shards of its graph
}

// Watch subscribes. graph "" is every graph of the tenant; since is the place of
// the last frame that was seen, see [Frame.Place], "" for from now on.
func (c *Client) Watch(ctx context.Context, name string, topics []string, since string) (*Watch, error) {
	return c.watch(ctx, name, &subscription{Topics: topics, Since: since})
}

// subscription is what is asked for.
type subscription struct {
	Type   string   `json:"type"`
	ID     int      `json:"id"`
	Topics []string `json:"topics"`
	Since  string   `json:"since,omitempty"`
	Where  string   `json:"where,omitempty"`
	Sample int      `json:"sample,omitempty"`
}

func (c *Client) watch(ctx context.Context, name string, q *subscription) (*Watch, error) {
	path := "/v1/ws/events"
	if name != "" {
		path = "/v1/ws" + strings.TrimPrefix(graph(name, "reactor"), "/v1")
	}
	conn, err := c.dial(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &Watch{conn: conn}
	if err := w.subscribe(ctx, q); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// dial opens a socket.
func (c *Client) dial(ctx context.Context, path string) (*websocket.Conn, error) {
	header := http.Header{}
	c.identify(header)
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.base, "http")+path, &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: header, Subprotocols: []string{api.Subprotocol},
	})
	if err != nil {
		if res != nil && res.StatusCode >= http.StatusBadRequest && res.Body != nil {
			data, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // what came of it decides
			return nil, problem(res, data)
		}
		return nil, c.unreachable(ctx, err)
	}
	conn.SetReadLimit(maxFrame)
	return conn, nil
}

// subscribe asks, and waits for the daemon's word that it has.
func (w *Watch) subscribe(ctx context.Context, q *subscription) error {
	q.Type, q.ID = "subscribe", 1
	ask, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode the subscription: %w", err)
	}
	if err := w.conn.Write(ctx, websocket.MessageText, ask); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	for {
		_, data, err := w.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		var f struct {
			Type, Code, Detail, At string
			Status                 int
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("subscribe: the answer is not a frame: %w", err)
		}
		switch f.Type {
		case "hello":
		case "error":
			return &api.Problem{Status: max(f.Status, http.StatusBadRequest), Code: f.Code, Detail: f.Detail}
		case "result":
			w.at, _ = api.ParsePlaces(f.At) // what cannot be read is as if it had not been said
			return nil
		default:
			return fmt.Errorf("subscribe: a frame %q came before the answer", f.Type)
		}
	}
}

// Next is the next frame. io.EOF says that the daemon has closed the subscription: it is
// stopping, or the graph is gone.
func (w *Watch) Next(ctx context.Context) (*api.Frame, error) {
	for {
		_, data, err := w.conn.Read(ctx)
		if err != nil {
			switch websocket.CloseStatus(err) {
			case websocket.StatusNormalClosure, websocket.StatusGoingAway:
				return nil, io.EOF
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("the stream ended: %w", err)
		}
		f := &api.Frame{}
		if err := json.Unmarshal(data, f); err != nil {
			return nil, fmt.Errorf("read a frame: %w", err)
		}
		switch f.Type {
		case "output", "firing", "health", "state", "summary", "gap":
			return f, nil
		}
	}
}

// Close ends the subscription.
func (w *Watch) Close() error {
	// The daemon's answer to the close is not worth waiting for.
	if err := w.conn.CloseNow(); err != nil && !errors.Is(err, io.EOF) && websocket.CloseStatus(err) < 0 {
		return fmt.Errorf("close the stream: %w", err)
	}
	return nil
}
