package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// liveGraph is W1 on a socket: what W4 and W4b run. Like the relay it keeps nothing.
const liveGraph = `graph: live
accumulators:
  ticks:
    source: { websocket: {} }
    where: event.ask - event.bid > 0.015
    emit:
      symbol: event.symbol
      mid: (event.bid + event.ask) / 2
      spread: event.ask - event.bid
      ts: event.ts
reactor: { strategy: sequential }
nodes: {}
outputs:
  wide: { from: ticks, sink: { drop: {} } }
durability: { mode: none }
`

// drive is one open-loop load: events are due at fixed moments, whatever became of those before.
type drive struct {
	rate        int // events per second
	seconds     int
	connections int  // that send
	subscribers int  // that watch
	http        bool // events are posted, and what is timed is the answer
	graphd      bool // the server is the daemon, otherwise the relay
}

func (d *drive) events() int { return d.rate * d.seconds }

// due is when event i is meant to be sent, after the start.
func (d *drive) due(i int) time.Duration {
	return time.Duration(i) * time.Second / time.Duration(d.rate)
}

// driven is what a load came to.
type driven struct {
	cpu       time.Duration   // of the server
	peak      int64           // its memory, bytes
	took      time.Duration   // from the start to the last output
	latencies []time.Duration // sorted, from the moment an event was due
	lost      int
}

func (r *driven) percentile(p float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[int(float64(len(r.latencies)-1)*p/100)]
}

// settleFor is how long the connections have to be up before the load begins.
const settleFor = 200 * time.Millisecond

// patience is how long a load may go on after its last event was due.
const patience = 20 * time.Second

// run drives s and waits until every output has come, or patience is over.
func (d *drive) run(ctx context.Context, s *server) (*driven, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(d.seconds)*time.Second+patience+settleFor)
	defer cancel()
	res := &driven{}
	watches := make([]*watcher, d.subscribers)
	for i := range watches {
		w, err := d.subscribe(ctx, s)
		if err != nil {
			return nil, err
		}
		defer w.close()
		watches[i] = w
	}
	senders, err := d.open(ctx, s)
	if err != nil {
		return nil, err
	}
	before, err := s.usage()
	if err != nil {
		return nil, err
	}
	start := time.Now().Add(settleFor)
	var wg sync.WaitGroup
	errs := make(chan error, d.subscribers+d.connections)
	for _, w := range watches {
		w.start = start
		wg.Go(func() { errs <- w.collect(ctx) })
	}
	replies := make([][]time.Duration, len(senders))
	for i, send := range senders {
		wg.Go(func() {
			var err error
			replies[i], err = d.pace(ctx, start, i, send)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.log.String())
	}
	res.took = time.Since(start)
	after, err := s.usage()
	if err != nil {
		return nil, err
	}
	res.cpu, res.peak = after.CPU-before.CPU, after.Peak
	for _, r := range replies {
		res.latencies = append(res.latencies, r...)
	}
	for _, w := range watches {
		res.lost += w.want - len(w.latencies)
		res.latencies = append(res.latencies, w.latencies...)
	}
	slices.Sort(res.latencies)
	return res, nil
}

// pace sends what connection k has to send, each event when it is due or as soon after as
// the one before has gone. It answers how long after they were due the replies came, where
// a sender waits for them.
func (d *drive) pace(ctx context.Context, start time.Time, k int, send func(ctx context.Context, body []byte) error) (
	late []time.Duration, err error) {
	r := rand.New(rand.NewPCG(uint64(k), 4))
	var body []byte
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := k; i < d.events(); i += d.connections {
		if wait := time.Until(start.Add(d.due(i))); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		body = bytes.TrimSpace(appendTick(body[:0], r, i))
		if err := send(ctx, body); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		if d.http {
			late = append(late, time.Since(start.Add(d.due(i))))
		}
	}
	return late, nil
}

// open opens the connections that send.
func (d *drive) open(ctx context.Context,
	s *server) (senders []func(ctx context.Context, body []byte) error, err error) {
	for range d.connections {
		send := d.post(s)
		if !d.http {
			if send, err = d.socket(ctx, s); err != nil {
				return nil, err
			}
		}
		senders = append(senders, send)
	}
	return senders, nil
}

