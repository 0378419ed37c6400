package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/client"
)

// Each epoch of this graph numbers an output's frame and a firing's: the outputs' numbers
// are the odd ones.
const streamGraph = `{"graph":"stream","accumulators":{"a":{"strategy":"sequential"}},"nodes":{"n":{"expr":"a"}},` +
	`"outputs":{"o":{"from":"n","sink":{"websocket":{}}}},"history":{"keep":%d}}`

// pushing pushes events one after the other, a few at a time, until it is stopped.
type pushing struct {
	sent  atomic.Int64
	stop  context.CancelFunc
	ended chan error
}

func startPushing(t *testing.T, p *process, event func(n int64) string, each int64, pause time.Duration) *pushing {
	t.Helper()
	conn, err := dialPush(p, "stream", "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &pushing{stop: cancel, ended: make(chan error, 1)}
	go func() { // joined by finish
		defer conn.CloseNow()
		for {
			select {
			case <-ctx.Done():
				l.ended <- nil
				return
			case <-time.After(pause):
			}
			from := l.sent.Load()
			var list []string
			for i := range each {
				list = append(list, event(from+i))
			}
			if err := pushFrame(conn, from, strings.Join(list, ","), int(each)); err != nil {
				l.ended <- err
				return
			}
			l.sent.Add(each)
		}
	}()
	return l
}

// finish stops it and says how many events were acknowledged.
func (l *pushing) finish(t *testing.T) int64 {
	t.Helper()
	l.stop()
	if err := <-l.ended; err != nil {
		t.Fatal(err)
	}
	return l.sent.Load()
}

// A subscriber that reconnects ten times under load, each time behind the last frame it has
// seen: what it missed is sent, or announced as a gap, and nothing else is lost or doubled.
func TestSubscriberReconnects(t *testing.T) {
	p := start(t, t.TempDir())
	apply(t, p, "stream", fmt.Sprintf(streamGraph, 200))
	api, err := client.New(client.Config{BaseURL: p.base})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	load := startPushing(t, p, func(n int64) string { return fmt.Sprint(n) }, 10, 2*time.Millisecond)
	next, since := int64(1), "" // the number of the frame that is due, of the odd ones
	received, missed, gaps := int64(0), int64(0), 0
	follow := func(enough func() bool) {
		w, err := api.Watch(ctx, "stream", []string{"outputs"}, since)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for !enough() {
			f, err := w.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case since == "" && f.Type == "output": // the first frame of all
				next = f.Seq + 2
				received++
			case f.Type == "gap" && f.From <= next && f.To >= next:
				gaps++
				missed += (f.To - next + 2) / 2
				next += (f.To - next + 2) / 2 * 2
			case f.Type == "output" && f.Seq == next && string(f.Value) == fmt.Sprint((f.Seq-1)/2):
				next += 2
				received++
			default:
				t.Fatalf("frame %d was due and %+v came", next, f)
			}
			since = fmt.Sprintf("%d:%d", f.Incarnation, f.Seq)
		}
	}
	follow(func() bool { return received >= 100 })
	first := next/2 - received
	for i := range 10 {
		if i%2 == 1 { // away for longer than the history reaches back
			away := load.sent.Load()
			p.until("the history has gone on", stuck, func() bool { return load.sent.Load() > away+400 })
		}
		more := received + 150
		follow(func() bool { return received >= more })
	}
	sent := load.finish(t)
	follow(func() bool { return next/2 >= sent })
	if first+received+missed != sent || gaps < 5 {
		t.Errorf("of %d values %d came, %d were announced as missed in %d gaps, %d were before the first", sent,
			received, missed, gaps, first)
	}
	t.Logf("%d values: %d received, %d announced as missed in %d gaps", sent, received, missed, gaps)
}

// A subscriber that reads nothing costs nobody else anything: pushes go on, another
// subscriber sees every value, and the slow one is closed and counted.
func TestSlowSubscriberCostsNobody(t *testing.T) {
	p := start(t, t.TempDir())
	apply(t, p, "stream", fmt.Sprintf(streamGraph, 100))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	slow, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.base, "http")+"/v1/ws/graphs/stream/reactor",
		&websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.CloseNow()
	if err := slow.Write(ctx, websocket.MessageText,
		[]byte(`{"type":"subscribe","id":1,"topics":["outputs"]}`)); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(client.Config{BaseURL: p.base})
	if err != nil {
		t.Fatal(err)
	}
	w, err := api.Watch(ctx, "stream", []string{"outputs"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pad := strings.Repeat("x", 8<<10)
	// What is pushed is no further ahead of the one that reads than its queue is long, however slow this test is.
	ahead := make(chan struct{}, 100)
	reading, enough := context.WithCancel(ctx)
	defer enough()
	load := startPushing(t, p, func(n int64) string {
		select {
		case ahead <- struct{}{}:
		case <-reading.Done():
		}
		return fmt.Sprintf(`{"n":%d,"pad":%q}`, n, pad)
	}, 5, 5*time.Millisecond)
	for n := int64(0); n < 4000; n++ {
		f, err := w.Next(ctx)
		<-ahead
		if err != nil || f.Type != "output" {
			t.Fatalf("value %d: %v %+v", n, err, f)
		}
		var v struct{ N int64 }
		if err := json.Unmarshal(f.Value, &v); err != nil || v.N != n {
			t.Fatalf("%v: %d came where %d was due", err, v.N, n)
		}
	}
	enough()
	if sent := load.finish(t); sent < 4000 {
		t.Fatalf("void: %d values", sent)
	}
	p.until("the slow subscriber is closed", stuck, func() bool {
		return strings.Contains(p.metrics(), "graphd_websocket_slow_closed_total 1")
	})
	if s := p.summary("stream"); s.balanced() != nil || s.Health != "live" {
		t.Errorf("%+v", s)
	}
}
