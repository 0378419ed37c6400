package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
)

const (
	// unanswered is how many frames a PushStream sends ahead of their answers: enough that no round trip is waited for,
	// fewer than the daemon reads ahead.
	unanswered = 16
	// frameEvents and frameBytes bound one frame: every rejection of so many events is listed in its answer.
	frameEvents, frameBytes = 1000, 1 << 20
)

// PushStream pushes to one accumulator over a WebSocket. While the accumulator is full the daemon reads nothing, and
// [PushStream.Send] waits: nothing is refused for want of room. Send and Flush belong to one goroutine.
type PushStream struct {
	conn   *websocket.Conn
	most   int           // bytes of a frame
	room   chan struct{} // a place for each frame that is not answered
	ended  chan struct{} // closed when the receiver has ended
	events []int         // of each frame that is not answered, how many; under mu
	next   int64         // the number of the next frame

	mu   sync.Mutex
	sum  PushResult
	done int // events that were answered since the last Flush
	err  error
}

// PushStream connects; ctx is for the connecting alone. End the stream with Close.
func (c *Client) PushStream(ctx context.Context, name, accumulator string) (*PushStream, error) {
	conn, err := c.dial(ctx, "/v1/ws"+strings.TrimPrefix(graph(name, "accumulators", accumulator), "/v1"))
	if err != nil {
		return nil, err
	}
	s := &PushStream{conn: conn, most: frameBytes, room: make(chan struct{}, unanswered), ended: make(chan struct{})}
	var hello struct {
		Limits struct {
			Bytes int `json:"frame_bytes"`
		}
	}
	_, data, err := conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(data, &hello)
	}
	if err != nil {
		_ = conn.CloseNow() // the error is what came before
		return nil, fmt.Errorf("push: the daemon's first frame: %w", err)
	}
	if hello.Limits.Bytes > 0 {
		s.most = min(s.most, hello.Limits.Bytes)
	}
	go s.receive() // joined by Close
	return s, nil
}

// Send pushes events, each anything that encodes as JSON, in order. It waits for room, and returns when they are on
// their way: [PushStream.Flush] says what has become of them.
func (s *PushStream) Send(ctx context.Context, events ...any) error {
	var body []byte
	count := 0
	for i, event := range events {
		text, err := json.Marshal(event)
		if err != nil {
			return fmt.Errorf("push: event %d: %w", i, err)
		}
		if count > 0 && (count == frameEvents || len(body)+len(text)+frameHead > s.most) {
			if err := s.write(ctx, body, count); err != nil {
				return err
			}
			body, count = body[:0], 0
		}
		if count > 0 {
			body = append(body, ',')
		}
		body = append(body, text...)
		count++
	}
	if count == 0 {
		return nil
	}
	return s.write(ctx, body, count)
}

// frameHead is more than a frame has beside its events.
const frameHead = 100

// write sends one frame when there is room for it.
func (s *PushStream) write(ctx context.Context, list []byte, count int) error {
	select {
	case s.room <- struct{}{}:
	case <-s.ended:
		return s.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	s.events = append(s.events, count)
	s.mu.Unlock()
	s.next++
	frame := fmt.Appendf(make([]byte, 0, len(list)+frameHead), `{"type":"events","id":%d,"data":[%s]}`, s.next, list)
	if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the connection has ended with it
		}
		<-s.ended // it knows more of why
		return s.failure()
	}
	return nil
}

// Flush waits until the daemon has answered what was sent, and says what has become of it since the last Flush, with
// rejections by their place in that. On an error it says so of what was answered before: what was sent after the first
// Accepted events and the Rejected ones may have been taken or not.
func (s *PushStream) Flush(ctx context.Context) (PushResult, error) {
	var err error
	held := 0
	for held < unanswered && err == nil { // all of the room is free when everything was answered
		select {
		case s.room <- struct{}{}:
			held++
		case <-s.ended:
			err = s.failure()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	for range held {
		<-s.room
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.sum
	sum.Durable = s.done > 0 && sum.Durable
	s.sum, s.done = PushResult{}, 0
	return sum, err
}

// Close ends the stream without waiting for answers: Flush first.
func (s *PushStream) Close() error {
	err := s.conn.Close(websocket.StatusNormalClosure, "")
	<-s.ended
	if err != nil && websocket.CloseStatus(err) < 0 && s.failure() == nil {
		return fmt.Errorf("close the stream: %w", err)
	}
	return nil
}

func (s *PushStream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// receive takes the answers until the connection ends or one of them is an error.
func (s *PushStream) receive() {
	defer close(s.ended)
	for {
		_, data, err := s.conn.Read(context.Background()) // Close ends it
		if err == nil {
			err = s.answered(data)
		}
		if err != nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			_ = s.conn.CloseNow() // the error says why
			return
		}
		<-s.room
	}
}

// answered counts one answer.
func (s *PushStream) answered(data []byte) error {
	var f struct {
		Type, Code, Detail string
		Status             int
		PushResult
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("push: the answer is not a frame: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Type == "error":
		return &api.Problem{Status: max(f.Status, http.StatusBadRequest), Code: f.Code, Title: "the push was refused",
			Detail: f.Detail}
	case f.Type != "ack" || len(s.events) == 0:
		return errors.New("push: a frame that is no answer: " + f.Type)
	}
	for i := range f.Rejected {
		f.Rejected[i].Index += s.done
	}
	s.sum.Durable = f.Durable && (s.done == 0 || s.sum.Durable)
	s.sum.Accepted += f.Accepted
	s.sum.Filtered += f.Filtered
	s.sum.Rejected = append(s.sum.Rejected, f.Rejected...)
	s.done += s.events[0]
	s.events = s.events[1:]
	return nil
}
