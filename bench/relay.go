package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fastjson"
)

// relayQueue is how many frames wait for a subscriber of the relay before its sender waits.
const relayQueue = 4096

// relay is the floor of W4 and W4b: what a good programmer would write by hand to take
// ticks over WebSocket or HTTP, do W1's job on each, and send what comes of it to
// WebSocket subscribers. It neither answers a frame, nor keeps, nor counts, nor reports.
type relay struct {
	mu          sync.Mutex
	subscribers map[chan []byte]struct{}
	parsers     sync.Pool // *fastjson.Parser
}

// runRelay is `bench floor relay`: it serves until it is interrupted.
func runRelay() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r := &relay{subscribers: make(map[chan []byte]struct{})}
	r.parsers.New = func() any { return new(fastjson.Parser) }
	mux := http.NewServeMux()
	mux.HandleFunc("/push", r.push)
	mux.HandleFunc("/watch", r.watch)
	mux.HandleFunc("POST /events", r.post)
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context {
			return ctx
		},
	}
	fmt.Printf("{\"listen\":%q}\n", l.Addr())
	go func() { // ends with the process
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func (r *relay) push(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	var p fastjson.Parser
	for {
		_, data, err := conn.Read(req.Context())
		if err != nil {
			return
		}
		if err := r.handle(&p, data); err != nil {
			_ = conn.Close(websocket.StatusPolicyViolation, err.Error())
			return
		}
	}
}

func (r *relay) post(w http.ResponseWriter, req *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	if err == nil {
		p, _ := r.parsers.Get().(*fastjson.Parser)
		err = r.handle(p, data)
		r.parsers.Put(p)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":1}`)
}

// handle does W1's job on one tick.
func (r *relay) handle(p *fastjson.Parser, data []byte) error {
	v, err := p.ParseBytes(data)
	if err != nil {
		return err
	}
	bid, ask := v.GetFloat64("bid"), v.GetFloat64("ask")
	if ask-bid <= 0.015 {
		return nil
	}
	out := appendWide(make([]byte, 0, 96), v, bid, ask)
	r.mu.Lock()
	defer r.mu.Unlock()
	for ch := range r.subscribers {
		ch <- out
	}
	return nil
}

func (r *relay) watch(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx := conn.CloseRead(req.Context())
	ch := make(chan []byte, relayQueue)
	r.mu.Lock()
	r.subscribers[ch] = struct{}{}
	r.mu.Unlock()
	defer func() {
		go func() { // until it is no subscriber any more, nobody may wait for it
			for range ch {
			}
		}()
		r.mu.Lock()
		delete(r.subscribers, ch)
		r.mu.Unlock()
		close(ch)
	}()
	for {
		select {
		case out := <-ch:
			if err := conn.Write(ctx, websocket.MessageText, out); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