// post sends an event as one request, over a connection of its own.
func (d *drive) post(s *server) func(ctx context.Context, body []byte) error {
	url := "http://" + s.addr + "/events"
	if d.graphd {
		url = "http://" + s.addr + "/v1/graphs/live/accumulators/ticks/events"
	}
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	return func(ctx context.Context, body []byte) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(res.Body); err != nil {
			return err
		}
		if res.StatusCode/100 != 2 || !bytes.Contains(answer.Bytes(), []byte(`"accepted":1`)) {
			return fmt.Errorf("post: %s: %s", res.Status, answer.Bytes())
		}
		return nil
	}
}

// socket sends events as frames; what the daemon answers is read and checked aside.
func (d *drive) socket(ctx context.Context, s *server) (func(ctx context.Context, body []byte) error, error) {
	path, o := "/push", &websocket.DialOptions{}
	if d.graphd {
		path, o.Subprotocols = "/v1/ws/graphs/live/accumulators/ticks", []string{"graphd.v1+json"}
	}
	conn, _, err := websocket.Dial(ctx, "ws://"+s.addr+path, o)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.CloseNow() })
	var refused atomic.Pointer[string]
	go func() { // ends with the connection, which ends with ctx
		for {
			_, frame, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if bytes.Contains(frame, []byte(`"type":"error"`)) || bytes.Contains(frame, []byte(`"accepted":0`)) {
				text := string(frame)
				refused.Store(&text)
			}
		}
	}()
	var frame []byte
	return func(ctx context.Context, body []byte) error {
		if text := refused.Load(); text != nil {
			return fmt.Errorf("refused: %s", *text)
		}
		frame = append(frame[:0], body...)
		if d.graphd {
			frame = append(append(append(frame[:0], `{"type":"event","data":`...), body...), '}')
		}
		return conn.Write(ctx, websocket.MessageText, frame)
	}, nil
}

// watcher is a subscriber: it notes how long after its event was due each output came.
type watcher struct {
	d         *drive
	conn      *websocket.Conn
	start     time.Time
	want      int
	latencies []time.Duration
}

func (d *drive) subscribe(ctx context.Context, s *server) (*watcher, error) {
	path, o := "/watch", &websocket.DialOptions{}
	if d.graphd {
		path, o.Subprotocols = "/v1/ws/graphs/live/reactor", []string{"graphd.v1+json"}
	}
	conn, _, err := websocket.Dial(ctx, "ws://"+s.addr+path, o)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	conn.SetReadLimit(1 << 20)
	if d.graphd {
		if err := conn.Write(ctx, websocket.MessageText,
			[]byte(`{"type":"subscribe","id":1,"topics":["outputs"]}`)); err != nil {
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		for answered := false; !answered; {
			_, frame, err := conn.Read(ctx)
			if err != nil {
				return nil, fmt.Errorf("subscribe: %w", err)
			}
			answered = bytes.Contains(frame, []byte(`"type":"result"`))
		}
	}
	want := (d.events() + 1) / 2
	return &watcher{d: d, conn: conn, want: want, latencies: make([]time.Duration, 0, want)}, nil
}

func (w *watcher) close() { _ = w.conn.CloseNow() }

// collect reads until every output has come, each once and in order. What does not come
// in time is lost, which is no error here: it is reported.
func (w *watcher) collect(ctx context.Context) error {
	next := 0
	for len(w.latencies) < w.want {
		_, frame, err := w.conn.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch: %w", err)
		}
		now := time.Now()
		if w.d.graphd && !bytes.Contains(frame, []byte(`"type":"output"`)) {
			if bytes.Contains(frame, []byte(`"type":"error"`)) {
				return fmt.Errorf("watch: %s", frame)
			}
			continue // hello, the answer to the subscription, or a gap, which shows in the count
		}
		i, err := indexOf(frame)
		if err != nil {
			return err
		}
		if i < next && w.d.connections == 1 {
			return fmt.Errorf("watch: event %d came after %d", i, next)
		}
		next = i + 1
		w.latencies = append(w.latencies, now.Sub(w.start.Add(w.d.due(i))))
		if w.d.connections == 1 && i >= w.d.events()-2 {
			break // the last: what has not come before it never will
		}
	}
	return nil
}

// indexOf is which event an output is of, which its ts says.
func indexOf(frame []byte) (int, error) {
	const mark = `"ts":`
	at := bytes.LastIndex(frame, []byte(mark))
	if at < 0 {
		return 0, fmt.Errorf("a frame without ts: %s", frame)
	}
	digits := frame[at+len(mark):]
	end := 0
	for end < len(digits) && digits[end]-'0' <= 9 {
		end++
	}
	n, err := strconv.ParseInt(string(digits[:end]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the ts of %s: %w", frame, err)
	}
	return int(n - firstTS), nil
}
