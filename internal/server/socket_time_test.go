package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/gate"
)

// pipes is a network in memory, so that time can be virtual.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial opens a raw connection, upgrades it and reads the hello.
func (p *pipes) dial(t *testing.T, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	ours, theirs := net.Pipe()
	p.conns <- theirs
	req := upgradeRequest()
	req.URL.Path, req.RequestURI = path, path
	go func() { _ = req.Write(ours) }()
	br := bufio.NewReader(ours)
	resp, err := http.ReadResponse(br, req)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v %v", resp, err)
	}
	if f := readFrame(t, br); f[0] != 0x81 || !bytes.HasPrefix(f[1:], []byte(`{"type":"hello"`)) {
		t.Fatalf("the first frame is %q", f)
	}
	return ours, br
}

// readFrame reads one frame of a server: its first byte and its payload.
func readFrame(t *testing.T, br *bufio.Reader) []byte {
	t.Helper()
	first, err := br.ReadByte()
	if err != nil {
		return nil
	}
	n, err := br.ReadByte()
	if err != nil {
		return nil
	}
	length := int(n)
	if n == 126 {
		hi, _ := br.ReadByte()
		lo, _ := br.ReadByte()
		length = int(hi)<<8 | int(lo)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(br, payload); err != nil {
		return nil
	}
	return append([]byte{first}, payload...)
}

// virtual runs s over pipes in a bubble of virtual time.
func virtual(t *testing.T, ctl Control, cfg Config, test func(t *testing.T, s *Server, network *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, ctl, cfg)
		network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		done := make(chan error)
		go func() { done <- s.Serve(context.Background(), network) }()
		defer func() { // also when the test fails at once
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}()
		test(t, s, network)
	})
}

// TestPing: pings come every 20 s; a client that does not answer one is closed.
func TestPing(t *testing.T) {
	t.Parallel()
	virtual(t, newFake(), Config{}, func(t *testing.T, s *Server, network *pipes) {
		began := time.Now()
		conn, br := network.dial(t, reactorURL)
		for i := range 3 {
			f := readFrame(t, br)
			if d := time.Since(began); len(f) == 0 || f[0] != 0x89 || d != time.Duration(i+1)*20*time.Second {
				t.Fatalf("got %q after %v, want a ping", f, d)
			}
			pong := append([]byte{0x8a, byte(0x80 | len(f) - 1), 0, 0, 0, 0}, f[1:]...)
			if _, err := conn.Write(pong); err != nil {
				t.Fatal(err)
			}
		}
		if f := readFrame(t, br); len(f) == 0 || f[0] != 0x89 { // left unanswered
			t.Fatalf("got %q, want a ping", f)
		}
		f := readFrame(t, br)
		if d := time.Since(began); len(f) < 3 || f[0] != 0x88 || int(f[1])<<8|int(f[2]) != 1001 || d != 90*time.Second {
			t.Fatalf("got %q after %v, want 1001 after 90s", f, d)
		}
		_ = conn.Close()
		synctest.Wait()
		if n := s.Stats().WebSockets; n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// TestPingHeldBack: a client that is held back because the accumulator is full is not asked
// whether it lives, and not taken for dead.
func TestPingHeldBack(t *testing.T) {
	t.Parallel()
	f := newFake()
	virtual(t, f, Config{}, func(t *testing.T, s *Server, network *pipes) {
		f.room, f.full = make(chan struct{}), true // made in the bubble
		ours, br := network.dial(t, pushURL)
		const sent = 600 // more than the reader reads ahead: 256 frames that wait, and 256 that the writer has taken
		go func() {
			for range sent {
				frame := `{"type":"event","data":1}`
				if _, err := ours.Write(append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0},
					frame...)); err != nil {
					return
				}
			}
		}()
		go func() {
			time.Sleep(10*time.Minute + time.Second) // not when a ping is due
			f.open()
		}()
		acks := 0
		for acks < sent {
			frame := readFrame(t, br)
			switch {
			case frame == nil:
				t.Fatalf("the connection ended after %d acknowledgements", acks)
			case frame[0] == 0x81:
				acks++
			default:
				t.Fatalf("%q while the client's writes are blocked", frame)
			}
		}
		_ = ours.Close()
	})
}

// TestSlowWatcher: a watcher that takes nothing for 5 s is closed, and holds nobody up.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	f := newFake()
	virtual(t, f, Config{}, func(t *testing.T, s *Server, network *pipes) {
		ours, br := network.dial(t, reactorURL)
		frame := `{"type":"subscribe","topics":["outputs"]}`
		if _, err := ours.Write(append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0}, frame...)); err != nil {
			t.Fatal(err)
		}
		if got := readFrame(t, br); !bytes.Contains(got, []byte(`"result"`)) {
			t.Fatalf("got %q", got)
		}
		sub := f.sub(0)
		sub.frames <- &api.Frame{Type: "output", Graph: "g", Output: "o"}
		sub.frames <- &api.Frame{Type: "output", Graph: "g", Output: "o"}
		began := time.Now()
		<-sub.closed
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("closed after %v", d)
		}
		synctest.Wait()
		time.Sleep(15 * time.Second) // the goodbye that nobody takes
		if st := s.Stats(); st.SlowClosed != 1 || st.WebSockets != 0 {
			t.Errorf("got %+v", st)
		}
		_ = ours.Close()
	})
}

