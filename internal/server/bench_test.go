package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
)

const tick = `{"symbol":"AAPL","bid":101.25,"ask":101.27,"ts":1763632800123}`

// cpu is the processor time that the process has used, client and all.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// handWritten is the floor: what one would write without graphd, for the same answer.
func handWritten(taken *atomic.Int64) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/graphs/{graph}/accumulators/{accumulator}/events",
		func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if !json.Valid(body) {
				http.Error(w, "not JSON", http.StatusBadRequest)
				return
			}
			taken.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(api.PushResult{Accepted: 1, Rejected: []api.Rejection{}})
		})
	return mux
}

// BenchmarkPost is single events over 8 kept-alive connections, beside the floor.
func BenchmarkPost(b *testing.B) {
	ctl := newFake()
	ctl.discard = true
	for name, h := range map[string]http.Handler{
		"graphd": newServer(b, ctl, Config{}), "floor": handWritten(new(atomic.Int64)),
	} {
		b.Run(name, func(b *testing.B) { post(b, h) })
	}
}

func post(b *testing.B, h http.Handler) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(ln) })
	defer served.Wait()
	defer func() { _ = srv.Close() }()
	request := fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", events,
		len(tick), tick)
	const clients = 8
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu()
	for c := range clients {
		wg.Go(func() {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			buf := make([]byte, 4096)
			for i := c; i < b.N; i += clients {
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				n, err := conn.Read(buf) // an answer is one segment
				if err != nil || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200") {
					b.Errorf("%v %s", err, buf[:n])
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
}

// BenchmarkPostArray is a thousand events in one request.
func BenchmarkPostArray(b *testing.B) {
	ctl := newFake()
	ctl.discard = true
	s := newServer(b, ctl, Config{})
	body := "[" + strings.Repeat(tick+",", 999) + tick + "]"
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if x := exchangeOf(s, benchRequest(body)); x.status != 200 {
			b.Fatal(x.status)
		}
	}
}

func benchRequest(body string) *http.Request {
	r, _ := http.NewRequest("POST", events, strings.NewReader(body))
	return r
}

// BenchmarkSocket is single events over one connection with 100 unacknowledged at most,
// beside a relay without any checks.
func BenchmarkSocket(b *testing.B) {
	ctl := newFake()
	ctl.discard = true
	b.Run("graphd", func(b *testing.B) { stream(b, newServer(b, ctl, Config{})) })
	b.Run("floor", func(b *testing.B) {
		stream(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphd.v1+json"}})
			if err != nil {
				return
			}
			ctx := context.Background()
			_ = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"hello"}`))
			for {
				_, raw, err := ws.Read(ctx)
				if err != nil {
					return
				}
				var f struct {
					ID   int64
					Data json.RawMessage
				}
				if err := json.Unmarshal(raw, &f); err != nil {
					return
				}
				if err := ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"ack","id":%d,"accepted":1}`,
					f.ID)); err != nil {
					return
				}
			}
		}))
	})
}

func stream(b *testing.B, h http.Handler) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(ln) })
	defer served.Wait()
	defer func() { _ = srv.Close() }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	req := upgradeRequest()
	req.URL.Path = pushURL
	if err := req.Write(conn); err != nil {
		b.Fatal(err)
	}
	br := bufio.NewReaderSize(conn, 64<<10)
	if _, err := http.ReadResponse(br, req); err != nil {
		b.Fatal(err)
	}
	next := func() {
		head, err := br.Peek(2)
		if err != nil {
			b.Error(err)
			return
		}
		n := 2 + int(head[1])
		if head[1] == 126 {
			head, _ = br.Peek(4)
			n = 4 + int(head[2])<<8 + int(head[3])
		}
		_, _ = br.Discard(n)
	}
	next() // hello
	frame := `{"type":"event","id":123456,"data":` + tick + `}`
	wireFrame := append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0}, frame...)
	ahead := make(chan struct{}, 100)
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range b.N {
			ahead <- struct{}{}
			if _, err := conn.Write(wireFrame); err != nil {
				b.Error(err)
				return
			}
		}
	})
	for range b.N {
		next()
		<-ahead
	}
	wg.Wait()
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
}
