package wsclient

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/source/sourcetest"
)

// What does not answer a ping is lost, although its connection stands.
func TestPing(t *testing.T) {
	url := serve(t, func(ctx context.Context, c *websocket.Conn, n int64, r *http.Request) {
		<-ctx.Done() // it never reads, so it never answers
	})
	r := run(t, Config{URL: url, Ping: 30 * time.Millisecond}, 100)
	defer r.end()
	r.want("live", "disconnected HOST did not answer a ping within 30ms")
}

// jammed is a connection that takes nothing any more once told so. A write that it has not taken returns late when the
// connection is closed, so that whoever reads from it knows of that first.
type jammed struct {
	net.Conn
	full   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (j *jammed) Write(b []byte) (int, error) {
	if !j.full.Load() {
		return j.Conn.Write(b)
	}
	<-j.closed
	<-time.After(time.Hour)
	return 0, net.ErrClosed
}

func (j *jammed) Close() error {
	j.once.Do(func() { close(j.closed) })
	return j.Conn.Close()
}

// jams is a reader whose connection takes nothing once it is made.
func jams(t *testing.T) *reader {
	t.Helper()
	here, there := net.Pipe()
	conn := &jammed{Conn: here, closed: make(chan struct{})}
	go func() {
		r, err := http.ReadRequest(bufio.NewReader(there))
		if err != nil {
			t.Error(err)
			return
		}
		conn.full.Store(true)
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(there, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	}()
	return &reader{Source: source(t, Config{URL: "ws://pipe", Ping: time.Second}), out: sourcetest.NewTold(100),
		client: &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}}
}

// A ping that cannot even be written is not answered: the connection that ends with it was not lost for another reason.
func TestPingThatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := jams(t).connection(t.Context()); err == nil || err.Error() != "pipe did not answer a ping within 1s" {
			t.Errorf("got %v", err)
		}
	})
}

// What has ended answers no ping, and the reason to be told is why it has.
func TestPingOfWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := jams(t)
		conn, err := r.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conn.CloseNow()
		if err := r.ping(t.Context(), conn); err != nil {
			t.Error(err)
		}
	})
}

// M4: a hand-over that has ended since the ping was sent excuses its answer too: that was read behind it.
func TestM4AHandOverExcusesALateAnswer(t *testing.T) {
	r := &reader{}
	if r.excused(0) {
		t.Error("nothing was handed over")
	}
	r.handed.Add(1)
	for what, before := range map[string]int64{"began since": 0, "goes on": 1} {
		if !r.excused(before) {
			t.Errorf("a hand-over that %s does not excuse", what)
		}
	}
	r.handed.Add(1)
	if !r.excused(1) {
		t.Error("a hand-over that has ended since does not excuse")
	}
	if r.excused(2) {
		t.Error("one that had ended before does")
	}
}
