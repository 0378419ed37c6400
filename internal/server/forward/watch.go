package forward

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

const (
	// watchPath is where a member is subscribed to for the shards that it has: the answer, and then a frame a line.
	watchPath = "/parts/watch"
	// maxFrame bounds one of them.
	maxFrame = 64 << 20
	// frameTime is how long a member may take for a frame.
	frameTime = 30 * time.Second
)

// Follow implements [parts.Members]. The subscription ends with ctx.
func (m *Members) Follow(ctx context.Context, o *checkpoint.Member, call *parts.Call) (
	a *parts.Answer, frames parts.Frames, err error) {
	defer func() { m.unasked(ctx, o, call, err) }()
	p := m.to(o)
	leave, entered := m.enter(p.sockets)
	if !entered {
		return nil, nil, errBusy
	}
	ctx, stop := context.WithCancel(ctx)
	body, _, err := p.call(ctx, watchPath, call)
	if err != nil {
		stop()
		leave()
		return nil, nil, err
	}
	f := &followed{body: body, lines: bufio.NewScanner(body), stop: func() { stop(); leave() }}
	f.lines.Buffer(nil, maxFrame)
	a = new(parts.Answer)
	if err = f.next(a); err != nil || a.Refusal != nil {
		f.Close()
		return a, nil, err
	}
	return a, f, nil
}

// followed is a subscription to a member.
type followed struct {
	body  io.ReadCloser
	lines *bufio.Scanner
	stop  func() // once
}

func (f *followed) next(into any) error {
	if !f.lines.Scan() {
		if err := f.lines.Err(); err != nil {
			return fmt.Errorf("read from the member: %w", err)
		}
		return io.EOF
	}
	if err := json.Unmarshal(f.lines.Bytes(), into); err != nil {
		return fmt.Errorf("read what the member says: %w", err)
	}
	return nil
}

// Next implements [parts.Frames]; it ends with the context that Follow was given.
func (f *followed) Next(context.Context) (*api.Frame, error) {
	frame := new(api.Frame)
	if err := f.next(frame); err != nil {
		return nil, err
	}
	return frame, nil
}

// Close implements [parts.Frames].
func (f *followed) Close() {
	f.stop()
	_ = f.body.Close() // it ends with the context
}

// answerWatch subscribes another member to shards that run here, until it goes.
func (m *Members) answerWatch(w http.ResponseWriter, r *http.Request) {
	call := heard(w, r)
	if call == nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.life, cancel)()
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // as for a WebSocket: it lasts
	send := func(line any) error {
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if err := out.SetWriteDeadline(time.Now().Add(frameTime)); err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	answer, frames := m.daemon.WatchPart(ctx, call)
	if frames != nil {
		defer frames.Close()
	}
	if send(answer) != nil || out.Flush() != nil || frames == nil {
		return
	}
	for {
		f, err := frames.Next(ctx)
		if err != nil || send(f) != nil || out.Flush() != nil {
			return
		}
	}
}