// expelling is a gate that lets everybody in, and nobody stay once it is told to.
type expelling struct {
	Gate
	all atomic.Bool
}

func (e *expelling) Still(context.Context, *access.Principal) error {
	if e.all.Load() {
		return &api.Error{Status: http.StatusUnauthorized, Code: api.CodeInvalidToken, Detail: "it was revoked"}
	}
	return nil
}

// TestLateGoodbye: one who may not stay and takes its last words late is told why all the same, and one who takes
// nothing is cut off soon.
func TestLateGoodbye(t *testing.T) {
	t.Parallel()
	f, g := newFake(), &expelling{Gate: gate.Open()}
	virtual(t, f, Config{Gate: g}, func(t *testing.T, s *Server, network *pipes) {
		late, br := network.dial(t, reactorURL)
		frame := `{"type":"subscribe","topics":["outputs"]}`
		if _, err := late.Write(append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0}, frame...)); err != nil {
			t.Fatal(err)
		}
		if got := readFrame(t, br); !bytes.Contains(got, []byte(`"result"`)) {
			t.Fatalf("got %q", got)
		}
		mute, _ := network.dial(t, reactorURL)
		f.sub(0).frames <- &api.Frame{Type: "output", Graph: "g", Output: "o"}
		g.all.Store(true)
		time.Sleep(askAgain + 450*time.Millisecond)
		if got := readFrame(t, br); !bytes.Contains(got, []byte(`"output"`)) {
			t.Errorf("the last words are %q", got)
		}
		if got := readFrame(t, br); len(got) < 3 || got[0] != 0x88 || int(got[1])<<8|int(got[2]) != 1008 {
			t.Errorf("the goodbye is %q, want 1008", got)
		}
		time.Sleep(time.Second)
		if n := s.Stats().WebSockets; n != 0 {
			t.Errorf("%d connections are left", n)
		}
		_, _ = late.Close(), mute.Close()
	})
}

// TestSocketPace: more frames than allowed are not refused: they are read later.
func TestSocketPace(t *testing.T) {
	t.Parallel()
	virtual(t, newFake(), Config{FramesPerSecond: 10}, func(t *testing.T, _ *Server, network *pipes) {
		began := time.Now()
		ours, br := network.dial(t, pushURL)
		go func() {
			for range 35 {
				frame := `{"type":"event","data":1}`
				if _, err := ours.Write(append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0},
					frame...)); err != nil {
					return
				}
			}
		}()
		for range 35 {
			if f := readFrame(t, br); !strings.Contains(string(f), `"ack"`) {
				t.Fatalf("got %q", f)
			}
		}
		if d := time.Since(began).Round(time.Millisecond); d != 2500*time.Millisecond {
			t.Errorf("35 frames took %v, want 2.5s", d)
		}
		_ = ours.Close()
	})
}

// TestShutdownDeadline: what does not end in time is cut off, and said.
func TestShutdownDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.full = true
		s := newServer(t, f, Config{PushTimeout: time.Minute})
		network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		done := make(chan error)
		go func() { done <- s.Serve(context.Background(), network) }()
		conn, br := network.dial(t, pushURL)
		go func() { _, _ = io.Copy(io.Discard, br) }() // reads, but never answers the close frame
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string,
			string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			network.conns <- theirs
			return ours, nil
		}}}
		answered := make(chan error)
		go func() {
			resp, err := client.Post("http://pipe"+events, "application/json", strings.NewReader("1"))
			if err == nil {
				_ = resp.Body.Close()
			}
			answered <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		began := time.Now()
		err := s.Shutdown(ctx)
		if d := time.Since(began); err == nil || d > 4*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		t.Log(err)
		<-answered
		<-done
		_ = conn.Close()
		client.CloseIdleConnections()
	})
}

// lastWord is a Pipeline that is told to stop while it takes a push.
type lastWord struct {
	*fake
	stop func()
}

func (l *lastWord) Submit(context.Context, api.Ref, string, []json.RawMessage) (
	func(context.Context) (api.PushResult, error), error) {
	l.stop()
	time.Sleep(time.Second) // by now the writer has nothing to wait for
	return func(context.Context) (api.PushResult, error) { return api.PushResult{Accepted: 1}, nil }, nil
}

// TestLastWord: what was submitted while the connection was told to end is answered before its close.
func TestLastWord(t *testing.T) {
	t.Parallel()
	ctl := &lastWord{fake: newFake()}
	virtual(t, ctl, Config{}, func(t *testing.T, s *Server, network *pipes) {
		ctl.stop = s.hub.Close
		ours, br := network.dial(t, pushURL)
		frame := `{"type":"event","data":1}`
		if _, err := ours.Write(append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0}, frame...)); err != nil {
			t.Fatal(err)
		}
		if f := readFrame(t, br); !strings.Contains(string(f), `{"type":"ack","accepted":1`) {
			t.Errorf("got %q", f)
		}
		if f := readFrame(t, br); len(f) < 3 || f[0] != 0x88 || int(f[1])<<8|int(f[2]) != 1001 {
			t.Errorf("got %q, want 1001", f)
		}
		_ = ours.Close()
	})
}
